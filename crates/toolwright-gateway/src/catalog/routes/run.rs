//! Calls of functions: `/v1/internal/run` and `/v1/prefabs/{id}/execute`.
//!
//! Every call of a request is found and checked before the first one runs, so that a request with an
//! unknown function or invalid arguments has no effect. A call runs in the toolbox under the name of its
//! function: policy, hidden parameters, journal, deadline, cache and ledger are those of every call.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use http::HeaderMap;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;
use toolwright_catalog::runtime::{EventSender, Runner, split_files};
use toolwright_catalog::{Access, Catalog, Function};
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Call, Json, object};
use toolwright_runtime::call::journal::{Begun, Intent, JournalError, SharedJournal};
use toolwright_runtime::call::{CallResult, CallStatus, canonical};
use toolwright_runtime::toolbox::CompiledTool;
use toolwright_runtime::{CallErrorKind, Context, Session, Toolbox};

use super::refusal::Refusal;
use super::{functions, text};
use crate::http::{Reply, Share, event_reply};
use crate::key::{Client, Removal};
use crate::telemetry::RequestId;
use crate::{fault, idempotency};

/// Maximum number of calls of a request.
const MAX_CALLS: usize = 100;

/// Maximum number of calls of a request that run at once.
const CONCURRENCY: usize = 16;

/// Maximum size of the results of a request in bytes.
const MAX_RESULT_BYTES: usize = 64 << 20;

/// Interval of the comments in a stream while a function runs, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What the calls of a request share.
pub(super) struct Calls<'a> {
    pub(super) client: &'a Client,
    pub(super) access: Access,
    pub(super) catalog: &'a Catalog,
    pub(super) runner: &'a Runner,
    pub(super) toolbox: Toolbox,
    /// The context of the calls
    pub(super) context: Context,
    pub(super) job: Job,
    pub(super) journal: SharedJournal,
    /// The memory of the request
    pub(super) share: Share,
}

/// The identity of a request.
pub(super) struct Job {
    /// The id, the same for a repeated request
    id: String,
    /// Whether the client sent an idempotency key, from which the id is derived
    pub(super) is_keyed: bool,
}

/// A call as it was sent.
struct RequestedCall<'a> {
    prefab: &'a str,
    version: Option<&'a str>,
    function: &'a str,
    parameters: Option<&'a Json>,
    files: Option<&'a Json>,
}

/// A call that was checked.
struct CheckedFunction {
    tool: CompiledTool,
    call: Call,
    is_streaming: bool,
    /// Whether its result has the member `files`
    has_files: bool,
}

impl Calls<'_> {
    /// Runs the calls of `/v1/internal/run`.
    pub(super) async fn run(self, body: &[u8]) -> Result<Reply, Refusal> {
        let document = super::json_object(body)?;
        let calls = document.get("calls").and_then(Json::as_array);
        let calls = calls.ok_or_else(|| Refusal::invalid("`calls` must be an array."))?;
        if calls.len() > MAX_CALLS {
            return Err(Refusal::invalid(format!("A request has at most {MAX_CALLS} calls.")));
        }
        let requested: Vec<_> = calls.iter().map(requested).collect::<Result<_, Refusal>>()?;
        let mut checked = self.check(&requested).await?;
        self.identify(RUN, &document).await?;
        let session = self.session();
        if let [one] = &*checked
            && one.is_streaming
            && let Some(one) = checked.pop()
        {
            return Ok(streamed(self, session, one));
        }
        // A client that disconnects ends its calls.
        let _cancel = session.cancel.clone().drop_guard();
        let share = &self.share;
        let running = checked.into_iter().map(|call| async {
            let result = run(&self.toolbox, &session, call).await;
            ResultText::reserve(result, share.beside()).await
        });
        let mut running = stream::iter(running).buffered(CONCURRENCY);
        let mut results: Vec<ResultText> = Vec::new();
        let mut size = 0;
        while let Some(mut result) = running.next().await {
            if size + result.text.len() > MAX_RESULT_BYTES {
                result = ResultText::too_large(share.beside());
            }
            size += result.text.len();
            results.push(result);
        }
        let status = match results.iter().filter(|result| result.is_success).count() {
            count if count == results.len() => SUCCESS,
            0 => FAILED,
            _ => "PARTIAL",
        };
        let mut text = format!(r#"{{"job_id":"{}","status":"{status}","results":["#, self.job.id);
        let mut share = share.beside();
        for (index, result) in results.into_iter().enumerate() {
            text += if index == 0 { "" } else { "," };
            text += &result.text;
            share.join(result.share);
        }
        text += "]}";
        Ok(fault::text(text).map(|body| body.held(share)))
    }

    /// Runs the call of `/v1/prefabs/{id}/execute`.
    pub(super) async fn execute(self, prefab: &str, body: &[u8]) -> Result<Reply, Refusal> {
        let document = super::json_object(body)?;
        let function = text(&document, "function")?;
        let requested = RequestedCall {
            prefab,
            version: text(&document, "version")?,
            function: function.ok_or_else(|| Refusal::invalid("`function` is required."))?,
            parameters: document.get("parameters"),
            files: document.get("files"),
        };
        let mut checked = self.check(&[requested]).await?;
        self.identify(prefab, &document).await?;
        let session = self.session();
        let Some(one) = checked.pop() else { return Err(Refusal::invalid("There is no call.")) };
        if one.is_streaming {
            return Ok(streamed(self, session, one));
        }
        let _cancel = session.cancel.clone().drop_guard();
        let status = self.toolbox.call_tool(&session, &one.tool, &one.call).await;
        if let Some(error) = status.result().and_then(|result| result.error.as_ref())
            && error.kind == CallErrorKind::RateLimited
        {
            return Err(Refusal::rate_limited(&error.text, self.client.call_wait()));
        }
        let result = entry(&status, one.has_files);
        let ResultText { text, share, .. } = ResultText::reserve(result, self.share.beside()).await;
        // Both are objects with members.
        let text = format!(r#"{{"job_id":"{}",{}"#, self.job.id, &text[1..]);
        Ok(fault::text(text).map(|body| body.held(share)))
    }

    fn session(&self) -> Session {
        let session = Session::new(self.job.id.as_str()).with_caller(self.client.caller());
        let context = self.context.clone().with(self.access.clone());
        session.with_context(context).with_exact_arguments()
    }

    /// Records the content of a request with an idempotency key. Another content with the same key is refused.
    async fn identify(&self, target: &str, document: &Object) -> Result<(), Refusal> {
        if !self.job.is_keyed {
            return Ok(());
        }
        let digest = Json::from(idempotency::hash(&[target, &canonical(document)]));
        let key: Arc<str> = idempotency::hash(&["request", &self.job.id]).into();
        let intent = Intent {
            key: Arc::clone(&key),
            unversioned_key: Arc::clone(&key),
            run: self.job.id.as_str().into(),
            tool: "request".into(),
            call_id: "request".into(),
        };
        let failed = |error: JournalError| Refusal::unavailable(&error.to_string());
        loop {
            match self.journal.begin(&intent).await.map_err(failed)? {
                Begun::Finished(recorded) if recorded == digest => return Ok(()),
                Begun::Finished(_) => return Err(Refusal::key_reused()),
                // A request with this key may be faster: the first record stays.
                _ => self.journal.finish(&key, &digest).await.map_err(failed)?,
            }
        }
    }

    /// Finds and checks all calls, and counts them against the client's rate.
    async fn check(
        &self,
        requested: &[RequestedCall<'_>],
    ) -> Result<Vec<CheckedFunction>, Refusal> {
        let mut checked = Vec::new();
        for (index, requested) in requested.iter().enumerate() {
            let RequestedCall { prefab, version, function, .. } = *requested;
            let version = functions::find(self.catalog, &self.access, prefab, version).await?;
            let function = version.function(&self.access, function)?;
            let tool = self.runner.tool(&version, function)?;
            let arguments = arguments(requested, function)?;
            let resolved = tool.check_arguments(&Arguments::from_json(&arguments));
            if !resolved.errors().is_empty() || !resolved.is_understood() {
                return Err(Refusal::invalid_arguments(
                    index,
                    requested.function,
                    resolved.errors(),
                ));
            }
            let name = tool.handler().tool().name.clone();
            let call = Call::new(format!("call_{index}"), name, Arguments::from_json(&arguments));
            let (is_streaming, has_files) =
                (function.streaming, function.output_files().next().is_some());
            checked.push(CheckedFunction { tool, call, is_streaming, has_files });
        }
        super::admit(self.client, requested.len().max(1) as u64)?;
        Ok(checked)
    }
}

const SUCCESS: &str = "SUCCESS";
const FAILED: &str = "FAILED";

/// What distinguishes the content of a request with several calls from one with a prefab's call.
const RUN: &str = "run";

impl Job {
    /// Returns the identity of a request. A client that repeats a request with the same `idempotency-key`
    /// repeats no effect, because the journal knows the calls.
    pub(super) fn new(client: &Client, headers: &HeaderMap) -> Job {
        let id = idempotency::of_key(headers, &[client.name()]);
        let is_keyed = id.is_some();
        Job { id: id.unwrap_or_else(|| RequestId::random().to_string()), is_keyed }
    }
}

/// The text of an entry of the results, with its share of the memory budget.
struct ResultText {
    is_success: bool,
    text: String,
    share: Share,
}

impl ResultText {
    async fn reserve(result: Object, mut share: Share) -> ResultText {
        let is_success = result.get("status").and_then(Json::as_str) == Some(SUCCESS);
        let text = Json::Object(result).compact();
        if text.len() > MAX_RESULT_BYTES || share.resize(text.len()).await.is_err() {
            return ResultText::too_large(share);
        }
        ResultText { is_success, text, share }
    }

    /// The entry for a call that ran, whose result does not fit.
    fn too_large(share: Share) -> ResultText {
        let message = format!(
            "The function has run, but its result is too large. The results of a request may have {} MiB, \
             and must fit into the gateway's memory. Call the function with fewer others, or ask it for less.",
            MAX_RESULT_BYTES >> 20
        );
        let error = object! {"error_code": TOO_LARGE, "message": message};
        let text = Json::Object(object! {"status": FAILED, "error": error}).compact();
        ResultText { is_success: false, text, share }
    }
}

/// Reads a call.
fn requested(call: &Json) -> Result<RequestedCall<'_>, Refusal> {
    let Json::Object(call) = call else {
        return Err(Refusal::invalid("Each of `calls` must be an object."));
    };
    let required = |name: &str| {
        let found = text(call, name)?;
        found.ok_or_else(|| Refusal::invalid(format!("`{name}` of a call is required.")))
    };
    let inputs = match call.get("inputs") {
        None | Some(Json::Null) => None,
        Some(Json::Object(inputs)) => Some(inputs),
        Some(_) => return Err(Refusal::invalid("`inputs` of a call must be an object.")),
    };
    Ok(RequestedCall {
        prefab: required("prefab_id")?,
        version: text(call, "version")?,
        function: required("function_name")?,
        parameters: inputs.and_then(|own| own.get("parameters")),
        files: inputs.and_then(|own| own.get("files")),
    })
}

/// Joins parameters and files to the arguments of the function.
fn arguments(call: &RequestedCall<'_>, function: &Function) -> Result<Json, Refusal> {
    let mut arguments = match call.parameters {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(parameters)) => parameters.clone(),
        Some(_) => return Err(Refusal::invalid("`parameters` must be an object.")),
    };
    let takes_files = function.input_files().next().is_some();
    match call.files {
        None | Some(Json::Null) => {}
        Some(Json::Object(files)) if takes_files => arguments.insert(FILES, files.clone()),
        Some(Json::Object(files)) if files.is_empty() => {}
        Some(Json::Object(_)) => {
            let message = format!("The function `{}` takes no files.", function.name);
            return Err(Refusal::invalid(message));
        }
        Some(_) => return Err(Refusal::invalid("`files` must be an object.")),
    }
    Ok(Json::Object(arguments))
}

/// The code of a result that does not fit into the gateway's memory.
const TOO_LARGE: &str = "RESULT_TOO_LARGE";

/// The member of the arguments and of the result that has files.
const FILES: &str = "files";

/// Runs a call, and returns its entry of the results.
async fn run(toolbox: &Toolbox, session: &Session, call: CheckedFunction) -> Object {
    let status = toolbox.call_tool(session, &call.tool, &call.call).await;
    entry(&status, call.has_files)
}

/// Returns the entry of a call in the results.
fn entry(status: &CallStatus, has_files: bool) -> Object {
    match outcome(status, has_files) {
        Ok(output) => object! {"status": SUCCESS, "output": output},
        Err(error) => object! {"status": FAILED, "error": error},
    }
}

/// Returns the output of a call in the form of the interface, or its error.
fn outcome(status: &CallStatus, has_files: bool) -> Result<Object, Object> {
    let result = match status {
        CallStatus::Done(result) => result,
        CallStatus::Waiting(approval) => {
            return Err(object! {
                "error_code": "APPROVAL_REQUIRED",
                "message": format!("A person must approve the call: {}", approval.reason),
            });
        }
    };
    if let Some(error) = &result.error {
        let code = match error.tool_kind.as_deref() {
            Some("limit") => TOO_LARGE.to_owned(),
            _ => error.kind.as_str().to_uppercase(),
        };
        return Err(object! {"error_code": code, "message": error.text.as_str()});
    }
    let (output, files) = separate(result, has_files);
    Ok(object! {"status": SUCCESS, "output": output, "files": files})
}

/// Separates the return value of a function from its files.
fn separate(result: &CallResult, has_files: bool) -> (Json, Json) {
    let value = result.value().map(std::borrow::Cow::into_owned).unwrap_or_default();
    let (value, files) = if has_files { split_files(value) } else { (value, Object::new()) };
    (value, files.into())
}

/// A call whose reply is a stream of events.
struct StreamedCall {
    /// The call, until it has ended
    running: Option<BoxFuture<'static, CallStatus>>,
    events: mpsc::Receiver<Json>,
    job: String,
    has_files: bool,
    /// Whether `start` was sent
    is_started: bool,
    /// Whether `content` was sent
    has_content: bool,
    /// The fault that the stream ends with when the key of the client is removed
    removal: Removal,
    /// The data of the function's last event, and whether it is an error
    last: Option<(Json, bool)>,
    _cancel: DropGuard,
    /// The memory of the request
    _share: Share,
}

/// Number of events that wait for the client.
const MAX_WAITING_EVENTS: usize = 16;

/// Runs a call, and replies with server-sent events. The call is cancelled if the client disconnects.
fn streamed(calls: Calls<'_>, session: Session, call: CheckedFunction) -> Reply {
    let Calls { toolbox, job, share, client, .. } = calls;
    let (sender, events) = mpsc::channel(MAX_WAITING_EVENTS);
    let context = session.context.clone().with(EventSender(sender));
    let session = session.with_context(context);
    let cancel = session.cancel.clone().drop_guard();
    let CheckedFunction { tool, call, has_files, .. } = call;
    let running = async move { toolbox.call_tool(&session, &tool, &call).await }.boxed();
    let call = StreamedCall {
        running: Some(running),
        events,
        job: job.id,
        has_files,
        is_started: false,
        has_content: false,
        removal: client.removal(),
        last: None,
        _cancel: cancel,
        _share: share,
    };
    event_reply(stream::unfold(call, StreamedCall::next))
}

impl StreamedCall {
    /// Returns the next piece of the stream.
    async fn next(mut self) -> Option<(String, StreamedCall)> {
        let mut running = self.running.take()?;
        loop {
            let ended = tokio::select! {
                biased;
                fault = &mut self.removal => {
                    let error = object! {"error_code": "FORBIDDEN", "message": fault.message};
                    return Some((self.start_unless(false) + &event("error", error), self));
                }
                Some(event) = self.events.recv() => {
                    if let Some(text) = self.pass_on(&event) {
                        self.running = Some(running);
                        return Some((text, self));
                    }
                    continue;
                }
                status = &mut running => status,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    self.running = Some(running);
                    return Some((": the function is running\n\n".to_owned(), self));
                }
            };
            let mut text = String::new();
            while let Ok(event) = self.events.try_recv() {
                text += &self.pass_on(&event).unwrap_or_default();
            }
            text += &self.end(&ended);
            return Some((text, self));
        }
    }

    /// Writes an event of the function. Its last one waits for the end of the call, which may fail yet.
    fn pass_on(&mut self, sent: &Json) -> Option<String> {
        let kind = sent.get("type").and_then(Json::as_str).unwrap_or("content");
        let data = sent.get("data").cloned().unwrap_or_default();
        if matches!(kind, "done" | "error") {
            self.last = Some((data, kind == "error"));
            return None;
        }
        self.has_content |= kind == "content";
        Some(self.start_unless(kind == "start") + &event(kind, data))
    }

    /// Writes `start`, unless it was sent or the next event is one.
    fn start_unless(&mut self, is_start: bool) -> String {
        let is_needed = !std::mem::replace(&mut self.is_started, true) && !is_start;
        if is_needed {
            event("start", object! {"job_id": self.job.as_str()})
        } else {
            String::new()
        }
    }

    /// Writes the events at the end of a call.
    fn end(&mut self, status: &CallStatus) -> String {
        let start = self.start_unless(false);
        let last = self.last.take();
        let output = match (outcome(status, self.has_files), last) {
            (Err(_), Some((data, true))) => return start + &event("error", data),
            (Err(error), _) => return start + &event("error", error),
            (Ok(_), Some((data, _))) if !self.has_files => return start + &event("done", data),
            (Ok(output), _) => output,
        };
        let mut text = start;
        if !self.has_content {
            text += &event("content", output.get("output").cloned().unwrap_or_default());
        }
        text + &event("done", output)
    }
}

/// Writes an event.
fn event(kind: &str, data: impl Into<Json>) -> String {
    let event = Json::Object(object! {"type": kind, "data": data.into()});
    format!("data: {}\n\n", event.compact())
}
