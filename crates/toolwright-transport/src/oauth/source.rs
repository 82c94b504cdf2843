//! Hands out access tokens, and refreshes each of them once.
//!
//! | token | [`TokenSource::token`] |
//! |---|---|
//! | valid | returns it |
//! | about to expire | returns it, and starts a refresh in the background |
//! | expired, rejected or absent | waits for the one refresh that runs |
//! | the last refresh failed a moment ago | returns its error |
//!
//! A refresh runs in a task of its own: a caller that stops waiting does not interrupt it, since the server may
//! have rotated the refresh token already.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::client::OAuthClient;
use super::error::OAuthError;
use super::store::{TokenStore, TokenStoreError};
use super::token::Token;

/// A token is refreshed this long before it expires, if its lifetime is longer than ten times that.
const EARLY: Duration = Duration::from_mins(1);
/// How long the error of a refresh is returned without another attempt.
const COOLDOWN: Duration = Duration::from_secs(5);

type Refreshed = Result<Arc<Token>, OAuthError>;
type Refresh = Shared<BoxFuture<'static, Refreshed>>;

/// A source of access tokens for one resource. Clones share the token.
#[derive(Clone)]
pub struct TokenSource(Arc<Inner>);

struct Inner {
    client: OAuthClient,
    grant: Grant,
    store: Arc<dyn TokenStore>,
    /// The name of the token in the store
    name: String,
    state: Mutex<State>,
    /// Held while the store is changed, so that a refresh does not undo a login or a logout
    storing: tokio::sync::Mutex<()>,
}

/// How a token is had without a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// By a login of the user
    AuthorizationCode,
    /// By the credentials of the client
    ClientCredentials,
}

#[derive(Default)]
struct State {
    token: Option<Arc<Token>>,
    /// Whether the resource rejected the token
    is_rejected: bool,
    refresh: Option<Refresh>,
    failure: Option<(OAuthError, Instant)>,
    /// When a token was last rejected
    rejected: Option<Instant>,
    /// Changes with every login, so that a refresh of an earlier token has no effect
    login: u64,
    store_failure: Option<TokenStoreError>,
}

impl TokenSource {
    /// Creates a source of tokens that a user logs in for. The name identifies the token in the store: the user
    /// and the resource.
    pub fn for_user(
        client: OAuthClient,
        store: Arc<dyn TokenStore>,
        name: impl Into<String>,
    ) -> TokenSource {
        TokenSource::new(client, Grant::AuthorizationCode, store, name.into())
    }

    /// Creates a source of tokens of the client itself.
    pub fn for_client(
        client: OAuthClient,
        store: Arc<dyn TokenStore>,
        name: impl Into<String>,
    ) -> TokenSource {
        TokenSource::new(client, Grant::ClientCredentials, store, name.into())
    }

    fn new(
        client: OAuthClient,
        grant: Grant,
        store: Arc<dyn TokenStore>,
        name: String,
    ) -> TokenSource {
        let (state, storing) = (Mutex::default(), tokio::sync::Mutex::default());
        TokenSource(Arc::new(Inner { client, grant, store, name, state, storing }))
    }

    /// Returns a token that is valid now.
    pub async fn token(&self) -> Result<Arc<Token>, OAuthError> {
        let refresh = {
            let mut state = self.0.state.lock();
            let now = SystemTime::now();
            let token =
                state.token.clone().filter(|token| !state.is_rejected && !token.is_expired(now));
            let has_failed = state.failure.as_ref().is_some_and(|(_, at)| at.elapsed() < COOLDOWN);
            match token {
                Some(token) => {
                    if token.is_expiring(now, EARLY) && !has_failed && self.0.can_renew(&token) {
                        drop(self.0.start(&mut state));
                    }
                    return Ok(token);
                }
                None => match &state.failure {
                    Some((error, _)) if has_failed => return Err(error.clone()),
                    _ => self.0.start(&mut state),
                },
            }
        };
        refresh.await
    }

    /// Reports that the resource rejected a token before it expired, as when the server has changed its keys. The
    /// next call of [`token`](Self::token) refreshes it, unless that has happened already. A resource that rejects
    /// every token causes one refresh in five seconds.
    pub fn reject(&self, token: &Token) {
        let mut state = self.0.state.lock();
        let current = state.token.as_ref();
        let is_current = current.is_some_and(|own| own.access.expose() == token.access.expose());
        if is_current && state.rejected.is_none_or(|at| at.elapsed() >= COOLDOWN) {
            state.is_rejected = true;
            state.rejected = Some(Instant::now());
        }
    }

    /// Stores the token of a new login.
    pub async fn set(&self, token: Token) -> Result<(), OAuthError> {
        let _storing = self.0.storing.lock().await;
        let saved = self.0.store.save(&self.0.name, &token).await;
        let mut state = self.0.state.lock();
        *state = state.after_login(Some(Arc::new(token)));
        state.store_failure = saved.clone().err();
        saved.map_err(OAuthError::Store)
    }

    /// Removes the token, so that the user must log in again.
    pub async fn clear(&self) -> Result<(), OAuthError> {
        let _storing = self.0.storing.lock().await;
        let removed = self.0.store.remove(&self.0.name).await;
        let mut state = self.0.state.lock();
        *state = state.after_login(None);
        removed.map_err(OAuthError::Store)
    }

    /// Why the current token could not be stored, if so. It is used nevertheless, until the process ends.
    pub fn store_failure(&self) -> Option<TokenStoreError> {
        self.0.state.lock().store_failure.clone()
    }
}

impl Inner {
    /// Whether a token can be replaced without a login.
    fn can_renew(&self, token: &Token) -> bool {
        token.can_refresh() || self.grant == Grant::ClientCredentials
    }

    /// Starts the refresh, or joins the one that runs.
    fn start(self: &Arc<Inner>, state: &mut State) -> Refresh {
        // One that has ended and is still here was interrupted.
        if let Some(refresh) = state.refresh.as_ref().filter(|refresh| refresh.peek().is_none()) {
            return refresh.clone();
        }
        let inner = Arc::clone(self);
        let task = tokio::spawn(async move { inner.run().await });
        let refresh = task.map(|joined| joined.unwrap_or(Err(OAuthError::Interrupted)));
        let refresh = refresh.boxed().shared();
        state.refresh = Some(refresh.clone());
        refresh
    }

    async fn run(&self) -> Refreshed {
        let login = self.state.lock().login;
        let result = self.obtain(login).await;
        let mut state = self.state.lock();
        if state.login != login {
            return result;
        }
        state.refresh = None;
        match &result {
            Ok(token) => {
                state.token = Some(Arc::clone(token));
                state.is_rejected = false;
                state.failure = None;
            }
            Err(error) => state.failure = Some((error.clone(), Instant::now())),
        }
        result
    }

    async fn obtain(&self, login: u64) -> Refreshed {
        let has_token = || self.state.lock().token.is_some();
        let stored = match self.store.load(&self.name).await {
            Ok(stored) => stored,
            // A token in memory is as good, and one of the client is replaced.
            Err(_) if self.grant == Grant::ClientCredentials || has_token() => None,
            Err(error) => return Err(error.into()),
        };
        let (latest, failure) = {
            let mut state = self.state.lock();
            if state.login != login {
                return Err(OAuthError::Interrupted);
            }
            // From another process, or from before a restart.
            if let Some(stored) = stored.filter(|stored| state.is_older_than(stored)) {
                let is_valid = !stored.is_expiring(SystemTime::now(), EARLY);
                let stored = Arc::new(stored);
                *state = State {
                    token: Some(Arc::clone(&stored)),
                    refresh: state.refresh.take(),
                    login,
                    ..State::default()
                };
                if is_valid {
                    return Ok(stored);
                }
            }
            (state.token.clone(), state.failure.clone().map(|(error, _)| error))
        };
        let token = match (self.grant, latest.filter(|token| token.can_refresh()), failure) {
            (Grant::ClientCredentials, ..) => self.client.client_credentials().await?,
            // The server would refuse the same refresh token again. Other refusals may pass.
            (_, Some(_), Some(error)) if error.is_invalid_grant() => {
                return Err(error);
            }
            (_, Some(token), _) => self.client.refresh(&token).await?,
            (_, None, _) => {
                let issuer = self.client.issuer().to_owned();
                return Err(OAuthError::LoginRequired { issuer });
            }
        };
        let _storing = self.storing.lock().await;
        if self.state.lock().login == login {
            let saved = self.store.save(&self.name, &token).await;
            self.state.lock().store_failure = saved.err();
        }
        Ok(Arc::new(token))
    }
}

impl State {
    /// The state after a login, or after the token was removed.
    fn after_login(&self, token: Option<Arc<Token>>) -> State {
        State { token, login: self.login + 1, ..State::default() }
    }

    fn is_older_than(&self, stored: &Token) -> bool {
        self.token.as_ref().is_none_or(|own| {
            own.access.expose() != stored.access.expose() && own.obtained < stored.obtained
        })
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenSource").field("name", &self.0.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpClient;
    use crate::oauth::{MemoryTokens, ServerMetadata};

    fn source(server: ServerMetadata) -> TokenSource {
        let client = OAuthClient::new(&HttpClient::new("the server").unwrap(), server, "me");
        TokenSource::for_user(client, Arc::new(MemoryTokens::new()), "name")
    }

    /// A source whose refreshes fail, because nothing listens at the token endpoint.
    fn unreachable() -> TokenSource {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        source(ServerMetadata::new("http://127.0.0.1", url))
    }

    /// A token that is valid for some time.
    fn token(left: Duration) -> Token {
        let now = SystemTime::now();
        Token {
            access: "access".into(),
            refresh: Some("refresh".into()),
            obtained: now - Duration::from_hours(1),
            expires: now + left,
            scope: None,
            client: None,
        }
    }

    #[tokio::test]
    async fn only_a_revoked_refresh_token_is_not_tried_again() {
        for (code, is_tried) in [("invalid_grant", false), ("status 403", true)] {
            let source = unreachable();
            source.set(token(Duration::ZERO)).await.unwrap();
            let (url, code) = (String::new(), code.to_owned());
            let error = OAuthError::Refused { url, code, description: None, hint: "" };
            source.0.state.lock().failure = Some((error, Instant::now() - COOLDOWN));
            let error = source.token().await.unwrap_err();
            assert_eq!(matches!(error, OAuthError::Unreachable { .. }), is_tried, "{error}");
        }
    }

    #[tokio::test]
    async fn a_token_that_is_about_to_expire_is_used_while_it_is_refreshed() {
        let source = unreachable();
        source.set(token(Duration::from_mins(10))).await.unwrap();
        source.token().await.unwrap();
        assert!(source.0.state.lock().refresh.is_none());
        source.set(token(Duration::from_secs(30))).await.unwrap();
        assert_eq!(source.token().await.unwrap().access().expose(), "access");
        let refresh = source.0.state.lock().refresh.clone().expect("a refresh runs");
        assert!(refresh.await.is_err());
        // Its failure costs nothing while the token is valid, and is not repeated by each call.
        assert_eq!(source.token().await.unwrap().access().expose(), "access");
        assert!(source.0.state.lock().refresh.is_none());
    }
}
