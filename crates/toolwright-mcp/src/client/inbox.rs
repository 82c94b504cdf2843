//! Messages of a server on their way to the requests that wait for them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use toolwright_core::Json;
use toolwright_json::Object;

use super::changes::{Changes, ListKind, Subscription};
use super::error::ClientError;
use super::secrets::SentSecrets;
use crate::interaction::{InputRequest, Interaction};
use crate::message::{InvalidMessage, Message, Payload, Request, Response};
use crate::protocol::{
    ACKNOWLEDGED, LOG, PING, PROGRESS, PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED,
    TOOLS_CHANGED, meta,
};

/// How long after a dropped request the server may still ask for its input.
const LATE_REQUESTS: Duration = Duration::from_mins(2);

/// Maximum number of questions of the server that are open at the same time; further ones are refused.
const MAX_ANSWERING: usize = 16;

/// Maximum number of requests of the server that are being answered. More than those that wait for a user, so that
/// there are none left only if the server does not read its answers.
const MAX_ANSWERS: usize = 64;

/// The messages of one connection.
pub(super) struct Inbox {
    pub(super) server: Arc<str>,
    waiting: Mutex<Waiting>,
    pub(super) changes: Arc<Changes>,
    pub(super) secrets: SentSecrets,
    answering: Semaphore,
    answers: Arc<Semaphore>,
}

#[derive(Default)]
struct Waiting {
    requests: HashMap<u64, Pending>,
    /// Why the connection has ended, and what its process said on stderr
    ended: Option<(String, Option<String>)>,
    /// When a request was last dropped before its response
    abandoned: Option<Instant>,
}

/// A request that waits for its response.
struct Pending {
    reply: Option<oneshot::Sender<Result<Response, ClientError>>>,
    interaction: Interaction,
}

/// Forgets a request when it is dropped.
pub(super) struct Registration<'i> {
    inbox: &'i Inbox,
    id: u64,
}

impl Inbox {
    pub(super) fn new(server: Arc<str>, changes: Arc<Changes>, secrets: SentSecrets) -> Inbox {
        let answering = Semaphore::new(MAX_ANSWERING);
        let answers = Arc::new(Semaphore::new(MAX_ANSWERS));
        Inbox { server, waiting: Mutex::default(), changes, secrets, answering, answers }
    }

    /// Reads a message or a batch, without secrets that the server repeats.
    pub(super) fn read(&self, bytes: &[u8]) -> Vec<Result<Message, InvalidMessage>> {
        let messages = match Payload::parse(bytes) {
            // Streams have events without data.
            _ if bytes.is_empty() => Vec::new(),
            Ok(Payload::Batch(messages)) => messages,
            Ok(Payload::Message(message)) => vec![Ok(message)],
            Err(invalid) => vec![Err(invalid)],
        };
        let redacted = |message: Message| self.secrets.message(message);
        messages.into_iter().map(|message| message.map(redacted)).collect()
    }

    /// Registers a request whose response arrives in the inbox.
    pub(super) fn register(
        &self,
        id: u64,
        interaction: Interaction,
    ) -> (Registration<'_>, oneshot::Receiver<Result<Response, ClientError>>) {
        let (reply, response) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        match &waiting.ended {
            Some((reason, detail)) => {
                // The response channel is new, so there is a receiver.
                let error = self.unreachable(reason.clone()).with_detail(detail.clone());
                let _ = reply.send(Err(error));
            }
            None => {
                waiting.requests.insert(id, Pending { reply: Some(reply), interaction });
            }
        }
        (Registration { inbox: self, id }, response)
    }

    /// Delivers a message. `origin` is the request whose stream it arrived on. Returns a request that is to be
    /// [answered](Inbox::spawn_answer).
    pub(super) fn deliver(
        &self,
        message: Result<Message, InvalidMessage>,
        origin: Option<u64>,
    ) -> Option<Request> {
        let message = match message {
            Ok(message) => message,
            Err(InvalidMessage(response)) => {
                let id = response.id.as_ref().and_then(Json::as_u64).or(origin)?;
                let reason = response.result.err()?.message;
                self.fail(id, self.broken(format!("sent an invalid message ({reason})")));
                return None;
            }
        };
        match message {
            Message::Request(request) => return Some(request),
            Message::Response(response) => {
                let id = response.id.as_ref().and_then(Json::as_u64)?;
                let reply = self.waiting.lock().requests.get_mut(&id)?.reply.take()?;
                // The request may have been dropped meanwhile.
                let _ = reply.send(Ok(response));
            }
            Message::Notification(notification) => match notification.method.as_str() {
                PROGRESS => self.progress(notification.params),
                LOG => {
                    if let Some(interaction) = origin.and_then(|id| self.interaction(Some(id))) {
                        interaction.log(notification.params);
                    }
                }
                TOOLS_CHANGED => self.changes.list_changed(ListKind::Tools),
                PROMPTS_CHANGED => self.changes.list_changed(ListKind::Prompts),
                RESOURCES_CHANGED => self.changes.list_changed(ListKind::Resources),
                RESOURCE_UPDATED => {
                    if let Some(uri) = notification.params.get("uri").and_then(Json::as_str) {
                        self.changes.updated(uri);
                    }
                }
                ACKNOWLEDGED => self.acknowledged(&notification.params),
                _ => {}
            },
        }
        None
    }

    /// Ends every request: the connection has ended.
    pub(super) fn end(&self, reason: &str, detail: Option<&str>) {
        let detail = detail.map(|detail| self.secrets.text(detail));
        let requests = {
            let mut waiting = self.waiting.lock();
            waiting.ended.get_or_insert_with(|| (reason.to_owned(), detail.clone()));
            std::mem::take(&mut waiting.requests)
        };
        for reply in requests.into_values().filter_map(|pending| pending.reply) {
            let error = self.ended(reason.to_owned()).with_detail(detail.clone());
            let _ = reply.send(Err(error));
        }
    }

    /// Notes which resources a subscription has.
    fn acknowledged(&self, params: &Object) {
        let accepted = params.get("notifications").and_then(|own| own.get("resourceSubscriptions"));
        for uri in accepted.and_then(Json::as_array).unwrap_or_default() {
            if let Some(uri) = uri.as_str() {
                self.changes.set_state(uri, Subscription::Active);
            }
        }
    }

    /// Whether the connection has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.waiting.lock().ended.is_some()
    }

    /// Answers a request of the server in a task, which sends the answer. Waits while too many answers are not sent
    /// yet, so a server that does not read them is not read, either.
    pub(super) async fn spawn_answer<S: Future<Output = ()> + Send>(
        self: &Arc<Inbox>,
        request: Request,
        origin: Option<u64>,
        send: impl FnOnce(Message) -> S + Send + 'static,
    ) {
        let permit = self.answers.clone().acquire_owned().await;
        let inbox = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let response = inbox.answer(request, origin).await;
            send(Message::Response(response)).await;
        });
    }

    /// Answers a request of the server. `origin` is the request whose stream it arrived on.
    async fn answer(&self, request: Request, origin: Option<u64>) -> Response {
        let result = if request.method == PING {
            Ok(Object::new())
        } else {
            let permit = self.answering.try_acquire().ok();
            // Without a caller, the request is declined as its kind demands.
            let interaction = permit.as_ref().and_then(|_| self.interaction(origin));
            let asked = InputRequest::new(self.server.clone(), &request.method, request.params);
            interaction.unwrap_or_default().ask(asked).await
        };
        Response { id: Some(request.id), result }
    }

    /// The caller of a request. Without an origin it is known only if there is one caller.
    fn interaction(&self, origin: Option<u64>) -> Option<Interaction> {
        let waiting = self.waiting.lock();
        if let Some(id) = origin {
            return waiting.requests.get(&id).map(|pending| pending.interaction.clone());
        }
        // A request of the server may belong to any request in progress, or to one that was cancelled.
        let is_doubtful = waiting.abandoned.is_some_and(|at| at.elapsed() < LATE_REQUESTS);
        let mut pending = waiting.requests.values();
        match (pending.next(), pending.next()) {
            (Some(only), None) if !is_doubtful => Some(only.interaction.clone()),
            _ => None,
        }
    }

    fn progress(&self, mut params: Object) {
        let token = params.remove(meta::PROGRESS_TOKEN).as_ref().and_then(Json::as_u64);
        if let Some(interaction) = token.and_then(|id| self.interaction(Some(id))) {
            interaction.progress(params);
        }
    }

    fn fail(&self, id: u64, error: ClientError) {
        let reply =
            self.waiting.lock().requests.get_mut(&id).and_then(|pending| pending.reply.take());
        if let Some(reply) = reply {
            let _ = reply.send(Err(error));
        }
    }

    pub(super) fn unreachable(&self, reason: String) -> ClientError {
        ClientError::Connect { server: self.server.to_string(), reason, detail: None }
    }

    pub(super) fn ended(&self, reason: String) -> ClientError {
        ClientError::Ended { server: self.server.to_string(), reason, detail: None }
    }

    pub(super) fn late(&self, after: Duration) -> ClientError {
        ClientError::Timeout { server: self.server.to_string(), after }
    }

    pub(super) fn broken(&self, reason: String) -> ClientError {
        ClientError::Protocol { server: self.server.to_string(), reason }
    }
}

impl Registration<'_> {
    /// The request was answered outside of the inbox.
    pub(super) fn complete(self) {
        self.inbox.waiting.lock().requests.remove(&self.id);
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut waiting = self.inbox.waiting.lock();
        let removed = waiting.requests.remove(&self.id);
        // Servers may ask for the input of any caller, also of one who offers none.
        if removed.is_some_and(|pending| pending.reply.is_some()) {
            waiting.abandoned = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerCommand;
    use toolwright_core::object;

    fn inbox() -> Inbox {
        Inbox::new("s".into(), Arc::default(), SentSecrets::default())
    }

    #[tokio::test]
    async fn after_an_abandoned_request_no_other_caller_is_asked() {
        let inbox = inbox();
        let (_other, _response) = inbox.register(2, Interaction::default());
        assert!(inbox.interaction(None).is_some());
        let (abandoned, _response) = inbox.register(1, Interaction::default());
        drop(abandoned);
        assert!(inbox.interaction(None).is_none());
    }

    #[tokio::test]
    async fn a_server_with_many_questions_is_still_answered() {
        let inbox = inbox();
        let _questions =
            inbox.answering.try_acquire_many(u32::try_from(MAX_ANSWERING).unwrap()).unwrap();
        let request = |method: &str| Request {
            id: 1_u64.into(),
            method: method.to_owned(),
            params: object! {"message": "?"},
        };
        assert_eq!(inbox.answer(request(PING), None).await.result, Ok(Object::new()));
        let cancelled = inbox.answer(request("elicitation/create"), None).await.result;
        assert_eq!(cancelled, Ok(object! {"action": "cancel"}));
    }

    #[tokio::test]
    async fn notifications_and_questions_do_not_repeat_secrets() {
        const SECRET: &str = "sent to the server";
        let command = ServerCommand::new("server", [""; 0]);
        let address = command.with_environment("KEY", SECRET.into()).into();
        let inbox = Inbox::new("s".into(), Arc::default(), SentSecrets::of(&address));
        let (sender, mut notified) = tokio::sync::mpsc::unbounded_channel();
        let interaction = Interaction::new()
            .with_notifications(true, move |own| sender.send(own.params.compact()).unwrap());
        let (_registration, response) = inbox.register(1, interaction);
        let deliver = |message: &str| {
            let message = message.replace("KEY", SECRET);
            let bytes = format!("{{\"jsonrpc\":\"2.0\",{message}}}").into_bytes();
            inbox.read(&bytes).into_iter().find_map(|own| inbox.deliver(own, Some(1)))
        };
        deliver(r#""method":"notifications/message","params":{"data":{"KEY":"a KEY"}}"#);
        let log = notified.recv().await.unwrap();
        assert_eq!(log, r#"{"data":{"[redacted]":"a [redacted]"}}"#);
        deliver(
            r#""method":"notifications/progress","params":{"progressToken":1,"message":"KEY"}"#,
        );
        assert_eq!(notified.recv().await.unwrap(), r#"{"message":"[redacted]"}"#);
        let asked = r#""id":1,"method":"elicitation/create","params":{"message":"KEY?"}"#;
        let asked = deliver(asked).unwrap().params;
        assert_eq!(asked.compact(), r#"{"message":"[redacted]?"}"#);
        // What only goes back to the server stays as it is.
        deliver(r#""id":1,"result":{"KEY":["KEY"],"requestState":"KEY"}"#);
        let result = response.await.unwrap().unwrap().result.unwrap();
        let expected =
            object! {"[redacted]": vec![Json::from("[redacted]")], "requestState": SECRET};
        assert_eq!(result, expected);
    }

    #[tokio::test]
    async fn a_batch_is_delivered_message_by_message() {
        let inbox = inbox();
        let (_one, first) = inbox.register(1, Interaction::default());
        let (_two, second) = inbox.register(2, Interaction::default());
        let batch =
            br#"[{"jsonrpc":"2.0","id":2,"result":{}},7,{"jsonrpc":"2.0","id":9,"method":"ping"},
            {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}]"#;
        let asked = inbox.read(batch).into_iter().filter_map(|own| inbox.deliver(own, None));
        assert_eq!(asked.map(|request| request.method).collect::<Vec<_>>(), [PING]);
        assert!(second.await.unwrap().unwrap().result.is_ok());
        assert_eq!(first.await.unwrap().unwrap().result.unwrap_err().message, "no");
    }

    #[tokio::test]
    async fn a_resource_whose_uri_has_a_secret_is_updated() {
        const URI: &str = "note://sent to the server";
        let command = ServerCommand::new("server", [""; 0]);
        let address = command.with_environment("KEY", URI[7..].into()).into();
        let inbox = Inbox::new("s".into(), Arc::default(), SentSecrets::of(&address));
        let mut updates = inbox.changes.observe(URI);
        let deliver = |method: &str, params: Object| {
            let message = object! {"jsonrpc": "2.0", "method": method, "params": params};
            for message in inbox.read(message.compact().as_bytes()) {
                assert!(inbox.deliver(message, None).is_none());
            }
        };
        let accepted = object! {"resourceSubscriptions": vec![Json::from(URI)]};
        deliver(ACKNOWLEDGED, object! {"notifications": accepted});
        assert_eq!(inbox.changes.state(URI), Some(Subscription::Active));
        deliver(RESOURCE_UPDATED, object! {"uri": URI});
        let next = tokio::time::timeout(Duration::from_secs(5), updates.next()).await;
        assert_eq!(next, Ok(Some(())));
    }
}
