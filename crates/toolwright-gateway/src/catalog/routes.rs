//! The prefab interface: the functions of prefabs, calls, and files.
//!
//! A client authenticates with its key, or with an internal token that it got for its key. While no keys
//! are configured, a client on this machine needs neither. A client on another machine then needs a token, which
//! is issued on this machine only.

pub mod files;
mod functions;
mod refusal;
mod run;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::uri::Authority;
use http::{HeaderName, header};
use toolwright_catalog::{Access, Visibility};
use toolwright_core::json::Object;
use toolwright_core::{Fault, Json, object, percent};
use toolwright_runtime::Context;
use toolwright_runtime::handle::HandleStore;

use self::files::ClientFiles;
pub(crate) use self::refusal::Refusal;
use self::run::{Calls, Job};
use super::config::CatalogSettings;
use super::{Functions, Prefabs};
use crate::fault;
use crate::http::address::is_loopback;
use crate::http::{HttpRequest, Reply, browser};
use crate::journal::EffectJournal;
use crate::key::{Client, Keys, Limit};
use crate::mcp::CallerTokens;
use crate::proxy::weight::weight_at_most;
use crate::query::Query;
use crate::telemetry::Telemetry;
use crate::tools::Tools;

/// The header with an internal token.
const TOKEN: HeaderName = HeaderName::from_static("x-internal-token");

/// Lifetime of an internal token.
const TOKEN_LIFETIME: Duration = Duration::from_hours(24);

/// An endpoint of the prefab interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefabEndpoint {
    /// Lists the functions of a prefab
    Functions,
    /// Describes a function
    Function,
    /// Exchanges a key for an internal token
    ConvertToken,
    /// Runs calls of functions
    Run,
    /// Runs one call of a function
    Execute,
    /// Files of a client
    Files(files::Action),
    /// Receives the bytes of a file, for a link
    PutContent,
    /// Returns the bytes of a file, for a link
    GetContent,
}

/// What a request of the prefab interface needs of the gateway.
pub(crate) struct CatalogRoutes<'g> {
    pub(crate) prefabs: &'g Prefabs,
    pub(crate) functions: &'g Functions,
    pub(crate) settings: &'g Arc<CatalogSettings>,
    pub(crate) keys: &'g Keys,
    pub(crate) tools: &'g Tools,
    pub(crate) journal: &'g EffectJournal,
    pub(crate) handles: &'g Arc<dyn HandleStore>,
    pub(crate) telemetry: &'g Telemetry,
}

/// Answers a request at an endpoint.
pub(crate) async fn answer<'p>(
    state: CatalogRoutes<'_>,
    endpoint: PrefabEndpoint,
    parameter: impl Fn(&'static str) -> Option<&'p str>,
    request: HttpRequest,
) -> Result<Reply, Refusal> {
    let key = || {
        let segment = |name| parameter(name).unwrap_or_default();
        format!("{}/{}/{}", segment("tenant"), segment("id"), segment("name"))
    };
    match endpoint {
        PrefabEndpoint::Functions | PrefabEndpoint::Function => {
            let access = state.public_access(&request).await;
            let segment = |name| parameter(name).map(percent::decode).unwrap_or_default();
            let (id, query) = (segment("id"), Query::new(request.uri.query()));
            let catalog = state.prefabs.catalog().await?;
            let version = functions::find(catalog, &access, &id, query.get("version")).await?;
            if endpoint == PrefabEndpoint::Functions {
                return Ok(functions::list(&version, &access));
            }
            let settings = state.settings.prefabs.get(&id);
            functions::details(&version, &access, &segment("function"), settings)
        }
        PrefabEndpoint::ConvertToken => state.convert(&request).await,
        PrefabEndpoint::Run | PrefabEndpoint::Execute => {
            let client = match endpoint {
                PrefabEndpoint::Run => state.authenticate(&request).await?,
                _ => authenticate_key(state.keys, &request)?,
            };
            let job = Job::new(&client, &request.headers);
            let context = Context::new()
                .with(CallerTokens::from_headers(&request.headers))
                .with(client.call_rate())
                .with(request.budget.share().plan_memory());
            let body = request.body.read().await?;
            let mut share = request.budget.share();
            share.resize(weight_at_most(&body)).await.map_err(Fault::from)?;
            // The ledger records every call.
            state.telemetry.admit().await?;
            let access = state.tools.access(&client);
            let catalog = state.prefabs.catalog().await?;
            let runner = state.functions.runner().await?;
            let journal = state.journal.of_request(job.is_keyed);
            let toolbox = state.tools.calls().with_journal(journal.clone());
            let toolbox = toolbox.with_handles(Arc::clone(state.handles));
            let (client, runner) = (&*client, &*runner);
            let calls =
                Calls { client, access, catalog, runner, toolbox, context, job, journal, share };
            match parameter("id").map(percent::decode) {
                Some(id) => calls.execute(&id, &body).await,
                None => calls.run(&body).await,
            }
        }
        PrefabEndpoint::Files(action) => {
            let client = state.authenticate(&request).await?;
            admit(&client, 1)?;
            let base = state.base_url(&request)?;
            let files = state.prefabs.files().await?;
            let (tenant, client) = (client.tenant(), client.name());
            ClientFiles { files, tenant, client, base }.answer(action, request).await
        }
        PrefabEndpoint::PutContent => {
            files::put(state.prefabs.files().await?, state.keys, &key(), request).await
        }
        PrefabEndpoint::GetContent => {
            files::get(state.prefabs.files().await?, state.keys, &key(), request).await
        }
    }
}

impl CatalogRoutes<'_> {
    /// Exchanges a key for an internal token.
    async fn convert(&self, request: &HttpRequest) -> Result<Reply, Refusal> {
        if !request.headers.contains_key(header::AUTHORIZATION) {
            let message =
                "No API key was sent. Send a key of this gateway as `Authorization: Bearer`.";
            return Err(Refusal::unauthenticated(message));
        }
        let client = authenticate_key(self.keys, request)?;
        admit(&client, 1)?;
        let key = self.prefabs.signing_key().await?;
        let expires = now_seconds() + TOKEN_LIFETIME.as_secs();
        let token = self.keys.issue_token(&client, key, expires);
        Ok(fault::document(&Json::Object(object! {
            "internal_token": token,
            "expires_in": TOKEN_LIFETIME.as_secs(),
        })))
    }

    /// Finds the client of a request by its internal token, or by its key.
    async fn authenticate(&self, request: &HttpRequest) -> Result<Arc<Client>, Refusal> {
        let token = request.headers.get(TOKEN);
        if self.keys.is_open() && (token.is_none() || is_loopback(request.peer)) {
            return authenticate_key(self.keys, request);
        }
        let Some(token) = token else {
            let authenticated = self.keys.authenticate(&request.headers, &request.uri);
            let client = authenticated
                .map(|key| key.client)
                .inspect(|client| request.set_client(client.name()));
            return client.map_err(|_| Refusal::unauthenticated(NO_TOKEN));
        };
        let key = self.prefabs.signing_key().await?;
        let client = token.to_str().ok();
        let client = client.and_then(|token| self.keys.redeem_token(token, key, now_seconds()));
        client.inspect(|client| request.set_client(client.name())).ok_or_else(|| {
            let message = "The internal token is invalid or has expired. Exchange your key for a new one \
                           at POST /v1/auth/convert_to_internal_token.";
            Refusal::unauthenticated(message)
        })
    }

    /// What a client without a key may see: public prefabs. A client with a key or token sees what it may call.
    async fn public_access(&self, request: &HttpRequest) -> Access {
        if !self.keys.is_open()
            && let Ok(client) = self.authenticate(request).await
        {
            return self.tools.access(&client);
        }
        let usual = if self.keys.is_open() { Visibility::Public } else { Visibility::Private };
        let (catalog, unstated) = (Arc::clone(self.settings), self.settings.visibility);
        let access = Access::public(unstated.unwrap_or(usual));
        access
            .with_visibility(move |id| catalog.prefabs.get(id).and_then(|prefab| prefab.visibility))
    }

    /// The address that links begin with: the configured one, or the one that the client uses.
    fn base_url(&self, request: &HttpRequest) -> Result<String, Refusal> {
        if let Some(url) = &self.settings.public_url {
            return Ok(url.clone());
        }
        let host = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = request.uri.authority().map(Authority::as_str).or(host);
        let authority = host.and_then(|host| host.parse::<Authority>().ok());
        let authority =
            authority.ok_or_else(|| Refusal::invalid("The header `host` is invalid."))?;
        let scheme = if request.secure { "https" } else { "http" };
        Ok(format!("{scheme}://{authority}"))
    }
}

/// Counts a number of requests against the client's rate: all of them or none.
fn admit(client: &Client, count: u64) -> Result<(), Refusal> {
    let Err(full) = client.try_admit(count, Instant::now()) else { return Ok(()) };
    let (rate, kind) = match full.limit {
        Limit::Requests(rate) => (rate.get(), "requests_per_minute"),
        Limit::Tokens(rate) => (rate.get(), "tokens_per_minute"),
        Limit::Calls(rate) => (rate.get(), "calls_per_minute"),
    };
    if count > rate && kind == "requests_per_minute" {
        let message = format!(
            "The request has {count} calls, and the key `{}` has {rate} requests per minute. Send fewer calls \
             in one request.",
            client.name()
        );
        return Err(Refusal::quota(&message, kind, rate, 0));
    }
    let limited = client.limited(full);
    let quota = Refusal::quota(&limited.message, kind, rate, rate);
    Err(quota.with_retry_after(limited.retry_after_ms))
}

/// Finds the client of a request by its key.
fn authenticate_key(keys: &Keys, request: &HttpRequest) -> Result<Arc<Client>, Refusal> {
    if keys.is_open() && !is_loopback(request.peer) {
        return Err(Refusal::unauthenticated(NO_KEYS));
    }
    let authenticated = keys.authenticate(&request.headers, &request.uri)?;
    request.set_client(authenticated.client.name());
    if authenticated.carrier.is_none() {
        browser::check_origin(&request.headers)?;
    }
    Ok(authenticated.client)
}

/// The message for a request without a token.
const NO_TOKEN: &str = "No internal token was sent. Exchange your key for one at POST \
    /v1/auth/convert_to_internal_token, and send it as `X-Internal-Token`.";

/// The message for a request from another machine while no keys are configured.
const NO_KEYS: &str = "This gateway has no keys, so only clients on its own machine may do this without an \
    internal token. Configure a key, or send a token that was issued there as `X-Internal-Token`.";

/// Parses a body that must be a JSON object.
fn json_object(body: &[u8]) -> Result<Object, Refusal> {
    match Json::parse_bytes(body) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::invalid("The body must be a JSON object.")),
        Err(error) => Err(Refusal::invalid(format!("The body is not valid JSON: {error}"))),
    }
}

/// Returns the text of a member, if it is present and not null.
fn text<'o>(object: &'o Object, name: &str) -> Result<Option<&'o str>, Refusal> {
    match object.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(Refusal::invalid(format!("`{name}` must be a text."))),
    }
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
