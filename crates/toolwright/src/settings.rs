//! How a tool is to be called: deadline, retries, cache, limits, effects, result size.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_core::args::CoercionOptions;

use crate::error::ToolError;
use crate::secret::SecretString;

/// What a call may do to the world, which decides whether it may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effect {
    /// Nothing: it may be repeated and its result kept
    None,
    /// Something, once for each idempotency key: it may be repeated with the same key
    Keyed,
    /// Something, each time: never repeated unless it is known that nothing was done
    #[default]
    Once,
}

/// How often a failed call is tried again. Only what is retryable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Further attempts after the first
    pub max: u32,
    /// The wait before the first of them; it doubles each time
    pub backoff: Duration,
    /// The longest wait
    pub ceiling: Duration,
}

impl Retry {
    /// So many further attempts, after 100 ms, 200 ms, … up to 10 s.
    pub fn new(max: u32) -> Retry {
        Retry { max, backoff: Duration::from_millis(100), ceiling: Duration::from_secs(10) }
    }

    /// The wait before a further attempt, from 1.
    pub fn wait(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        doubled.min(self.ceiling)
    }
}

/// The form of a result: `{"success": true, …}` or `{"success": false, "error", …}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// The result under `data`
    Data,
    /// The result under `result`
    Result,
}

/// Turns a tool's error into text for the model.
pub type ErrorText = Arc<dyn Fn(&ToolError) -> String + Send + Sync>;

/// What the host puts into a hidden parameter. It is not checked against the schema: that is for
/// the host to get right.
#[derive(Debug, Clone)]
pub enum Fill {
    /// Always this value
    Constant(Json),
    /// A secret text
    Secret(SecretString),
    /// The caller's id
    Caller,
    /// The caller's tenant
    Tenant,
}

/// How a tool is to be called.
#[derive(Clone)]
pub struct Settings {
    /// How long one call may take, retries included
    pub deadline: Duration,
    /// Whether to try again
    pub retry: Option<Retry>,
    /// How long a result may be given again for the same arguments; only without effects
    pub cache: Option<Duration>,
    /// How many calls may run at once
    pub concurrency: Option<usize>,
    /// What a call does to the world
    pub effect: Effect,
    /// How many bytes of a result the model may see; the rest stays behind a handle
    pub budget: usize,
    /// Parameters that the model never sees
    pub hidden: Vec<String>,
    /// What the host puts into them; one without stays absent
    pub fills: Vec<(String, Fill)>,
    /// The envelope of results, if one is wanted
    pub envelope: Option<Envelope>,
    /// The coercions that must be asked for
    pub coercions: CoercionOptions,
    /// Text for the model in place of the tool's own
    pub error_text: Option<ErrorText>,
}

/// The bytes of a result that a model may see unless a tool says otherwise.
pub const DEFAULT_BUDGET: usize = 16 * 1024;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            deadline: Duration::from_mins(1),
            retry: None,
            cache: None,
            concurrency: None,
            effect: Effect::default(),
            budget: DEFAULT_BUDGET,
            hidden: Vec::new(),
            fills: Vec::new(),
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
            .field("deadline", &self.deadline)
            .field("retry", &self.retry)
            .field("cache", &self.cache)
            .field("concurrency", &self.concurrency)
            .field("effect", &self.effect)
            .field("budget", &self.budget)
            .field("hidden", &self.hidden)
            .field("fills", &self.fills)
            .field("envelope", &self.envelope)
            .finish_non_exhaustive()
    }
}
