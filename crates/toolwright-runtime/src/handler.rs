//! A tool with the function that runs it.

mod digest;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Tool;
use toolwright_core::args::CoercionOptions;
use toolwright_json::Object;

pub use digest::ToolDigest;

use crate::context::{Context, Need};
use crate::error::ToolError;
use crate::output::Output;
use crate::session::Scope;
use crate::settings::{Effect, Envelope, Fill, Retry, Settings, SlotOutput, ValueForm};

/// The result of running a tool.
pub type ToolResult = Result<Output, ToolError>;

type Running = Pin<Box<dyn Future<Output = ToolResult> + Send>>;

/// A tool with the function that runs it.
#[must_use]
#[derive(Clone)]
pub struct Handler {
    tool: Arc<Tool>,
    body: Body,
    needs: Vec<Need>,
    own: Context,
    settings: Settings,
}

/// The function of a tool.
#[derive(Clone)]
enum Body {
    /// Runs as a task
    Async(Arc<dyn Fn(Scope, Object) -> Running + Send + Sync>),
    /// Runs on a blocking thread
    Blocking(Arc<dyn Fn(Scope, Object) -> ToolResult + Send + Sync>),
}

/// A tool with what runs it: a [`Handler`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Handler`",
    label = "this is not the handler of a tool",
    note = "a function with `#[tool]` has its handler beside it: write `name::handler()` in place of `name`"
)]
pub trait IntoHandler {
    /// Returns the handler.
    fn into_handler(self) -> Handler;
}

impl IntoHandler for Handler {
    fn into_handler(self) -> Handler {
        self
    }
}

impl Handler {
    /// Creates a handler with an async function. The function receives arguments that the schema
    /// accepted.
    ///
    /// ```
    /// # extern crate toolwright_runtime as toolwright;
    /// use toolwright::prelude::*;
    /// use toolwright::{Tool, object};
    ///
    /// let schema = object! {
    ///     "type": "object",
    ///     "properties": object! {"number": object! {"type": "integer", "minimum": 0}},
    ///     "required": vec!["number"],
    /// };
    /// let tool = Tool::function("double", schema.into()).with_description("Doubles a number.");
    /// let handler = Handler::new(tool, |_scope, arguments| async move {
    ///     let number = arguments.get("number").and_then(Json::as_u64).unwrap_or_default();
    ///     Ok(Output::json(number * 2))
    /// });
    /// # let toolbox = Toolbox::new([handler])?;
    /// # assert_eq!(toolbox.tools()[0].name, "double");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A handler counts as having effects by default; set [`with_effect`](Handler::with_effect) if
    /// it has none.
    pub fn new<F, R>(tool: Tool, run: F) -> Handler
    where
        F: Fn(Scope, Object) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let body = Body::Async(Arc::new(move |scope, arguments| Box::pin(run(scope, arguments))));
        Handler::with_body(tool, body)
    }

    /// Creates a handler with a function that blocks its thread.
    pub fn blocking<F>(tool: Tool, run: F) -> Handler
    where
        F: Fn(Scope, Object) -> ToolResult + Send + Sync + 'static,
    {
        Handler::with_body(tool, Body::Blocking(Arc::new(run)))
    }

    fn with_body(tool: Tool, body: Body) -> Handler {
        Handler {
            tool: Arc::new(tool),
            body,
            needs: Vec::new(),
            own: Context::new(),
            settings: Settings::default(),
        }
    }

    /// Returns the definition, including hidden parameters.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the digest of the tool, which changes with its definition, its version and its effect. It
    /// is part of every idempotency key, so a changed tool never returns an outcome of the earlier one.
    pub fn digest(&self) -> ToolDigest {
        ToolDigest::new(&self.tool, &self.settings)
    }

    /// Whether the function blocks its thread and therefore cannot be cancelled.
    pub fn is_blocking(&self) -> bool {
        matches!(self.body, Body::Blocking(_))
    }

    /// Returns the context types that the tool needs.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// Runs the tool with checked arguments, without a deadline and without catching panics. A
    /// blocking tool runs on a thread of its own; dropping the future does not stop it, and its
    /// panic is propagated. A tool whose call was cancelled before it started does not start.
    pub fn run(
        &self,
        scope: Scope,
        arguments: Object,
    ) -> impl Future<Output = ToolResult> + Send + use<> {
        let body = self.body.clone();
        let mut scope = scope;
        scope.session.context.extend(&self.own);
        async move {
            match body {
                Body::Async(run) => run(scope, arguments).await,
                Body::Blocking(run) => {
                    let work = move || {
                        // The thread may start late, when the caller has stopped waiting.
                        if scope.cancel.is_cancelled() {
                            return Err(ToolError::new("the call was cancelled before it started")
                                .retryable());
                        }
                        run(scope, arguments)
                    };
                    match tokio::task::spawn_blocking(work).await {
                        Ok(ended) => ended,
                        Err(error) if error.is_panic() => {
                            std::panic::resume_unwind(error.into_panic())
                        }
                        Err(_) => Err(ToolError::new("the runtime is shutting down")),
                    }
                }
            }
        }
    }

    /// Renames the tool.
    pub fn with_name(mut self, name: impl Into<String>) -> Handler {
        Arc::make_mut(&mut self.tool).name = name.into();
        self
    }

    /// Adds a type that the context of every run must contain.
    pub fn with_need(mut self, need: Need) -> Handler {
        self.needs.push(need);
        self
    }

    /// Sets a context value for this tool alone. Other tools do not see it, and a run need not
    /// provide it.
    pub fn with_own<T: Any + Send + Sync>(mut self, value: T) -> Handler {
        self.own = self.own.with(value);
        self.needs.retain(|need| !self.own.meets(need));
        self
    }

    /// Replaces the settings.
    pub fn with_settings(mut self, settings: Settings) -> Handler {
        self.settings = settings;
        self
    }

    /// Sets the version of the function. Change it when the function does something else under the same
    /// definition, so that outcomes of the earlier function are not reused.
    pub fn with_version(mut self, version: impl Into<String>) -> Handler {
        self.settings.version = Some(version.into());
        self
    }

    /// Sets the name by which a source returns exactly this version.
    pub fn with_exact_name(mut self, name: impl Into<String>) -> Handler {
        self.settings.exact_name = Some(name.into());
        self
    }

    /// Sets the deadline of a call.
    pub fn with_deadline(mut self, deadline: Duration) -> Handler {
        self.settings.deadline = deadline;
        self
    }

    /// Lets a caller that stops waiting wait until the function has returned, which it does soon after the token of its
    /// scope is cancelled. By then it has ended what it started, such as a process.
    pub fn with_stop_on_cancel(mut self) -> Handler {
        self.settings.stops_on_cancel = true;
        self
    }

    /// Sets retries of retryable errors.
    pub fn with_retry(mut self, retry: Retry) -> Handler {
        self.settings.retry = Some(retry);
        self
    }

    /// Caches results for a duration. Only tools without effects use the cache.
    pub fn with_cache(mut self, lifetime: Duration) -> Handler {
        self.settings.cache = Some(lifetime);
        self
    }

    /// Never caches results, also if a cache is set: they depend on more than the caller and the arguments, such as on
    /// a token that only the request has.
    pub fn without_cache(mut self) -> Handler {
        self.settings.is_never_cached = true;
        self
    }

    /// Limits the number of concurrent calls.
    pub fn with_concurrency(mut self, calls: usize) -> Handler {
        self.settings.concurrency = Some(calls);
        self
    }

    /// Sets the effect of a call.
    pub fn with_effect(mut self, effect: Effect) -> Handler {
        self.settings.effect = effect;
        self
    }

    /// Sets the number of bytes of a result that the model receives.
    pub fn with_budget(mut self, bytes: usize) -> Handler {
        self.settings.budget = bytes;
        self
    }

    /// Hides parameters from the model.
    pub fn with_hidden<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Handler {
        self.settings.hidden.extend(names.into_iter().map(Into::into));
        self
    }

    /// Hides a parameter from the model and fills it with a value of the host.
    pub fn with_fill(mut self, name: impl Into<String>, fill: Fill) -> Handler {
        let name = name.into();
        self.settings.hidden.push(name.clone());
        self.settings.fills.push((name, fill));
        self
    }

    /// Stores the output in a slot of the conversation, in place of showing it to the model.
    pub fn with_slot(mut self, slot: SlotOutput) -> Handler {
        self.settings.slot = Some(slot);
        self
    }

    /// Sets the form in which a parameter receives values behind handles.
    pub fn with_form(mut self, name: impl Into<String>, form: ValueForm) -> Handler {
        self.settings.forms.push((name.into(), form));
        self
    }

    /// Wraps results in an envelope.
    pub fn with_envelope(mut self, envelope: Envelope) -> Handler {
        self.settings.envelope = Some(envelope);
        self
    }

    /// Enables coercions that are off by default.
    pub fn with_coercions(mut self, options: CoercionOptions) -> Handler {
        self.settings.coercions = options;
        self
    }

    /// Sets a function that writes the error text for the model.
    pub fn with_error_text(
        mut self,
        text: impl Fn(&ToolError) -> String + Send + Sync + 'static,
    ) -> Handler {
        self.settings.error_text = Some(Arc::new(text));
        self
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Handler")
            .field("tool", &self.tool.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
