//! Calls of MCP servers with tokens of the callers: a connection for each, and never the token of another one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, Uri};
use parking_lot::Mutex;
use toolwright_mcp::client::{Authorization, ServerUrl};
use toolwright_mcp::{Client, ClientSelector, SelectFuture};
use toolwright_runtime::bounded::BoundedMap;
use toolwright_runtime::{Session, ToolError};
use toolwright_transport::oauth::TokenStore;
use toolwright_transport::secret::SecretString;
use toolwright_transport::{HttpClient, TransportError};

use super::config::{McpLogin, McpPlace};
use super::{authorization, http};

/// What the headers begin with that carry tokens; the name of the server follows.
const HEADER_PREFIX: &str = "toolwright-mcp-token-";

/// Maximum number of connections to a server.
const MAX_CLIENTS: usize = 256;

/// How long a connection without calls is kept.
const IDLE: Duration = Duration::from_mins(10);

/// The tokens that a caller sent for MCP servers. In the context of its calls.
#[derive(Default)]
pub struct CallerTokens(BTreeMap<String, SecretString>);

impl CallerTokens {
    /// Reads the tokens of a request.
    pub fn from_headers(headers: &HeaderMap) -> CallerTokens {
        let tokens = headers.iter().filter_map(|(header, value)| {
            let server = header.as_str().strip_prefix(HEADER_PREFIX)?;
            Some((server.to_owned(), SecretString::from(value.to_str().ok()?.trim())))
        });
        CallerTokens(tokens.filter(|(_, token)| !token.expose().is_empty()).collect())
    }
}

/// The clients of one server, one for each caller.
pub(super) struct CallerClients {
    name: String,
    url: Uri,
    http: HttpClient,
    login: McpLogin,
    tokens: Arc<dyn TokenStore>,
    clients: Mutex<BoundedMap<blake3::Hash, CallerClient, Instant>>,
}

#[derive(Clone)]
struct CallerClient {
    client: Client,
    /// The stored login of a tenant
    login: Option<Authorization>,
}

impl CallerClients {
    /// Creates them, if the server wants the tokens of callers.
    pub(super) fn new(
        name: &str,
        place: &McpPlace,
        tokens: &Arc<dyn TokenStore>,
    ) -> Result<Option<CallerClients>, TransportError> {
        let McpPlace::Url { url, login, has_caller_tokens: true, .. } = place else {
            return Ok(None);
        };
        Ok(Some(CallerClients {
            name: name.to_owned(),
            url: url.clone(),
            // The gateway's own headers may be credentials, which are for the list of tools only.
            http: http(name, &[])?,
            login: (**login).clone(),
            tokens: tokens.clone(),
            clients: Mutex::default(),
        }))
    }

    async fn find(&self, session: &Session) -> Result<Client, ToolError> {
        let tokens = session.context.lock::<CallerTokens>().ok();
        let token = match tokens {
            Some(tokens) => tokens.read().await.0.get(&self.name.to_ascii_lowercase()).cloned(),
            None => None,
        };
        let found = self.client(session, token.as_ref());
        let failed = |what: String| {
            ToolError::new(format!("the MCP server {} cannot be called: {what}", self.name))
        };
        let CallerClient { client, login } =
            found.map_err(|error: TransportError| failed(error.to_string()))?;
        if let Some(login) = login
            && login.token().await.map_err(|error| failed(error.to_string()))?.is_none()
        {
            return Err(self.missing(session));
        }
        Ok(client)
    }

    fn missing(&self, session: &Session) -> ToolError {
        let (name, tenant) = (&self.name, &session.caller.tenant);
        ToolError::new(format!(
            "the MCP server {name} needs a token of the caller, which the request does not have: send it in the header \
             {HEADER_PREFIX}{}, or log in with: toolwright mcp login {name} --tenant {tenant}",
            name.to_ascii_lowercase()
        ))
    }

    /// Returns the client with a token of the caller, or with the stored one of its tenant.
    fn client(
        &self,
        session: &Session,
        token: Option<&SecretString>,
    ) -> Result<CallerClient, TransportError> {
        let caller = &session.caller;
        let mut hasher = blake3::Hasher::new();
        let sent = token.map_or("", |token| token.expose());
        let owner = if token.is_some() { &*caller.id } else { "" };
        for part in [&*caller.tenant, owner, sent] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let key = hasher.finalize();
        let now = Instant::now();
        let mut clients = self.clients.lock();
        clients.trim(now, MAX_CLIENTS - 1, usize::MAX);
        if let Some(known) = clients.renew(&key, now + IDLE) {
            return Ok(known.clone());
        }
        let url = self.url.clone();
        let (url, login) = if let Some(token) = token {
            let value = format!("Bearer {}", token.expose());
            let http = self.http.clone().with_header("authorization", &value)?;
            (ServerUrl::new(url, http), None)
        } else {
            let (tenant, tokens) = (Some(&*caller.tenant), self.tokens.clone());
            let own = authorization(&self.name, tenant, &url, &self.login, tokens)?;
            let url = ServerUrl::new(url, self.http.clone());
            (url.with_authorization(own.clone()), Some(own))
        };
        let new = CallerClient { client: Client::new(self.name.as_str(), url), login };
        clients.insert(key, new.clone(), 0, now + IDLE);
        Ok(new)
    }
}

impl ClientSelector for CallerClients {
    fn select<'s>(&'s self, session: &'s Session) -> SelectFuture<'s> {
        Box::pin(self.find(session))
    }
}
