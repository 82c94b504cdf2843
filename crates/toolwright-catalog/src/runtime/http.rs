//! Functions that run as requests to an HTTP server.
//!
//! `binding` says how the arguments of a function become a request, `request` writes it: parameters in the styles
//! of OpenAPI (`style`) and bodies (`body`). `auth` adds credentials from the secrets of the prefab, `response`
//! reads the answer. The client's address policy decides which servers are reached.
//!
//! `function` is a function of a prefab. A function without a binding is a POST of its arguments as JSON to
//! `{base_url}/{function}`.

mod auth;
mod body;
mod function;
mod media;
mod request;
mod response;
mod style;

use std::sync::Arc;

use bytes::Bytes;
use http::{StatusCode, Uri};
use toolwright_json::Object;
use toolwright_plan::Reservation;
use toolwright_runtime::Context;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_transport::HttpClient;
use toolwright_transport::secret::SecretString;

pub(super) use auth::missing_secret;
pub use auth::{MISSING_SECRET, Secrets};
pub(super) use function::HttpFunction;
pub(crate) use media::{is_form, is_json, is_multipart, is_text};
pub(crate) use response::is_unprocessed;

use crate::binding::Binding;
use auth::TokenSources;
use request::Draft;

/// Runs functions as HTTP requests. Clones share connections and access tokens.
#[derive(Debug, Clone)]
pub struct HttpRuntime {
    client: HttpClient,
    tokens: Arc<TokenSources>,
}

/// A call of a function.
#[derive(Clone, Copy)]
pub struct HttpCall<'c> {
    /// The address of the prefab's server
    pub base_url: &'c str,
    /// Headers of every request to it
    pub headers: &'c [(String, String)],
    /// The name of the function
    pub function: &'c str,
    /// How its arguments become a request
    pub binding: Option<&'c Binding>,
    /// Its arguments, without files
    pub arguments: &'c Object,
    /// Its input files
    pub files: &'c [InputFile],
    /// The secrets of the prefab
    pub secrets: Secrets<'c>,
    /// The secrets among the arguments
    pub filled: &'c [SecretString],
    /// Values of the host; a [memory budget](toolwright_plan::PlanMemory) among them bounds the answer
    pub context: &'c Context,
}

/// An input file of a call.
#[derive(Debug, Clone)]
pub struct InputFile {
    /// The key of the input; several files may have the same
    pub key: String,
    /// The name of the file
    pub name: String,
    /// Its media type
    pub content_type: String,
    /// Its content
    pub bytes: Bytes,
}

impl HttpRuntime {
    /// Creates a runtime that sends requests with this client. Its
    /// [address policy](toolwright_transport::AddressPolicy) should be `public`, since manifests are not written by
    /// the operator.
    pub fn new(client: HttpClient) -> HttpRuntime {
        HttpRuntime { client, tokens: Arc::default() }
    }

    /// Checks that the address policy allows a server, and that its host is found.
    pub async fn check(&self, base_url: &str) -> Result<(), String> {
        let url = base_url.parse::<Uri>().map_err(|_| format!("`{base_url}` is not a URL"))?;
        self.client.check_url(&url).await.map_err(|fault| fault.message)
    }

    /// Runs a function: sends its request, and returns the content of the answer. An answer that is not a success
    /// is an error.
    pub async fn call(&self, call: HttpCall<'_>) -> ToolResult {
        let mut is_retry = false;
        loop {
            let mut draft = match call.binding {
                Some(binding) => Draft::bound(call.base_url, binding, call.arguments, call.files)?,
                None => Draft::plain(call.base_url, call.function, call.arguments),
            };
            for (name, value) in call.headers {
                draft.set_header(name, value, true);
            }
            let security = call.binding.map(|binding| &*binding.security).unwrap_or_default();
            let credentials = auth::choose(security, call.secrets)?;
            let applied =
                auth::apply(&mut draft, credentials, call.secrets, &self.tokens, &self.client);
            let applied = applied.await?;
            let request = draft.finish()?;
            let is_repeatable = call.binding.is_some_and(|binding| binding.method.is_repeatable());
            let failed = |fault| response::from_fault(&fault, is_repeatable);
            let answer = self.client.send(request).await.map_err(failed)?;
            if let Some((source, token)) = &applied.token
                && answer.status == StatusCode::UNAUTHORIZED
                && !is_retry
            {
                // The server rejected the token before it expired: another one may be accepted.
                source.reject(token);
                is_retry = true;
                continue;
            }
            let sent = applied.secrets.iter().chain(call.filled);
            let known = KnownSecrets::new(sent.map(|own| own.expose().as_str()));
            let memory = Reservation::of(call.context).await;
            return response::read(answer, is_repeatable, &known, &memory).await;
        }
    }
}

impl std::fmt::Debug for HttpCall<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpCall").field("function", &self.function).finish_non_exhaustive()
    }
}
