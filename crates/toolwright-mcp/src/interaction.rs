//! What the caller of a tool can do while the tool runs: give input, and receive notifications of progress.
//!
//! A host puts an [`Interaction`] into the context of a session. Tools of MCP servers use it; without one, a
//! server that asks for input is told that the user cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use toolwright_core::schema::{Check, Violation};
use toolwright_core::{Json, object};
use toolwright_json::Object;
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_runtime::session::Pauses;
use toolwright_runtime::{Scope, Session, ToolError};

use super::message::{Notification, RpcError};
use super::protocol::{ELICIT, LIST_ROOTS, LOG, METHOD_NOT_FOUND, PROGRESS, SAMPLE};
use super::redaction;

/// How long a caller may take to answer.
const ANSWER_DEADLINE: Duration = Duration::from_mins(10);

/// The answer of the caller, in preparation: the result of the method.
pub type InputFuture<'a> = Pin<Box<dyn Future<Output = Result<Object, RpcError>> + Send + 'a>>;

/// Gives input for tools.
pub trait InputHandler: Send + Sync + 'static {
    /// Answers a request for input.
    fn answer(&self, request: InputRequest) -> InputFuture<'_>;

    /// Whether it answers requests of a method. By default, only forms and pages for the user.
    fn offers(&self, method: &str) -> bool {
        method == ELICIT
    }

    /// How it shows requests to the user. By default, in all modes.
    fn modes(&self) -> ElicitationModes {
        ElicitationModes::ALL
    }
}

/// How a user can be asked (`elicitation/create`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElicitationModes {
    /// By a form
    pub form: bool,
    /// By a page to visit
    pub url: bool,
}

impl ElicitationModes {
    /// All modes.
    pub const ALL: ElicitationModes = ElicitationModes { form: true, url: true };

    /// Reads the capability `elicitation` of a client. Without any mode it means forms.
    pub(super) fn of_capability(capability: &Json) -> ElicitationModes {
        let has = |mode| capability.get(mode).is_some();
        ElicitationModes { form: has("form") || !has("url"), url: has("url") }
    }

    /// Returns the capability `elicitation`.
    pub(super) fn to_capability(self) -> Object {
        let mut capability = Object::new();
        for (mode, has) in [("form", self.form), ("url", self.url)] {
            if has {
                capability.insert(mode, Object::new());
            }
        }
        capability
    }

    /// Whether the user can be asked by a request with these parameters.
    fn allows(self, params: &Object) -> bool {
        match params.get("mode").and_then(Json::as_str) {
            None | Some("form") => self.form,
            Some("url") => self.url,
            Some(_) => false,
        }
    }
}

/// A request for input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputRequest {
    /// Who asks: the name of a server, or of a tool
    pub from: Arc<str>,
    /// The name of the input, unique among those of a call at one time
    pub key: Option<String>,
    /// The method, such as `elicitation/create`
    pub method: String,
    /// Its parameters: `message`, and `requestedSchema` for a form or `url` for a page to visit
    pub params: Object,
    /// Whether an answer counts only if it was given after the question
    pub(super) must_be_asked: bool,
}

impl InputRequest {
    /// Creates a request.
    pub fn new(from: impl Into<Arc<str>>, method: &str, params: Object) -> InputRequest {
        InputRequest {
            from: from.into(),
            key: None,
            method: method.to_owned(),
            params,
            must_be_asked: false,
        }
    }

    /// Refuses answers that the caller sent before it was asked.
    pub(super) fn asked(mut self) -> InputRequest {
        self.must_be_asked = true;
        self
    }

    /// Sets the name of the input.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> InputRequest {
        self.key = Some(key.into());
        self
    }
}

/// The user's answer to `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputAnswer {
    /// The values of a form, or the consent to visit a page
    Accept(Object),
    /// The user refuses
    Decline,
    /// The user did not choose
    Cancel,
}

impl InputAnswer {
    /// Returns the result of the method.
    pub fn into_result(self) -> Object {
        match self {
            InputAnswer::Accept(content) => object! {"action": "accept", "content": content},
            InputAnswer::Decline => object! {"action": "decline"},
            InputAnswer::Cancel => object! {"action": "cancel"},
        }
    }
}

/// Fills the defaults of a form into the values that a user gave, and checks them. The error says what does not fit.
pub fn complete_form(form: &Json, mut content: Json) -> Result<Json, String> {
    let fields =
        form.get("properties").and_then(Json::as_object).into_iter().flat_map(Object::iter);
    if let Json::Object(content) = &mut content {
        for (name, field) in
            fields.filter(|(name, _)| !content.contains_key(name)).collect::<Vec<_>>()
        {
            content.insert_some(name.to_owned(), field.get("default").cloned());
        }
    }
    // A form that is not a schema is not checked.
    let violations = Check::compile(form).map(|check| check.violations(&content));
    let violations = violations.unwrap_or_default();
    if violations.is_empty() {
        return Ok(content);
    }
    let problem = |own: &Violation| match own.path.as_str() {
        "" => own.message.clone(),
        path => format!("{path} {}", own.message),
    };
    let problems: Vec<String> = violations.iter().map(problem).collect();
    Err(format!("The answer does not fit the form: {}", problems.join("; ")))
}

/// What the kind of an error begins with, if the caller lacks the capability that follows.
pub(super) const MISSING_CAPABILITY_KIND: &str = "MissingClientCapability/";

/// The capability of a client that answers requests of a method.
pub(super) fn capability(method: &str) -> Option<&'static str> {
    match method {
        ELICIT => Some("elicitation"),
        SAMPLE => Some("sampling"),
        LIST_ROOTS => Some("roots"),
        _ => None,
    }
}

/// Receives the notifications of a call.
pub type NotificationHandler = Arc<dyn Fn(Notification) + Send + Sync>;

/// What the caller can do while a tool runs.
#[must_use]
#[derive(Clone, Default)]
pub struct Interaction {
    input: Option<Arc<dyn InputHandler>>,
    notifications: Option<NotificationHandler>,
    wants_progress: bool,
    /// Extend the deadline of the call while the caller answers
    pauses: Pauses,
    /// A question that was cancelled because the caller cannot be asked
    unanswered: Arc<Mutex<Option<String>>>,
    /// Secrets of the call, which the caller does not see
    secrets: Arc<KnownSecrets>,
}

impl Interaction {
    /// Creates an interaction of a caller who gives no input and receives no notifications.
    pub fn new() -> Interaction {
        Interaction::default()
    }

    /// Sets who gives input.
    pub fn with_input(mut self, input: impl InputHandler) -> Interaction {
        self.input = Some(Arc::new(input));
        self
    }

    /// Sets who receives notifications: those of the server's log, and of progress if they are wanted.
    pub fn with_notifications(
        mut self,
        wants_progress: bool,
        handler: impl Fn(Notification) + Send + Sync + 'static,
    ) -> Interaction {
        self.notifications = Some(Arc::new(handler));
        self.wants_progress = wants_progress;
        self
    }

    /// Returns the interaction of a session; an empty one if it has none.
    pub async fn of(session: &Session) -> Interaction {
        match session.context.read::<Interaction>().await {
            Ok(interaction) => interaction.clone(),
            Err(_) => Interaction::default(),
        }
    }

    /// Returns the interaction of a call. The deadline of the call does not run while the caller answers.
    pub async fn of_call(scope: &Scope) -> Interaction {
        let mut interaction = Interaction::of(&scope.session).await;
        interaction.pauses = scope.pauses().clone();
        interaction.unanswered = Arc::default();
        interaction.secrets = scope.known_secrets().clone();
        interaction
    }

    /// Whether the caller answers requests of a method.
    pub fn offers(&self, method: &str) -> bool {
        self.input.as_ref().is_some_and(|input| input.offers(method))
    }

    /// How the user can be asked, if the caller answers such requests.
    pub(super) fn modes(&self) -> Option<ElicitationModes> {
        self.input.as_ref().filter(|input| input.offers(ELICIT)).map(|input| input.modes())
    }

    /// Waits until a deadline, which does not run while the caller answers.
    pub(super) async fn reached(&self, deadline: Instant) {
        self.pauses.reached(deadline).await;
    }

    /// Returns a question of this call that was cancelled because the caller cannot be asked.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.unanswered.lock().clone()
    }

    /// Refuses a call that needs a caller who answers requests of a method.
    pub fn require(&self, method: &str) -> Result<(), ToolError> {
        if self.offers(method) {
            return Ok(());
        }
        let capability = capability(method).unwrap_or(method);
        let message = format!("The tool needs a client with the capability {capability:?}");
        Err(ToolError::new(message).with_kind(format!("{MISSING_CAPABILITY_KIND}{capability}")))
    }

    /// Asks for input, for at most ten minutes. A question without a user to answer it is cancelled. Fields that the
    /// answer lacks get the defaults of the form, and an answer that does not fit the form is an error.
    pub async fn ask(&self, mut request: InputRequest) -> Result<Object, RpcError> {
        request.params = redaction::request(&self.secrets, &request.method, request.params);
        let can_ask = |input: &Arc<dyn InputHandler>| {
            let is_elicitation = request.method == ELICIT;
            input.offers(&request.method)
                && (!is_elicitation || input.modes().allows(&request.params))
        };
        let Some(input) = self.input.clone().filter(can_ask) else {
            return match request.method.as_str() {
                ELICIT => {
                    let message = request.params.get("message").and_then(Json::as_str);
                    *self.unanswered.lock() = Some(message.unwrap_or_default().to_owned());
                    Ok(InputAnswer::Cancel.into_result())
                }
                method => {
                    let message = format!("Method not found: {method}");
                    Err(RpcError::new(METHOD_NOT_FOUND, message))
                }
            };
        };
        let form = request.params.get("requestedSchema").cloned();
        let is_elicitation = request.method == ELICIT;
        let pause = self.pauses.start();
        let mut result = match timeout(ANSWER_DEADLINE, input.answer(request)).await {
            Ok(answer) => answer?,
            Err(_) if is_elicitation => InputAnswer::Cancel.into_result(),
            Err(_) => return Err(RpcError::internal("the caller did not answer")),
        };
        drop(pause);
        let is_accepted = result.get("action").and_then(Json::as_str) == Some("accept");
        if let Some(form) = form.filter(|_| is_elicitation && is_accepted) {
            let content = result.remove("content").unwrap_or_else(|| Object::new().into());
            let content = complete_form(&form, content).map_err(RpcError::invalid_params)?;
            result.insert("content", content);
        }
        Ok(result)
    }

    /// Sends a notification of progress, without its token.
    pub fn progress(&self, params: Object) {
        if self.wants_progress {
            self.notify(PROGRESS, params);
        }
    }

    /// Sends a message of a log.
    pub fn log(&self, params: Object) {
        self.notify(LOG, params);
    }

    /// Whether the caller wants notifications of progress.
    pub fn wants_progress(&self) -> bool {
        self.wants_progress
    }

    fn notify(&self, method: &str, params: Object) {
        if let Some(handler) = &self.notifications {
            let params = redaction::notification(&self.secrets, method, params);
            handler(Notification { method: method.to_owned(), params });
        }
    }
}

impl fmt::Debug for Interaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Interaction")
            .field("input", &self.input.is_some())
            .field("notifications", &self.notifications.is_some())
            .field("wants_progress", &self.wants_progress)
            .finish_non_exhaustive()
    }
}
