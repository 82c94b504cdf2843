//! A tool with what runs it.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Tool;
use toolwright_core::args::CoercionOptions;
use toolwright_core::json::Object;

use crate::context::{Context, Need};
use crate::error::ToolError;
use crate::output::Output;
use crate::session::Scope;
use crate::settings::{Effect, Envelope, Fill, Retry, Settings};

/// What a running tool ends with.
pub type Ended = Result<Output, ToolError>;

type Running = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// A tool with what runs it.
#[derive(Clone)]
pub struct Handler {
    tool: Arc<Tool>,
    body: Body,
    needs: Vec<Need>,
    own: Context,
    settings: Settings,
}

/// How a tool runs.
#[derive(Clone)]
enum Body {
    /// As a task
    Async(Arc<dyn Fn(Scope, Object) -> Running + Send + Sync>),
    /// On a thread of its own, where it may block
    Blocking(Arc<dyn Fn(Scope, Object) -> Ended + Send + Sync>),
}

impl Handler {
    /// A tool that runs as a task. It gets arguments that its schema has accepted.
    ///
    /// ```
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
    /// Nothing is known of what such a tool does, so it counts as one with effects: say
    /// [`with_effect`](Handler::with_effect) if it has none.
    pub fn new<F, R>(tool: Tool, run: F) -> Handler
    where
        F: Fn(Scope, Object) -> R + Send + Sync + 'static,
        R: Future<Output = Ended> + Send + 'static,
    {
        let body = Body::Async(Arc::new(move |scope, arguments| Box::pin(run(scope, arguments))));
        Handler::with_body(tool, body)
    }

    /// A tool that blocks its thread while it works.
    pub fn blocking<F>(tool: Tool, run: F) -> Handler
    where
        F: Fn(Scope, Object) -> Ended + Send + Sync + 'static,
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

    /// The definition, hidden parameters included.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// How it is to be called.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether it blocks its thread while it works, so that nothing can stop it.
    pub fn is_blocking(&self) -> bool {
        matches!(self.body, Body::Blocking(_))
    }

    /// The context that it needs.
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// Runs the tool with arguments that were checked, without deadline or fence. A tool that
    /// blocks gets a thread; giving up the future does not stop it, and its panic is passed on. It
    /// does not begin any more once it has been cancelled.
    pub fn run(
        &self,
        scope: Scope,
        arguments: Object,
    ) -> impl Future<Output = Ended> + Send + use<> {
        let body = self.body.clone();
        let mut scope = scope;
        scope.session.context.extend(&self.own);
        async move {
            match body {
                Body::Async(run) => run(scope, arguments).await,
                Body::Blocking(run) => {
                    let work = move || {
                        // The thread may come late: nobody waits for the result any more.
                        if scope.cancel.is_cancelled() {
                            return Err(ToolError::new("given up before it began").retryable());
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

    /// Under another name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Handler {
        Arc::make_mut(&mut self.tool).name = name.into();
        self
    }

    /// With a type that must be in the context of every run.
    #[must_use]
    pub fn with_need(mut self, need: Need) -> Handler {
        self.needs.push(need);
        self
    }

    /// With a value of its own for what it needs of the context. Other tools do not see it, and a
    /// run need not provide it.
    #[must_use]
    pub fn with_own<T: Any + Send + Sync>(mut self, value: T) -> Handler {
        self.own = self.own.with(value);
        self.needs.retain(|need| !self.own.meets(need));
        self
    }

    /// With all settings.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Handler {
        self.settings = settings;
        self
    }

    /// With a deadline for each call.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Handler {
        self.settings.deadline = deadline;
        self
    }

    /// With further attempts at what is retryable.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Handler {
        self.settings.retry = Some(retry);
        self
    }

    /// With results kept for a while; only a tool without effects has use of it.
    #[must_use]
    pub fn with_cache(mut self, lifetime: Duration) -> Handler {
        self.settings.cache = Some(lifetime);
        self
    }

    /// With at most so many calls at once.
    #[must_use]
    pub fn with_concurrency(mut self, calls: usize) -> Handler {
        self.settings.concurrency = Some(calls);
        self
    }

    /// With what it does to the world.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Handler {
        self.settings.effect = effect;
        self
    }

    /// With a limit on the bytes of a result that the model sees.
    #[must_use]
    pub fn with_budget(mut self, bytes: usize) -> Handler {
        self.settings.budget = bytes;
        self
    }

    /// With parameters that the model never sees.
    #[must_use]
    pub fn with_hidden<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Handler {
        self.settings.hidden.extend(names.into_iter().map(Into::into));
        self
    }

    /// With a parameter that the model never sees and the host fills.
    #[must_use]
    pub fn with_fill(mut self, name: impl Into<String>, fill: Fill) -> Handler {
        let name = name.into();
        self.settings.hidden.push(name.clone());
        self.settings.fills.push((name, fill));
        self
    }

    /// With results in an envelope.
    #[must_use]
    pub fn with_envelope(mut self, envelope: Envelope) -> Handler {
        self.settings.envelope = Some(envelope);
        self
    }

    /// With coercions that must be asked for.
    #[must_use]
    pub fn with_coercions(mut self, options: CoercionOptions) -> Handler {
        self.settings.coercions = options;
        self
    }

    /// With text of one's own for the model when the tool fails.
    #[must_use]
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
