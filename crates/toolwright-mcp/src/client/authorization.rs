//! Access to a server that wants tokens: finds its authorization server, identifies the client there, and gets tokens.
//!
//! ```text
//! 401 → metadata of the server → metadata of its authorization server → client → login → token
//! ```
//!
//! | the server refuses a request | then |
//! |---|---|
//! | 401, and the token can be renewed | it is renewed once, however many requests wait |
//! | 401 otherwise, or 403 that names further scopes | the user logs in, if there is a [`LoginHandler`] |
//! | again, or without a handler | the request fails, and the error names the challenge |

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use http::{StatusCode, Uri};
use parking_lot::Mutex;
use tokio::time::Instant;
use toolwright_transport::HttpClient;
use toolwright_transport::oauth::{
    Challenge, ClientAuthentication, MemoryTokens, OAuthClient, OAuthError, PendingLogin,
    ResourceMetadata, ServerMetadata, Token, TokenSource, TokenStore, registration,
};
use toolwright_transport::secret::SecretString;

/// The name that clients are registered with.
const CLIENT_NAME: &str = "Toolwright";

/// How long requests are sent without a token after there was none.
const ABSENCE: Duration = Duration::from_secs(1);

/// The scope that some servers want for refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

/// The URL that the browser was sent to after a login.
pub type LoginFuture<'l> = Pin<Box<dyn Future<Output = Result<String, OAuthError>> + Send + 'l>>;

/// Sends users to their logins.
pub trait LoginHandler: Send + Sync + 'static {
    /// The URI that the authorization server sends the browser to after the login.
    fn redirect_uri(&self) -> String;

    /// Sends the user to the [URL](PendingLogin::url) of a login, and returns the URL that the browser was sent to
    /// in the end.
    fn log_in<'l>(&'l self, login: &'l PendingLogin) -> LoginFuture<'l>;
}

/// A client that was registered with an authorization server beforehand.
#[must_use]
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    id: String,
    secret: Option<SecretString>,
    issuer: Option<String>,
    is_own_user: bool,
}

impl RegisteredClient {
    /// Creates a public client.
    pub fn new(id: impl Into<String>) -> RegisteredClient {
        RegisteredClient { id: id.into(), secret: None, issuer: None, is_own_user: false }
    }

    /// Sets its secret.
    pub fn with_secret(mut self, secret: SecretString) -> RegisteredClient {
        self.secret = Some(secret);
        self
    }

    /// Sets the authorization server that it was registered with. No other one learns its id and its secret.
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> RegisteredClient {
        self.issuer = Some(issuer.into());
        self
    }

    /// Gets tokens for the client itself, by its secret, in place of tokens of a user who logs in.
    pub fn with_client_credentials(mut self) -> RegisteredClient {
        self.is_own_user = true;
        self
    }
}

/// Gets the access tokens for one server. Clones share the tokens.
#[must_use]
#[derive(Clone)]
pub struct Authorization {
    url: String,
    http: HttpClient,
    store: Arc<dyn TokenStore>,
    name: Arc<str>,
    client: Option<RegisteredClient>,
    metadata_url: Option<String>,
    scopes: Vec<String>,
    handler: Option<Arc<dyn LoginHandler>>,
    source: Arc<Mutex<Option<Source>>>,
    /// Until when requests are sent without a token
    absent_until: Arc<Mutex<Option<Instant>>>,
    /// Held during a login, with the client that was registered last
    login: Arc<tokio::sync::Mutex<Option<Registration>>>,
}

/// A client and its tokens.
#[derive(Clone)]
struct Source {
    client: OAuthClient,
    tokens: TokenSource,
}

struct Registration {
    client: OAuthClient,
    redirect_uri: String,
}

/// What a server and its authorization server say about themselves.
struct Discovered {
    resource: String,
    scopes: Vec<String>,
    server: ServerMetadata,
}

impl Authorization {
    /// Creates the access to the server at a URL. The tokens are kept in a store, where the URL and the name identify
    /// them. The HTTP client reaches authorization servers, which the server names: its address policy decides which
    /// of them, and it must not have headers that are meant for the server.
    pub fn new(
        url: &Uri,
        http: &HttpClient,
        store: Arc<dyn TokenStore>,
        name: &str,
    ) -> Authorization {
        let url = url.to_string();
        Authorization {
            name: format!("{name} {url}").into(),
            url,
            http: http.clone(),
            store,
            client: None,
            metadata_url: None,
            scopes: Vec::new(),
            handler: None,
            source: Arc::default(),
            absent_until: Arc::default(),
            login: Arc::default(),
        }
    }

    /// Sets the client that was registered beforehand.
    pub fn with_client(mut self, client: RegisteredClient) -> Authorization {
        self.client = Some(client);
        self
    }

    /// Sets the URL of the client's metadata, which identifies it at servers that read such documents.
    pub fn with_client_metadata(mut self, url: impl Into<String>) -> Authorization {
        self.metadata_url = Some(url.into());
        self
    }

    /// Asks for these scopes at every login, beside those that the server names.
    pub fn with_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Authorization {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what sends the user to a login when a request needs it.
    pub fn with_handler(mut self, handler: Arc<dyn LoginHandler>) -> Authorization {
        self.handler = Some(handler);
        self
    }

    /// Returns a token that is valid now, or none if a login is necessary.
    pub fn token(&self) -> BoxFuture<'_, Result<Option<Arc<Token>>, OAuthError>> {
        Box::pin(async move {
            let known = self.source.lock().clone();
            let source = match known {
                Some(source) => source,
                None => match self.stored_client().await? {
                    Some(client) => self.use_client(client),
                    None => return Ok(None),
                },
            };
            match source.tokens.token().await {
                Ok(token) => Ok(Some(token)),
                Err(error) if error.needs_login() => match self.stored_client().await? {
                    // The user has logged in again, with another client.
                    Some(client) if !is_same(&client, &source.client) => {
                        self.use_client(client).tokens.token().await.map(Some)
                    }
                    _ => Ok(None),
                },
                Err(error) => Err(error),
            }
        })
    }

    /// Returns a token for a request. If there was none a moment ago, the store is not asked again: most servers want
    /// none, and one that does refuses the request.
    pub(super) async fn token_for_request(&self) -> Result<Option<Arc<Token>>, OAuthError> {
        let is_absent = self.absent_until.lock().is_some_and(|until| Instant::now() < until);
        if is_absent && self.source.lock().is_none() {
            return Ok(None);
        }
        let token = self.token().await?;
        *self.absent_until.lock() = token.is_none().then(|| Instant::now() + ABSENCE);
        Ok(token)
    }

    /// Logs the user in, or the client itself, and stores the token. An earlier token is replaced.
    pub async fn log_in(&self, challenge: &Challenge) -> Result<(), OAuthError> {
        let mut registration = self.login.lock().await;
        self.obtain(challenge, &mut registration).await
    }

    /// Removes the tokens.
    pub async fn log_out(&self) -> Result<(), OAuthError> {
        let known = self.source.lock().take();
        match known {
            Some(source) => source.tokens.clear().await,
            None => self.store.remove(&self.name).await.map_err(OAuthError::Store),
        }
    }

    /// Gets a token after the server has refused a request. Returns whether there is one that it has not refused. A
    /// caller that stops waiting does not interrupt a login.
    pub(super) async fn renew(
        &self,
        status: StatusCode,
        challenge: Challenge,
        refused: Option<Arc<Token>>,
    ) -> Result<bool, OAuthError> {
        let own = self.clone();
        let task = async move { own.renew_once(status, &challenge, refused.as_deref()).await };
        tokio::spawn(task).await.unwrap_or(Err(OAuthError::Interrupted))
    }

    async fn renew_once(
        &self,
        status: StatusCode,
        challenge: &Challenge,
        refused: Option<&Token>,
    ) -> Result<bool, OAuthError> {
        if let (StatusCode::UNAUTHORIZED, Some(token), Some(source)) =
            (status, refused, &*self.source.lock())
        {
            source.tokens.reject(token);
        }
        *self.absent_until.lock() = None;
        let mut registration = self.login.lock().await;
        let current = self.token().await?;
        let is_other = |token: &Token| {
            refused.is_none_or(|refused| refused.access().expose() != token.access().expose())
        };
        if current.as_deref().is_some_and(is_other) {
            return Ok(true);
        }
        let is_stored = self
            .source
            .lock()
            .as_ref()
            .is_none_or(|source| source.tokens.store_failure().is_none());
        // The user may have logged in meanwhile.
        let is_valid = |own: &Token| is_other(own) && own.expires() > SystemTime::now();
        let is_newer =
            is_stored && self.store.load(&self.name).await?.as_ref().is_some_and(is_valid);
        if is_newer && let Some(client) = self.stored_client().await? {
            self.keep(client);
            return Ok(true);
        }
        let can_log_in =
            self.handler.is_some() || self.client.as_ref().is_some_and(|own| own.is_own_user);
        if !can_log_in || (status == StatusCode::FORBIDDEN && self.has_asked_for(challenge)) {
            return Ok(false);
        }
        self.obtain(challenge, &mut registration).await?;
        Ok(true)
    }

    /// Whether the last login asked for the scopes of a challenge, so that another one would not help.
    fn has_asked_for(&self, challenge: &Challenge) -> bool {
        let source = self.source.lock();
        let asked = source.as_ref().map(|source| source.client.scopes()).unwrap_or_default();
        challenge.scopes.iter().all(|scope| asked.contains(scope))
    }

    /// Finds the client of an earlier login.
    async fn stored_client(&self) -> Result<Option<OAuthClient>, OAuthError> {
        let stored = self.store.load(&self.name).await?;
        let client = stored.and_then(|token| OAuthClient::of_token(&self.http, &token));
        let Some(mut client) = client else { return Ok(None) };
        if let Some(own) = &self.client {
            let is_elsewhere = own.issuer.as_ref().is_some_and(|own| own != client.issuer());
            if own.id != client.id() || is_elsewhere {
                return Ok(None);
            }
            client = client.with_secret(own.secret.clone());
        }
        Ok(Some(client))
    }

    /// Makes a client the current one, unless it is that already: concurrent requests share its refreshes.
    fn use_client(&self, client: OAuthClient) -> Source {
        let mut current = self.source.lock();
        match &*current {
            Some(own) if is_same(&own.client, &client) => own.clone(),
            _ => current.insert(self.source(client)).clone(),
        }
    }

    /// Makes a client the current one, with the token that is stored now.
    fn keep(&self, client: OAuthClient) -> Source {
        let source = self.source(client);
        *self.source.lock() = Some(source.clone());
        source
    }

    fn source(&self, client: OAuthClient) -> Source {
        let is_own_user = self.client.as_ref().is_some_and(|own| own.is_own_user);
        let tokens = if is_own_user {
            TokenSource::for_client(client.clone(), Arc::new(MemoryTokens::new()), &*self.name)
        } else {
            TokenSource::for_user(client.clone(), self.store.clone(), &*self.name)
        };
        Source { client, tokens }
    }

    fn obtain<'a>(
        &'a self,
        challenge: &'a Challenge,
        registration: &'a mut Option<Registration>,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        Box::pin(async move {
            let Discovered { resource, scopes, server } = self.discover(challenge).await?;
            let known = self.source.lock().as_ref().map(|source| source.client.clone());
            let earlier = if known.is_some() { known } else { self.stored_client().await? };
            let earlier = earlier.filter(|client| client.issuer() == server.issuer);
            let earlier = earlier.as_ref().map(OAuthClient::scopes).unwrap_or_default();
            let wanted = if challenge.scopes.is_empty() { &scopes } else { &challenge.scopes };
            let scopes = select_scopes(&[&self.scopes, earlier, wanted], &server.scopes_supported);
            let complete = |client: OAuthClient| {
                client.with_resource(resource).with_scopes(scopes).stored_with_tokens()
            };
            if let Some(own) = self.client.as_ref().filter(|own| own.is_own_user) {
                let source = self.keep(complete(self.registered(own, server)?));
                return source.tokens.token().await.map(drop);
            }
            let issuer = server.issuer.clone();
            let Some(handler) = &self.handler else {
                return Err(OAuthError::LoginRequired { issuer });
            };
            let redirect_uri = handler.redirect_uri();
            let client = complete(self.identify(server, &redirect_uri, registration).await?);
            let login = client.authorize(&redirect_uri)?;
            let callback = handler.log_in(&login).await?;
            let token = client.finish(login, &callback).await?;
            self.keep(client).tokens.set(token).await
        })
    }

    /// Finds the authorization server.
    async fn discover(&self, challenge: &Challenge) -> Result<Discovered, OAuthError> {
        let named = challenge.resource_metadata.as_deref();
        let found = match ResourceMetadata::discover_at(&self.http, &self.url, named).await {
            // Servers of 2025-03-26 are their own authorization servers.
            Err(error) if error.is_absent() && named.is_none() => return self.own_server().await,
            found => found?,
        };
        let own = self.client.as_ref().and_then(|own| own.issuer.as_ref());
        let mut issuers = found.authorization_servers.iter();
        let issuer = match own {
            Some(own) => issuers.find(|issuer| issuer == &own),
            None => issuers.next(),
        };
        let issuer = issuer.ok_or_else(|| OAuthError::InvalidAnswer {
            url: self.url.clone(),
            why: match own {
                Some(_) => {
                    "its metadata does not name the authorization server that the client is \
                     registered with"
                }
                None => "its metadata names no authorization server",
            },
        })?;
        let server = ServerMetadata::discover(&self.http, issuer).await?;
        Ok(Discovered { resource: found.resource, scopes: found.scopes_supported, server })
    }

    /// The authorization server at the origin of the server, with metadata or with the default paths.
    async fn own_server(&self) -> Result<Discovered, OAuthError> {
        let path = self
            .url
            .find("://")
            .and_then(|at| self.url[at + 3..].find(['/', '?']).map(|path| at + 3 + path));
        let origin = &self.url[..path.unwrap_or(self.url.len())];
        let server = match ServerMetadata::discover(&self.http, origin).await {
            Err(error) if error.is_absent() => {
                ServerMetadata::new(origin, format!("{origin}/token"))
                    .with_authorization_endpoint(format!("{origin}/authorize"))
                    .with_registration_endpoint(format!("{origin}/register"))
            }
            server => server?,
        };
        Ok(Discovered { resource: self.url.clone(), scopes: Vec::new(), server })
    }

    /// The client that this one is at an authorization server: registered beforehand, known by its metadata, or
    /// registered now.
    async fn identify(
        &self,
        server: ServerMetadata,
        redirect_uri: &str,
        registration: &mut Option<Registration>,
    ) -> Result<OAuthClient, OAuthError> {
        if let Some(own) = &self.client {
            return self.registered(own, server);
        }
        if let Some(url) =
            self.metadata_url.as_ref().filter(|_| server.client_id_metadata_document_supported)
        {
            return Ok(OAuthClient::new(&self.http, server, url));
        }
        let is_same = |known: &&mut Registration| {
            known.client.issuer() == server.issuer && known.redirect_uri == redirect_uri
        };
        if let Some(known) = registration.as_mut().filter(is_same) {
            return Ok(known.client.clone());
        }
        let redirect_uris = [redirect_uri];
        let client =
            registration::register(&self.http, server, CLIENT_NAME, &redirect_uris).await?;
        let redirect_uri = redirect_uri.to_owned();
        *registration = Some(Registration { client: client.clone(), redirect_uri });
        Ok(client)
    }

    fn registered(
        &self,
        own: &RegisteredClient,
        server: ServerMetadata,
    ) -> Result<OAuthClient, OAuthError> {
        if own.issuer.as_ref().is_some_and(|issuer| *issuer != server.issuer) {
            let why = "is not the one that the client is registered with";
            return Err(OAuthError::Unsupported { issuer: server.issuer, why });
        }
        let authentication = match &own.secret {
            Some(secret) => ClientAuthentication::with_secret(secret.clone(), &server),
            None => ClientAuthentication::None,
        };
        Ok(OAuthClient::new(&self.http, server, &own.id).with_authentication(authentication))
    }
}

/// Whether two clients are one, at one authorization server.
fn is_same(one: &OAuthClient, other: &OAuthClient) -> bool {
    one.id() == other.id() && one.issuer() == other.issuer()
}

/// The scopes to ask for: all of these, each once, and that of refresh tokens if the authorization server knows it.
/// Without any, the authorization server decides.
fn select_scopes(wanted: &[&[String]], supported: &[String]) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in wanted.iter().copied().flatten() {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let offline = OFFLINE_ACCESS.to_owned();
    if !scopes.is_empty() && supported.contains(&offline) && !scopes.contains(&offline) {
        scopes.push(offline);
    }
    scopes
}

impl fmt::Debug for Authorization {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Authorization").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_add_up_and_refresh_tokens_are_asked_for_where_they_exist() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (own, earlier, wanted, supported, expected) in [
            ("", "", "read", "", "read"),
            ("", "read", "write read", "read", "read write"),
            ("admin", "read", "read", "read offline_access", "admin read offline_access"),
            ("", "", "", "read offline_access", ""),
        ] {
            let (own, earlier, wanted) = (list(own), list(earlier), list(wanted));
            let scopes = select_scopes(&[&own, &earlier, &wanted], &list(supported));
            assert_eq!(scopes, list(expected));
        }
    }
}
