//! A function of a prefab that runs as an HTTP request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use toolwright_core::{Json, Tool, object};
use toolwright_json::Object;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::{Content, Piece};
use toolwright_runtime::{Handler, Output, Scope, ToolError};
use toolwright_transport::secret::SecretString;

use super::{HttpCall, HttpRuntime, InputFile};
use crate::files::{Files, Lifetime};
use crate::manifest::{FILES, Function};
use crate::runtime::workspace::{failed, find};
use crate::runtime::{file_error, with_files};

/// Maximum number of bytes of the input files of a request.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The type of files whose type is not known.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// A function that runs as an HTTP request.
pub(in super::super) struct HttpFunction {
    pub(in super::super) runtime: HttpRuntime,
    pub(in super::super) base_url: String,
    pub(in super::super) headers: Vec<(String, String)>,
    pub(in super::super) function: Function,
    /// All secrets of the prefab: some are alternatives of others
    pub(in super::super) secrets: BTreeMap<String, SecretString>,
    /// Secrets that fill parameters
    pub(in super::super) filled: Vec<SecretString>,
    pub(in super::super) files: Files,
}

impl HttpFunction {
    pub(in super::super) fn into_handler(self, tool: Tool) -> Handler {
        let function = Arc::new(self);
        Handler::new(tool, move |scope, arguments| {
            let function = function.clone();
            async move { function.run(&scope, arguments).await }
        })
    }

    async fn run(&self, scope: &Scope, mut arguments: Object) -> ToolResult {
        let mut files = Vec::new();
        if self.function.input_files().next().is_some() {
            let links = arguments.remove(FILES).unwrap_or_default();
            files = self.read_files(&scope.session.caller.tenant, &links).await?;
        }
        let call = HttpCall {
            base_url: &self.base_url,
            headers: &self.headers,
            function: &self.function.name,
            binding: self.function.http.as_ref(),
            arguments: &arguments,
            files: &files,
            secrets: &|name| self.secrets.get(name).cloned(),
            filled: &self.filled,
            context: &scope.session.context,
        };
        let output = self.runtime.call(call).await?;
        self.store_bytes(&scope.session.caller.tenant, output).await
    }

    /// Stores bytes, which are no JSON, as a file of the caller.
    async fn store_bytes(&self, tenant: &str, output: Output) -> ToolResult {
        let [Piece { content: Content::Bytes(blob), .. }] = &*output.pieces else {
            return Ok(output);
        };
        let stored = async {
            let now = SystemTime::now();
            let mut upload = self.files.upload(tenant, "output", Some(&blob.mime), now).await?;
            upload.write(&blob.bytes).await?;
            upload.finish(Lifetime::Permanent, SystemTime::now()).await
        };
        let stored = stored.await.map_err(file_error)?;
        let links = object! {"output": vec![Json::from(stored.url.to_string())]};
        Ok(Output::json(with_files(Json::Null, links)))
    }

    async fn read_files(&self, tenant: &str, links: &Json) -> Result<Vec<InputFile>, ToolError> {
        let mut read = Vec::new();
        let mut size = 0;
        for parameter in self.function.input_files() {
            let links = links.get(&parameter.key).and_then(Json::as_array);
            for link in links.into_iter().flatten().filter_map(Json::as_str) {
                let file = find(&self.files, tenant, &parameter.key, link).await?;
                size += file.size;
                if size > MAX_FILE_BYTES {
                    let problem = format!("they have more than {MAX_FILE_BYTES} bytes");
                    return Err(failed(&problem));
                }
                let bytes = tokio::fs::read(&file.path).await;
                let bytes = bytes.map_err(|error| failed(&error.kind().to_string()))?;
                read.push(InputFile {
                    key: parameter.key.clone(),
                    name: file.url.name().to_owned(),
                    content_type: file.content_type.unwrap_or_else(|| UNKNOWN_TYPE.to_owned()),
                    bytes: Bytes::from(bytes),
                });
            }
        }
        Ok(read)
    }
}
