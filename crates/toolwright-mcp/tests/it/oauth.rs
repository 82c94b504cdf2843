//! Logins for an MCP server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use toolwright_mcp::client::{
    Authorization, LoginFuture, LoginHandler, RegisteredClient, ServerUrl,
};
use toolwright_mcp::{Client, ClientError};
use toolwright_transport::oauth::{
    Challenge, EncryptedTokens, MemoryTokens, OAuthError, PendingLogin, TokenKey, TokenStore,
};

use toolwright_testing::authorization_server::{AuthorizationServer, MACHINE, SECRET};
use toolwright_testing::authorization_server::{browse, http};

/// A user who agrees to every login.
#[derive(Default)]
struct User(AtomicUsize);

impl LoginHandler for User {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    fn log_in<'l>(&'l self, login: &'l PendingLogin) -> LoginFuture<'l> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(browse(login.url()).await) })
    }
}

fn access(server: &AuthorizationServer, store: Arc<dyn TokenStore>) -> Authorization {
    Authorization::new(&server.resource().parse().unwrap(), &http(), store, "server")
}

fn client(server: &AuthorizationServer, authorization: Authorization) -> Client {
    let url = server.resource().parse().unwrap();
    Client::new("server", ServerUrl::new(url, http()).with_authorization(authorization))
}

#[tokio::test]
async fn requests_that_need_a_login_share_one_and_later_one_refresh() {
    let server = AuthorizationServer::start().await;
    let user = Arc::new(User::default());
    let store: Arc<dyn TokenStore> = Arc::new(MemoryTokens::new());
    let authorization = access(&server, store.clone()).with_handler(user.clone());
    let client = client(&server, authorization);
    let listed = join_all((0..20).map(|_| client.list_tools())).await;
    assert!(listed.iter().all(|tools| tools.as_ref().is_ok_and(|tools| tools.len() == 1)));
    assert_eq!((user.0.load(Ordering::SeqCst), server.clients()), (1, 1));
    server.expire_all();
    let listed = join_all((0..20).map(|_| client.list_tools())).await;
    assert!(listed.iter().all(Result::is_ok), "{listed:?}");
    assert_eq!((user.0.load(Ordering::SeqCst), server.refreshes()), (1, 1));
    // A login that has ended is asked for again, by the same client.
    server.revoke_all();
    client.list_tools().await.unwrap();
    assert_eq!((user.0.load(Ordering::SeqCst), server.clients()), (2, 1));
}

#[tokio::test]
async fn a_stored_login_is_used_and_renewed_by_another_process() {
    let server = AuthorizationServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let key = TokenKey::open(folder.path().join("key")).unwrap();
        let tokens = EncryptedTokens::open(folder.path().join("tokens"), key).unwrap();
        Arc::new(tokens) as Arc<dyn TokenStore>
    };
    let headless = client(&server, access(&server, open()));
    let refused = headless.list_tools().await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { .. }), "{refused}");
    assert!(refused.to_string().contains("toolwright mcp login server"), "{refused}");
    let logs_in = access(&server, open()).with_handler(Arc::new(User::default()));
    logs_in.log_in(&Challenge::default()).await.unwrap();

    let headless = client(&server, access(&server, open()));
    headless.list_tools().await.unwrap();
    server.expire_all();
    headless.list_tools().await.unwrap();
    assert_eq!(server.refreshes(), 1);
    // The user logs in again, which registers another client.
    server.revoke_all();
    assert!(headless.list_tools().await.is_err());
    logs_in.log_out().await.unwrap();
    let again = access(&server, open()).with_handler(Arc::new(User::default()));
    again.log_in(&Challenge::default()).await.unwrap();
    headless.list_tools().await.unwrap();

    // The tokens are for this server alone, and a configured client does not use those of another one.
    let elsewhere = server.url("/other").parse().unwrap();
    let other = Authorization::new(&elsewhere, &http(), open(), "server");
    assert!(other.token().await.unwrap().is_none());
    let configured = access(&server, open()).with_client(RegisteredClient::new("another"));
    assert!(configured.token().await.unwrap().is_none());
}

#[tokio::test]
async fn an_expired_login_that_cannot_be_refreshed_is_renewed_by_a_login() {
    let server = AuthorizationServer::start().await;
    let user = Arc::new(User::default());
    let store: Arc<dyn TokenStore> = Arc::new(MemoryTokens::new());
    let logs_in = || access(&server, store.clone()).with_handler(user.clone());
    server.issue_expired(true);
    logs_in().log_in(&Challenge::default()).await.unwrap();
    server.revoke_all();
    server.issue_expired(false);
    client(&server, logs_in()).list_tools().await.unwrap();
    assert_eq!(user.0.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_stored_login_at_another_issuer_is_not_used() {
    let server = AuthorizationServer::start().await;
    let store: Arc<dyn TokenStore> = Arc::new(MemoryTokens::new());
    let logs_in = access(&server, store.clone()).with_handler(Arc::new(User::default()));
    logs_in.log_in(&Challenge::default()).await.unwrap();
    for (issuer, is_used) in [(server.issuer(), true), ("https://other.test".to_owned(), false)] {
        let registered = RegisteredClient::new("client 0").with_issuer(issuer);
        let configured = access(&server, store.clone()).with_client(registered);
        assert_eq!(configured.token().await.unwrap().is_some(), is_used);
    }
}

#[tokio::test]
async fn concurrent_first_uses_of_a_stored_login_refresh_it_once() {
    let server = AuthorizationServer::start().await;
    let folder = tempfile::tempdir().unwrap();
    let key = TokenKey::open(folder.path().join("key")).unwrap();
    let store = Arc::new(EncryptedTokens::open(folder.path().join("tokens"), key).unwrap());
    server.issue_expired(true);
    let logs_in = access(&server, store.clone()).with_handler(Arc::new(User::default()));
    logs_in.log_in(&Challenge::default()).await.unwrap();
    server.issue_expired(false);
    let restored = access(&server, store);
    let tokens = join_all((0..20).map(|_| restored.token())).await;
    assert!(tokens.iter().all(|token| matches!(token, Ok(Some(_)))), "{tokens:?}");
    assert_eq!(server.refreshes(), 1);
}

#[tokio::test]
async fn a_client_gets_tokens_for_itself_without_a_user() {
    let server = AuthorizationServer::start().await;
    let machine = RegisteredClient::new(MACHINE).with_secret(SECRET.into());
    let store = || Arc::new(MemoryTokens::new());
    let own = machine.clone().with_issuer(server.issuer()).with_client_credentials();
    let client = client(&server, access(&server, store()).with_client(own));
    client.list_tools().await.unwrap();
    server.expire_all();
    client.list_tools().await.unwrap();
    // The secret is sent to no other authorization server.
    let other = machine.with_issuer("https://other.test").with_client_credentials();
    let authorization = access(&server, store()).with_client(other);
    let error = authorization.log_in(&Challenge::default()).await.unwrap_err();
    assert!(matches!(error, OAuthError::InvalidAnswer { .. }), "{error}");
}
