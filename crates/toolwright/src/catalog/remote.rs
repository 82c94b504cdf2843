//! A catalog on another server, over its HTTP interface.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use toolwright_core::json::Object;
use toolwright_core::{Json, Tool, object, percent};

use super::access::tool_name;
use super::manifest::FILES;
use super::runtime::with_files;
use crate::error::ToolError;
use crate::handler::{Handler, ToolResult};
use crate::output::Output;
use crate::secret::SecretString;
use crate::toolbox::CompiledTool;
use crate::transport::{HttpClient, TransportError};

/// Deadline of a request that reads definitions.
const READ_DEADLINE: Duration = Duration::from_secs(10);

/// Deadline of a call, which ends at the deadline of its function if that is earlier.
pub(super) const CALL_DEADLINE: Duration = Duration::from_mins(20);

/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Maximum number of characters of an error answer that are shown.
const MAX_SHOWN: usize = 500;

/// A catalog on another server.
#[derive(Clone)]
pub struct RemoteCatalog {
    base_url: String,
    token: Option<SecretString>,
    http: HttpClient,
}

impl fmt::Debug for RemoteCatalog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteCatalog")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl RemoteCatalog {
    /// Creates a client of a catalog. The URL is that of the server, without `/v1`.
    pub fn new(base_url: &str) -> Result<RemoteCatalog, TransportError> {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let http = HttpClient::new(base_url.as_str())?;
        Ok(RemoteCatalog { base_url, token: None, http })
    }

    /// Sets the internal token, which calls of functions are authenticated with.
    #[must_use]
    pub fn with_token(mut self, token: SecretString) -> RemoteCatalog {
        self.token = Some(token);
        self
    }

    /// Replaces the HTTP client, such as by one with a proxy.
    #[must_use]
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
        let result = answer.pointer("/results/0");
        let result = result.ok_or_else(|| self.failed("its answer has no result"))?;
        if result.get("status").and_then(Json::as_str) != Some("SUCCESS") {
            let error = result.get("error").cloned().unwrap_or_default();
            let message = error.as_str().or_else(|| error.get("message")?.as_str());
            let message = message.map_or_else(|| error.compact(), str::to_owned);
            return Err(ToolError::new(shown(&message)).with_kind("FunctionError"));
        }
        let value = result.pointer("/output/output").cloned().unwrap_or_default();
        let files = result.pointer("/output/files").and_then(Json::as_object);
        Ok(Output::json(with_files(value, files.cloned().unwrap_or_default())))
    }

    async fn read(&self, path: &str, version: Option<&str>) -> Result<Json, ToolError> {
        let query = version.map(|version| format!("?version={}", percent::encode(version)));
        let path = format!("{path}{}", query.unwrap_or_default());
        let request = self.request(Method::GET, &path, Bytes::new())?;
        match tokio::time::timeout(READ_DEADLINE, self.send(request)).await {
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
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(request)
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Json, ToolError> {
        let unreachable = |fault: toolwright_core::Fault| self.failed(&fault.message).retryable();
        let incoming = self.http.send(request).await.map_err(unreachable)?;
        let status = incoming.status;
        let body = incoming.body.collect(MAX_ANSWER_BYTES).await.map_err(unreachable)?;
        let text = String::from_utf8_lossy(&body);
        let answer = Json::parse(&text).ok();
        if status.is_success() {
            return answer.ok_or_else(|| self.failed("its answer is not JSON; check the URL"));
        }
        let detail = answer.as_ref().and_then(|answer| answer.get("detail"));
        let message = detail.and_then(|own| own.as_str().or_else(|| own.get("message")?.as_str()));
        match message {
            Some(message) if status.is_client_error() => {
                Err(ToolError::new(shown(message)).with_kind("PrefabGatewayError"))
            }
            _ => {
                let problem = format!("status {}: {}", status.as_u16(), shown(&text));
                Err(self.failed(&problem).retryable())
            }
        }
    }

    fn failed(&self, problem: &str) -> ToolError {
        ToolError::new(format!("The prefab gateway {} failed: {problem}", self.base_url))
            .with_kind("PrefabGatewayError")
    }
}

/// The beginning of a text of another server, on one line.
fn shown(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().take(MAX_SHOWN).map(plain).collect()
}
