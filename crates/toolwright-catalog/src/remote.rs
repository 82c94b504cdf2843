//! A catalog on another server, over its HTTP interface.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use toolwright_core::{Json, Tool, object, percent};
use toolwright_dialects::frame::{FrameError, FrameReader, Framing};
use toolwright_json::Object;
use toolwright_runtime::error::IN_DOUBT;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_runtime::toolbox::CompiledTool;
use toolwright_runtime::{Handler, Output, ToolError};
use toolwright_transport::secret::SecretString;
use toolwright_transport::{HttpClient, HttpFault, Incoming, TransportError, begins_with};

use super::access::tool_name;
use super::manifest::FILES;
use super::runtime::http::is_unprocessed;
use super::runtime::{FunctionStream, StreamError, with_files};

/// Deadline of a request that reads definitions.
const READ_DEADLINE: Duration = Duration::from_secs(10);

/// Deadline of a call, which ends at the deadline of its function if that is earlier.
pub(super) const CALL_DEADLINE: Duration = Duration::from_mins(20);

/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Maximum number of characters of an error answer that are shown.
const MAX_SHOWN: usize = 500;

/// A catalog on another server.
#[must_use]
#[derive(Debug, Clone)]
pub struct RemoteCatalog {
    base_url: String,
    token: Option<SecretString>,
    http: HttpClient,
}

impl RemoteCatalog {
    /// Creates a client of a catalog. The URL is that of the server, without `/v1`.
    pub fn new(base_url: &str) -> Result<RemoteCatalog, TransportError> {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let http = HttpClient::new(base_url.as_str())?;
        Ok(RemoteCatalog { base_url, token: None, http })
    }

    /// Sets the internal token, which calls of functions are authenticated with.
    pub fn with_token(mut self, token: SecretString) -> RemoteCatalog {
        self.token = Some(token);
        self
    }

    /// Replaces the HTTP client, such as by one with a proxy.
    pub fn with_http(mut self, http: HttpClient) -> RemoteCatalog {
        self.http = http;
        self
    }

    /// Lists the functions of a prefab: an array of names and descriptions.
    pub(super) async fn functions(
        &self,
        prefab: &str,
        version: Option<&str>,
    ) -> Result<Json, ToolError> {
        self.read(&format!("/v1/public/prefabs/{}/functions", percent::encode(prefab)), version)
            .await
    }

    /// Returns the definition of a function.
    pub(super) async fn function(
        &self,
        prefab: &str,
        version: Option<&str>,
        function: &str,
    ) -> Result<Json, ToolError> {
        let (prefab, function) = (percent::encode(prefab), percent::encode(function));
        self.read(&format!("/v1/public/prefabs/{prefab}/functions/{function}"), version).await
    }

    /// Returns a function as a tool. Its arguments are checked by the other server.
    pub(super) fn tool(
        &self,
        prefab: &str,
        version: &str,
        function: &str,
    ) -> Result<CompiledTool, ToolError> {
        let tool = Tool::function(tool_name(prefab, function), object! {"type": "object"}.into());
        let remote = Arc::new((self.clone(), [prefab, version, function].map(str::to_owned)));
        let handler = Handler::new(tool, move |_, arguments| {
            let remote = remote.clone();
            async move {
                let (catalog, [prefab, version, function]) = &*remote;
                catalog.call(prefab, version, function, arguments).await
            }
        });
        Ok(CompiledTool::new(handler.with_version(version).with_deadline(CALL_DEADLINE))?)
    }

    /// Calls a function. Its output files are the member `files` of the result.
    async fn call(
        &self,
        prefab: &str,
        version: &str,
        function: &str,
        mut parameters: Object,
    ) -> ToolResult {
        let files = parameters.remove(FILES);
        let mut inputs = object! {"parameters": parameters};
        if let Some(files) = files {
            inputs.insert(FILES, files);
        }
        let call = object! {
            "prefab_id": prefab, "version": version, "function_name": function, "inputs": inputs,
        };
        let body = Json::from(object! {"calls": vec![Json::from(call)]}).compact();
        let mut request = self.request(Method::POST, "/v1/internal/run", body.into())?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            let invalid = |_| self.failed("its token is not a header value");
            let mut value = HeaderValue::from_str(token.expose()).map_err(invalid)?;
            value.set_sensitive(true);
            request.headers_mut().insert("x-internal-token", value);
        }
        let answer = self.send(request).await?;
        let is_stream = begins_with(&answer.headers, &CONTENT_TYPE, Framing::Sse.content_type());
        if answer.status.is_success() && is_stream {
            return self.read_stream(answer).await;
        }
        let answer = self.read_json(answer, false).await?;
        let result = answer.pointer("/results/0");
        let result = result.ok_or_else(|| self.in_doubt("its answer has no result"))?;
        if result.get("status").and_then(Json::as_str) != Some("SUCCESS") {
            let error = result.get("error").cloned().unwrap_or_default();
            let message = error.as_str().or_else(|| error.get("message")?.as_str());
            let message = message.map_or_else(|| error.compact(), str::to_owned);
            return Err(ToolError::new(shown(&message)).with_kind("FunctionError"));
        }
        Ok(envelope(result.get("output").cloned().unwrap_or_default()))
    }

    /// Reads the events of a streaming function, and returns its result.
    async fn read_stream(&self, incoming: Incoming) -> ToolResult {
        let broken = |fault: HttpFault| self.in_doubt(&fault.message);
        let invalid = |error: FrameError| self.in_doubt(&error.to_string());
        let known = self.known_secrets();
        let malformed =
            |error: StreamError| error.into_tool_error(&known, |problem| self.in_doubt(problem));
        let (mut reader, mut stream) = (FrameReader::new(Framing::Sse), FunctionStream::default());
        let (mut body, mut size) = (incoming.body, 0);
        loop {
            let chunk = body.next().await.transpose().map_err(broken)?;
            let mut frames = Vec::new();
            match &chunk {
                Some(bytes) => {
                    size += bytes.len();
                    if size > MAX_ANSWER_BYTES {
                        let problem = format!("its answer has more than {MAX_ANSWER_BYTES} bytes");
                        return Err(self.in_doubt(&problem));
                    }
                    reader.push(bytes, &mut frames).map_err(invalid)?;
                }
                None => reader.finish(&mut frames).map_err(invalid)?,
            }
            for frame in frames {
                stream.add(frame.data.as_bytes()).map_err(malformed)?;
            }
            if chunk.is_none() {
                break;
            }
        }
        let result = known.json(stream.finish().map_err(malformed)?);
        let is_envelope = result.get("output").is_some()
            && result.get("status").and_then(Json::as_str) == Some("SUCCESS");
        Ok(if is_envelope {
            envelope(result)
        } else {
            Output::json(with_files(result, Object::new()))
        })
    }

    /// What an answer must not repeat.
    fn known_secrets(&self) -> KnownSecrets {
        KnownSecrets::new(self.token.iter().map(|token| token.expose().as_str()))
    }

    async fn read(&self, path: &str, version: Option<&str>) -> Result<Json, ToolError> {
        let query = version.map(|version| format!("?version={}", percent::encode(version)));
        let path = format!("{path}{}", query.unwrap_or_default());
        let request = self.request(Method::GET, &path, Bytes::new())?;
        let answer = async { self.read_json(self.send(request).await?, true).await };
        match tokio::time::timeout(READ_DEADLINE, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(self.failed(&format!("no answer within {READ_DEADLINE:?}")).retryable()),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Request<Bytes>, ToolError> {
        let url: Result<Uri, _> = format!("{}{path}", self.base_url).parse();
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = url.map_err(|_| self.failed("its URL is invalid"))?;
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().insert(ACCEPT, accepted);
        Ok(request)
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, ToolError> {
        let is_read = request.method() == Method::GET;
        let failed = |fault: HttpFault| self.cut_off(&fault.message, is_read || fault.is_unsent());
        self.http.send(request).await.map_err(failed)
    }

    /// Reads an answer. A request that only reads has no effect; a call may have run, whatever happens to its answer.
    async fn read_json(&self, incoming: Incoming, is_read: bool) -> Result<Json, ToolError> {
        let status = incoming.status;
        let body = incoming.body.collect(MAX_ANSWER_BYTES).await;
        let body = body.map_err(|fault| self.cut_off(&fault.message, is_read))?;
        let known = self.known_secrets();
        let text = String::from_utf8_lossy(&body);
        let answer = Json::parse(&text).ok().map(|answer| known.json(answer));
        if status.is_success() {
            let problem = "its answer is not JSON; check the URL";
            let failed = || if is_read { self.failed(problem) } else { self.in_doubt(problem) };
            return answer.ok_or_else(failed);
        }
        let detail = answer.as_ref().and_then(|answer| answer.get("detail"));
        let message = detail.and_then(|own| own.as_str().or_else(|| own.get("message")?.as_str()));
        match message {
            Some(message) if status.is_client_error() => {
                Err(ToolError::new(shown(message)).with_kind("PrefabGatewayError"))
            }
            _ => {
                let problem = format!("status {}: {}", status.as_u16(), shown(&known.text(&text)));
                Err(self.cut_off(&problem, is_read || is_unprocessed(status)))
            }
        }
    }

    /// The error of a request without an answer of the catalog. A harmless one may be sent again.
    fn cut_off(&self, problem: &str, is_harmless: bool) -> ToolError {
        if is_harmless { self.failed(problem).retryable() } else { self.in_doubt(problem) }
    }

    /// The error of a call that may have run.
    fn in_doubt(&self, problem: &str) -> ToolError {
        self.failed(&format!("{problem}. {IN_DOUBT}"))
    }

    fn failed(&self, problem: &str) -> ToolError {
        ToolError::new(format!("The prefab gateway {} failed: {problem}", self.base_url))
            .with_kind("PrefabGatewayError")
    }
}

/// The output of a function from the envelope of an answer.
fn envelope(mut output: Json) -> Output {
    let mut take = |name| output.as_object_mut().and_then(|output| output.remove(name));
    let value = take("output").unwrap_or_default();
    let files = match take(FILES) {
        Some(Json::Object(files)) => files,
        _ => Object::new(),
    };
    Output::json(with_files(value, files))
}

/// The beginning of a text of another server, on one line.
fn shown(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().take(MAX_SHOWN).map(plain).collect()
}
