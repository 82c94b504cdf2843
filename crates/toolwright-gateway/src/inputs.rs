//! Input that tools of MCP servers ask for during a run, which the client of the run gives over HTTP.
//!
//! A client that says with the header `toolwright-input` that it answers questions finds them at `/v1/inputs` while its
//! request is in progress, and answers them there. For other clients questions are cancelled.

pub mod routes;

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_mcp::{
    ElicitationModes, InputAnswer, InputFuture, InputHandler, InputRequest, Interaction, RpcError,
    complete_form,
};
use toolwright_runtime::Caller;

use crate::approvals::{seconds, write_time};
use crate::conversation::ConversationId;

/// The header that lists how the client asks its user: `form`, `url` or both.
pub const HEADER: HeaderName = HeaderName::from_static("toolwright-input");

/// Maximum number of questions of one tenant at the same time; further ones are cancelled.
const MAX_PER_TENANT: usize = 100;

/// Number of random bytes of an id.
const ID_BYTES: usize = 18;

/// The questions of all runs.
#[derive(Default)]
pub struct Inputs(Mutex<HashMap<String, Question>>);

/// A question that waits for its answer.
struct Question {
    caller: Caller,
    created: u64,
    /// What clients see
    document: Object,
    answer: oneshot::Sender<InputAnswer>,
}

/// Removes a question when nobody waits for its answer any more.
struct Asking<'i> {
    inputs: &'i Inputs,
    id: String,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.inputs.0.lock().remove(&self.id);
    }
}

impl Inputs {
    /// Returns the interaction of a run whose client answers questions, by the headers of its request.
    pub fn interaction(
        self: &Arc<Inputs>,
        headers: &HeaderMap,
        caller: &Caller,
        conversation: &ConversationId,
    ) -> Option<Interaction> {
        let text = headers.get(HEADER)?.to_str().ok()?;
        let has = |mode: &str| text.split(',').any(|own| own.trim() == mode);
        let modes = ElicitationModes { form: has("form"), url: has("url") };
        if !modes.form && !modes.url {
            return None;
        }
        let (caller, conversation) = (caller.clone(), conversation.clone());
        let input = HttpInput { inputs: self.clone(), modes, caller, conversation };
        Some(Interaction::new().with_input(input))
    }

    /// Returns the questions of a caller, the oldest first.
    pub fn of_caller(&self, caller: &Caller) -> Vec<Object> {
        let questions = self.0.lock();
        let mut own: Vec<&Question> =
            questions.values().filter(|question| question.caller == *caller).collect();
        own.sort_by_key(|question| question.created);
        own.into_iter().map(|question| question.document.clone()).collect()
    }

    /// Answers a question of a caller, and returns it. An answer that does not fit the form is refused, and the
    /// question waits for another one.
    pub fn answer(
        &self,
        caller: &Caller,
        id: &str,
        answer: InputAnswer,
    ) -> Result<Option<Object>, String> {
        let mut questions = self.0.lock();
        let own = questions.get(id).filter(|question| question.caller == *caller);
        let Some(question) = own else { return Ok(None) };
        let form = question.document.get("request").and_then(|own| own.get("requestedSchema"));
        if let (Some(form), InputAnswer::Accept(content)) = (form, &answer) {
            complete_form(form, content.clone().into())?;
        }
        let question = questions.remove(id);
        // A run that has ended meanwhile needs no answer.
        let answered = question.map(|own| own.answer.send(answer).map(|()| own.document));
        Ok(answered.and_then(Result::ok))
    }

    /// Asks a question; the answer arrives by the receiver.
    fn ask(
        &self,
        caller: &Caller,
        conversation: &ConversationId,
        request: InputRequest,
    ) -> Option<(Asking<'_>, oneshot::Receiver<InputAnswer>)> {
        let mut bytes = [0; ID_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let id = format!("inp_{}", URL_SAFE_NO_PAD.encode(bytes));
        let created = seconds();
        let document = object! {
            "id": id.as_str(),
            "object": "input",
            "server": &*request.from,
            "request": request.params,
            "conversation": conversation.as_str(),
            "created_at": write_time(created),
        };
        let mut questions = self.0.lock();
        let of_tenant = questions.values().filter(|own| own.caller.tenant == caller.tenant).count();
        if of_tenant >= MAX_PER_TENANT {
            return None;
        }
        let (answer, receiver) = oneshot::channel();
        let question = Question { caller: caller.clone(), created, document, answer };
        questions.insert(id.clone(), question);
        Some((Asking { inputs: self, id }, receiver))
    }
}

/// Reads the body of an answer.
pub fn read_answer(body: &[u8]) -> Result<InputAnswer, &'static str> {
    let hint =
        "Send {\"action\": \"accept\", \"content\": {…}}, or the action \"decline\" or \"cancel\".";
    let document = Json::parse_bytes(body).map_err(|_| hint)?;
    match document.get("action").and_then(Json::as_str) {
        Some("accept") => match document.get("content") {
            None | Some(Json::Null) => Ok(InputAnswer::Accept(Object::new())),
            Some(Json::Object(content)) => Ok(InputAnswer::Accept(content.clone())),
            Some(_) => Err("`content` must be an object with the values of the form."),
        },
        Some("decline") => Ok(InputAnswer::Decline),
        Some("cancel") => Ok(InputAnswer::Cancel),
        _ => Err(hint),
    }
}

/// Gives the input of the client of a run.
struct HttpInput {
    inputs: Arc<Inputs>,
    modes: ElicitationModes,
    caller: Caller,
    conversation: ConversationId,
}

impl InputHandler for HttpInput {
    fn answer(&self, request: InputRequest) -> InputFuture<'_> {
        Box::pin(async move {
            let Some((_asking, answer)) =
                self.inputs.ask(&self.caller, &self.conversation, request)
            else {
                return Err(RpcError::internal("too many questions wait for answers"));
            };
            Ok(answer.await.unwrap_or(InputAnswer::Cancel).into_result())
        })
    }

    fn modes(&self) -> ElicitationModes {
        self.modes
    }
}
