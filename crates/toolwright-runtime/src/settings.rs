//! Settings of a tool: deadline, retries, cache, limits, effect, result size.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_core::args::CoercionOptions;
use toolwright_transport::secret::SecretString;

use crate::error::ToolError;

toolwright_json::words! {
    /// How a call changes external state, which decides whether it may be repeated.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Effect: name, from_name {
        /// Changes nothing: the call may be repeated and its result cached
        None = "none",
        /// Changes something once per idempotency key: the call may be repeated with the same key
        Keyed = "keyed",
        /// Changes something each time: the call is repeated only if it is known to have had no effect
        #[default]
        Once = "once",
    }
}

/// Retries of a failed call. Only retryable errors are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Maximum number of retries
    pub max: u32,
    /// The wait before the first retry; it doubles with each retry
    pub backoff: Duration,
    /// Maximum wait
    pub ceiling: Duration,
}

impl Retry {
    /// Creates a policy with this number of retries, after 100 ms, 200 ms, … up to 10 s.
    pub fn new(max: u32) -> Retry {
        Retry { max, backoff: Duration::from_millis(100), ceiling: Duration::from_secs(10) }
    }

    /// Returns the wait before a retry, counted from 1.
    pub fn wait(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        doubled.min(self.ceiling)
    }
}

/// The form of a result: `{"success": true, …}` or `{"success": false, "error", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Envelope {
    /// The result under `data`
    Data,
    /// The result under `result`
    Result,
    /// The result under `result`, and the name of the tool under `tool_name`; an error has no type
    NamedResult,
}

/// Turns a tool's error into text for the model.
pub type ErrorText = Arc<dyn Fn(&ToolError) -> String + Send + Sync>;

/// The value of a hidden parameter. It is not checked against the schema.
#[derive(Debug, Clone)]
pub enum Fill {
    /// A constant
    Constant(Json),
    /// A secret string
    Secret(SecretString),
    /// The caller's id
    Caller,
    /// The caller's tenant
    Tenant,
    /// The value of a slot of the conversation
    Slot(SlotFill),
}

/// A hidden parameter that is filled from a slot of the conversation: a named value, which a call of another tool has
/// stored. See [`SlotOutput`].
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotFill {
    /// The name of the slot
    pub slot: String,
    /// The form in which the tool receives the value; bytes are base64 if it is JSON
    pub form: ValueForm,
    /// The tools that store the value, which the error about an empty slot names
    pub filled_by: Vec<String>,
}

impl SlotFill {
    /// Creates a fill from a slot.
    pub fn new(slot: impl Into<String>) -> SlotFill {
        SlotFill { slot: slot.into(), form: ValueForm::Json, filled_by: Vec::new() }
    }

    /// Sets the form in which the tool receives the value.
    pub fn with_form(mut self, form: ValueForm) -> SlotFill {
        self.form = form;
        self
    }

    /// Names the tools that store the value.
    pub fn with_filled_by<S: Into<String>>(
        mut self,
        tools: impl IntoIterator<Item = S>,
    ) -> SlotFill {
        self.filled_by = tools.into_iter().map(Into::into).collect();
        self
    }
}

/// Stores the output of a tool in a slot of the conversation. The model reads a reply in place of the output, and
/// other tools receive the value in a hidden parameter ([`SlotFill`]).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotOutput {
    /// The name of the slot
    pub slot: String,
    /// What the model reads: text in which `{name}` stands for an argument that the model wrote. By default the type,
    /// the size and the keys of the value, without values
    pub reply: Option<String>,
}

impl SlotOutput {
    /// Stores outputs in a slot.
    pub fn new(slot: impl Into<String>) -> SlotOutput {
        SlotOutput { slot: slot.into(), reply: None }
    }

    /// Sets what the model reads.
    #[must_use]
    pub fn with_reply(mut self, reply: impl Into<String>) -> SlotOutput {
        self.reply = Some(reply.into());
        self
    }
}

/// The form in which a tool receives a stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ValueForm {
    /// The JSON value
    #[default]
    Json,
    /// Text: a string as it is, another JSON value as compact JSON, bytes as UTF-8
    Text,
    /// Base64 of the bytes, or of the text
    Base64,
}

/// Settings of a tool.
#[derive(Clone)]
pub struct Settings {
    /// The version of the tool's function, if it has one; part of the tool's
    /// [digest](crate::Handler::digest)
    pub version: Option<String>,
    /// The name by which a source returns exactly this version of the tool, if the tool's own name is that of the
    /// latest one
    pub exact_name: Option<String>,
    /// Maximum duration of a call, retries included
    pub deadline: Duration,
    /// Whether the function returns soon after its call is cancelled or times out, having ended what it started. The
    /// caller waits for that, and an error is then not recorded as the outcome of its effect.
    pub stops_on_cancel: bool,
    /// Retries, if any
    pub retry: Option<Retry>,
    /// How long a result is cached for equal arguments; only for tools without effects
    pub cache: Option<Duration>,
    /// Whether a result depends on more than the caller and the arguments, so that it is never cached
    pub is_never_cached: bool,
    /// Maximum number of concurrent calls
    pub concurrency: Option<usize>,
    /// The effect of a call
    pub effect: Effect,
    /// Number of bytes of a result that the model receives; the remainder is stored behind a handle
    pub budget: usize,
    /// Parameters that are hidden from the model
    pub hidden: Vec<String>,
    /// The values of hidden parameters; a hidden parameter without a fill stays absent
    pub fills: Vec<(String, Fill)>,
    /// The slot that stores the output, if any
    pub slot: Option<SlotOutput>,
    /// The forms in which parameters receive values behind handles, if not as JSON
    pub forms: Vec<(String, ValueForm)>,
    /// The envelope of results, if any
    pub envelope: Option<Envelope>,
    /// Coercions that are off by default
    pub coercions: CoercionOptions,
    /// Writes the error text for the model in place of the tool's message
    pub error_text: Option<ErrorText>,
}

/// Default number of bytes of a result that the model receives.
pub const DEFAULT_BUDGET: usize = 16 * 1024;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            version: None,
            exact_name: None,
            deadline: Duration::from_mins(1),
            stops_on_cancel: false,
            retry: None,
            cache: None,
            is_never_cached: false,
            concurrency: None,
            effect: Effect::default(),
            budget: DEFAULT_BUDGET,
            hidden: Vec::new(),
            fills: Vec::new(),
            slot: None,
            forms: Vec::new(),
            envelope: None,
            coercions: CoercionOptions::default(),
            error_text: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("version", &self.version)
            .field("exact_name", &self.exact_name)
            .field("deadline", &self.deadline)
            .field("stops_on_cancel", &self.stops_on_cancel)
            .field("retry", &self.retry)
            .field("cache", &self.cache)
            .field("is_never_cached", &self.is_never_cached)
            .field("concurrency", &self.concurrency)
            .field("effect", &self.effect)
            .field("budget", &self.budget)
            .field("hidden", &self.hidden)
            .field("fills", &self.fills)
            .field("slot", &self.slot)
            .field("forms", &self.forms)
            .field("envelope", &self.envelope)
            .finish_non_exhaustive()
    }
}
