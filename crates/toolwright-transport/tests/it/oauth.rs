//! The OAuth client against a strict authorization server.

mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use toolwright_transport::AddressPolicy;
use toolwright_transport::oauth::{
    ClientAuthentication, LoopbackListener, MemoryTokens, OAuthClient, OAuthError,
    ResourceMetadata, ServerMetadata, Token, TokenFuture, TokenSource, TokenStore, registration,
};

use toolwright_testing::authorization_server::{
    AuthorizationServer, MACHINE, SECRET, browse, http,
};
use toolwright_testing::server::{Server, read_request};

/// As many calls as need a token at once.
const CALLS: usize = 50;

/// A client that is registered with a server.
async fn registered(server: &AuthorizationServer, redirect_uri: &str) -> OAuthClient {
    let metadata = ServerMetadata::discover(&http(), &server.issuer()).await.unwrap();
    let registered = registration::register(&http(), metadata, "test", &[redirect_uri]).await;
    registered.unwrap().with_resource(server.resource()).with_scopes(["read", "write"])
}

/// A client and a token of a user.
async fn logged_in(server: &AuthorizationServer) -> (OAuthClient, Token) {
    let redirect_uri = "http://127.0.0.1:1/callback";
    let client = registered(server, redirect_uri).await;
    let login = client.authorize(redirect_uri).unwrap();
    let callback = browse(login.url()).await;
    let token = client.finish(login, &callback).await.unwrap();
    (client, token)
}

fn source(client: OAuthClient) -> TokenSource {
    TokenSource::for_user(client, Arc::new(MemoryTokens::new()), "user at resource")
}

/// Starts calls that need a token at the same time.
fn parallel_calls(source: &TokenSource) -> Vec<JoinHandle<Result<Arc<Token>, OAuthError>>> {
    let call = |source: TokenSource| tokio::spawn(async move { source.token().await });
    (0..CALLS).map(|_| call(source.clone())).collect()
}

#[tokio::test]
async fn a_user_logs_in_through_the_loopback_port() {
    let server = AuthorizationServer::start().await;
    // As a client of a server does that answered 401.
    let challenge =
        format!("Bearer resource_metadata=\"{}\"", server.url("/metadata-of-the-resource"));
    for challenge in [None, Some(challenge.as_str())] {
        let found = ResourceMetadata::discover(&http(), &server.resource(), challenge).await;
        assert_eq!(found.unwrap().authorization_servers, [server.issuer()]);
    }
    let listener = LoopbackListener::bind_port(0).await.unwrap();
    let redirect_uri = listener.redirect_uri();
    let client = registered(&server, &redirect_uri).await;
    let login = client.authorize(&redirect_uri).unwrap();
    let url = login.url().to_owned();
    let browser = tokio::spawn(async move {
        // What comes before the browser is ignored.
        let base = redirect_uri.trim_end_matches("/callback");
        for path in ["/favicon.ico", "/callback?code=x&state=forged", "/callback"] {
            let request = Request::get(format!("{base}{path}")).body(Bytes::new()).unwrap();
            assert_eq!(http().send(request).await.unwrap().status, 404);
        }
        let request = Request::get(browse(&url).await).body(Bytes::new()).unwrap();
        http().send(request).await.unwrap().status
    });
    let callback = listener.wait(&login, Duration::from_mins(1)).await.unwrap();
    assert_eq!(browser.await.unwrap(), 200);
    let token = client.finish(login, &callback).await.unwrap();
    assert!(server.accepts(&token));
    assert_eq!(token.scope(), Some("read"));

    // The server rotates the refresh token, and revokes all tokens if an earlier one is used again.
    let second = client.refresh(&token).await.unwrap();
    assert!(server.accepts(&second));
    let refused = client.refresh(&token).await.unwrap_err();
    assert!(refused.to_string().contains("invalid_grant"), "{refused}");
    assert!(refused.to_string().contains("log in again"), "{refused}");
    assert!(!server.accepts(&second));
}

#[tokio::test]
async fn a_connection_without_a_request_does_not_delay_the_login() {
    let server = AuthorizationServer::start().await;
    let listener = LoopbackListener::bind_port(0).await.unwrap();
    let redirect_uri = listener.redirect_uri();
    let address = redirect_uri.trim_start_matches("http://").trim_end_matches("/callback");
    // As browsers do, which expect to need it.
    let _idle = tokio::net::TcpStream::connect(address).await.unwrap();
    let client = registered(&server, &redirect_uri).await;
    let login = client.authorize(&redirect_uri).unwrap();
    let url = login.url().to_owned();
    let browser = tokio::spawn(async move {
        let request = Request::get(browse(&url).await).body(Bytes::new()).unwrap();
        http().send(request).await.unwrap().status
    });
    // A connection is given up after five seconds.
    let callback = listener.wait(&login, Duration::from_secs(4)).await.unwrap();
    assert_eq!(browser.await.unwrap(), 200);
    assert!(server.accepts(&client.finish(login, &callback).await.unwrap()));
}

#[tokio::test]
async fn a_code_is_for_one_login_and_one_use() {
    let server = AuthorizationServer::start().await;
    let redirect_uri = "http://127.0.0.1:1/callback";
    let client = registered(&server, redirect_uri).await;
    let [first, second] = [(); 2].map(|()| client.authorize(redirect_uri).unwrap());
    let callback = browse(first.url()).await;
    // The callback of one login does not finish another.
    let error = client.finish(second, &callback).await.unwrap_err();
    assert!(error.to_string().contains("the state is not that of this login"), "{error}");
    // The code of one login does not finish another: its challenge differs.
    let third = client.authorize(redirect_uri).unwrap();
    let other = browse(third.url()).await;
    let parameter = |url: &str, name: &str| {
        let query = url.split_once('?').unwrap().1.to_owned();
        let mut pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        pairs.find(|(own, _)| own == name).unwrap().1
    };
    let mixed = callback.replace(&parameter(&callback, "code"), &parameter(&other, "code"));
    let error = client.finish(first, &mixed).await.unwrap_err();
    assert!(error.to_string().contains("invalid_grant"), "{error}");
    // That attempt used the code up.
    let error = client.finish(third, &other).await.unwrap_err();
    assert!(error.to_string().contains("invalid_grant"), "{error}");
}

#[tokio::test]
async fn a_callback_is_checked() {
    let server = AuthorizationServer::start().await;
    let redirect_uri = "http://127.0.0.1:1/callback";
    let client = registered(&server, redirect_uri).await;
    for (change, wanted) in [
        (("iss=", "iss=x"), "answered by another authorization server"),
        (("iss=", "isn="), "answered by another authorization server"),
        (("state=", "state=x"), "the state is not that of this login"),
        (("state=", "state=&state="), "the state is not that of this login"),
        (("code=", "error=access_denied&x="), "access_denied; the user or the server denied"),
        (("code=", "error=x%0Ay&error_description=a%07b&x="), "xy (ab); check"),
        (("code=", "x="), "the callback has no code"),
    ] {
        let login = client.authorize(redirect_uri).unwrap();
        let callback = browse(login.url()).await.replacen(change.0, change.1, 1);
        let error = client.finish(login, &callback).await.unwrap_err().to_string();
        assert!(error.contains(wanted), "{change:?}: {error}");
    }
    // The query alone, as a user may paste it.
    let login = client.authorize(redirect_uri).unwrap();
    let callback = browse(login.url()).await;
    let pasted = format!(" {}\n", callback.split_once('?').unwrap().1);
    client.finish(login, &pasted).await.unwrap();
}

#[tokio::test]
async fn a_server_without_pkce_is_refused() {
    let mut metadata = ServerMetadata::new("https://auth.test", "https://auth.test/token")
        .with_authorization_endpoint("https://auth.test/authorize");
    metadata.code_challenge_methods_supported = vec!["plain".to_owned()];
    let login =
        |metadata| OAuthClient::new(&http(), metadata, "me").authorize("http://127.0.0.1:1/");
    assert!(login(metadata.clone()).unwrap_err().to_string().contains("PKCE with S256"));
    assert!(login(metadata.clone().with_s256()).is_ok());
    metadata.authorization_endpoint = Some("http://auth.test/authorize".to_owned());
    let error = login(metadata.with_s256()).unwrap_err().to_string();
    assert!(error.contains("https only"), "{error}");
}

#[tokio::test]
async fn parallel_calls_refresh_once() {
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    let source = source(client);
    source.set(token.clone()).await.unwrap();
    let calls = (0..CALLS).map(|_| {
        let source = source.clone();
        tokio::spawn(async move {
            let token = source.token().await.unwrap();
            // The resource has rejected it.
            source.reject(&token);
            source.token().await.unwrap()
        })
    });
    let tokens: Vec<_> = calls.collect();
    for call in tokens {
        let token = call.await.unwrap();
        assert!(server.accepts(&token));
    }
    assert_eq!(server.refreshes(), 1);
    assert!(!server.accepts(&token));
}

#[tokio::test]
async fn a_cancelled_call_does_not_interrupt_the_refresh() {
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    let source = source(client);
    source.set(token.clone()).await.unwrap();
    source.reject(&token);
    let hold = server.hold();
    let calls = parallel_calls(&source);
    server.wait_for_refreshes(1).await;
    // The first one, which started the refresh, among them.
    for call in &calls[..CALLS / 2] {
        call.abort();
    }
    drop(hold);
    for (number, call) in calls.into_iter().enumerate() {
        match call.await {
            Ok(token) => assert!(server.accepts(&token.unwrap())),
            Err(error) => assert!(error.is_cancelled() && number < CALLS / 2),
        }
    }
    assert_eq!(server.refreshes(), 1);
    assert!(server.accepts(&source.token().await.unwrap()));
}

#[tokio::test]
async fn a_failed_refresh_is_shared_and_not_repeated() {
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    let source = source(client);
    source.set(token.clone()).await.unwrap();
    source.reject(&token);
    server.revoke_all();
    let calls = parallel_calls(&source);
    for call in calls {
        let error = call.await.unwrap().unwrap_err();
        assert!(error.to_string().contains("invalid_grant"), "{error}");
    }
    source.token().await.unwrap_err();
    assert_eq!(server.refreshes(), 1);
    // A new login helps.
    let (_, token) = logged_in(&server).await;
    source.set(token).await.unwrap();
    assert!(server.accepts(&source.token().await.unwrap()));
}

#[tokio::test]
async fn a_client_authenticates_in_the_header_or_in_the_body() {
    let server = AuthorizationServer::start().await;
    let metadata = ServerMetadata::discover(&http(), &server.issuer()).await.unwrap();
    let client = |authentication| {
        OAuthClient::new(&http(), metadata.clone(), MACHINE)
            .with_authentication(authentication)
            .with_resource(server.resource())
    };
    let secret = || SECRET.into();
    for authentication in
        [ClientAuthentication::Basic(secret()), ClientAuthentication::Post(secret())]
    {
        let client = client(authentication);
        let store = Arc::new(MemoryTokens::new());
        let source = TokenSource::for_client(client, store, "machine");
        let token = source.token().await.unwrap();
        assert!(server.accepts(&token) && !token.can_refresh());
        source.reject(&token);
        let second = source.token().await.unwrap();
        assert!(server.accepts(&second) && second.access().expose() != token.access().expose());
    }
    for authentication in
        [ClientAuthentication::None, ClientAuthentication::Post("sk-hush-wrong".into())]
    {
        let error = client(authentication).client_credentials().await.unwrap_err().to_string();
        assert!(error.contains("invalid_client; check the client id, its secret"), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn a_registration_with_a_secret_for_another_method_is_refused() {
    for (method, is_refused) in
        [("private_key_jwt", true), ("client_secret_post", false), ("none", false)]
    {
        let server = Server::new(move |mut stream| async move {
            while read_request(&mut stream).await.is_some() {
                let body = format!(
                    r#"{{"client_id":"me","client_secret":"sk-hush","token_endpoint_auth_method":"{method}"}}"#
                );
                let length = body.len();
                let reply = format!("HTTP/1.1 201 Created\r\ncontent-length: {length}\r\n\r\n{body}");
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
        })
        .await;
        let mut metadata = ServerMetadata::new(server.url(), server.url() + "/token");
        metadata.registration_endpoint = Some(server.url() + "/register");
        let registered = registration::register(&http(), metadata, "test", &[]).await;
        assert_eq!(registered.is_err(), is_refused, "{method}");
        if let Err(error) = registered {
            let error = error.to_string();
            assert!(error.contains("neither client_secret_basic nor"), "{error}");
        }
    }
}

/// Some servers send a refresh token that a client has no use for.
#[tokio::test]
async fn a_client_authenticates_again_and_needs_no_refresh_token() {
    let server = Server::new(|mut stream| async move {
        while let Some((_, body)) = read_request(&mut stream).await {
            let is_refresh = String::from_utf8(body).unwrap().contains("grant_type=refresh_token");
            let (head, body) = if is_refresh {
                ("400 No", r#"{"error":"invalid_grant"}"#)
            } else {
                ("200 OK", r#"{"access_token":"a","token_type":"Bearer","refresh_token":"r"}"#)
            };
            let length = body.len();
            let reply = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
    })
    .await;
    let metadata = ServerMetadata::new(server.url(), server.url() + "/token");
    let client = OAuthClient::new(&http(), metadata, "me");
    let source = TokenSource::for_client(client, Arc::new(MemoryTokens::new()), "machine");
    let token = source.token().await.unwrap();
    source.reject(&token);
    source.token().await.unwrap();
}

/// A store whose first load crashes, and whose saves wait.
struct SlowStore {
    tokens: MemoryTokens,
    is_broken: AtomicBool,
    saving: Notify,
    gate: Semaphore,
}

impl SlowStore {
    fn new(is_broken: bool, saves: usize) -> Arc<SlowStore> {
        Arc::new(SlowStore {
            tokens: MemoryTokens::new(),
            is_broken: AtomicBool::new(is_broken),
            saving: Notify::new(),
            gate: Semaphore::new(saves),
        })
    }
}

impl TokenStore for SlowStore {
    fn load<'a>(&'a self, name: &'a str) -> TokenFuture<'a, Option<Token>> {
        assert!(!self.is_broken.swap(false, Ordering::SeqCst), "a bug of the store");
        self.tokens.load(name)
    }

    fn save<'a>(&'a self, name: &'a str, token: &'a Token) -> TokenFuture<'a, ()> {
        Box::pin(async move {
            self.saving.notify_one();
            self.gate.acquire().await.unwrap().forget();
            self.tokens.save(name, token).await
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenFuture<'a, ()> {
        self.tokens.remove(name)
    }
}

#[tokio::test]
async fn a_store_that_crashes_costs_one_refresh() {
    let server = AuthorizationServer::start().await;
    let client = registered(&server, "http://127.0.0.1:1/callback").await;
    let source = TokenSource::for_user(client, SlowStore::new(true, 0), "name");
    let error = source.token().await.unwrap_err();
    assert!(matches!(error, OAuthError::Interrupted), "{error}");
    let error = source.token().await.unwrap_err();
    assert!(matches!(error, OAuthError::LoginRequired { .. }), "{error}");
}

#[tokio::test]
async fn a_refresh_does_not_undo_a_logout() {
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    let store = SlowStore::new(false, 1);
    let source = TokenSource::for_user(client, store.clone(), "name");
    source.set(token.clone()).await.unwrap();
    store.saving.notified().await;
    source.reject(&token);
    let refreshing = source.clone();
    let refresh = tokio::spawn(async move { refreshing.token().await });
    store.saving.notified().await;
    let clearing = source.clone();
    let logout = tokio::spawn(async move { clearing.clear().await });
    tokio::task::yield_now().await;
    store.gate.add_permits(1);
    refresh.await.unwrap().unwrap();
    logout.await.unwrap().unwrap();
    assert!(store.load("name").await.unwrap().is_none());
    let error = source.token().await.unwrap_err();
    assert!(matches!(error, OAuthError::LoginRequired { .. }), "{error}");
}

#[tokio::test]
async fn a_user_who_is_not_logged_in_is_told_so() {
    let server = AuthorizationServer::start().await;
    let client = registered(&server, "http://127.0.0.1:1/callback").await;
    let error = source(client).token().await.unwrap_err();
    assert!(matches!(error, OAuthError::LoginRequired { .. }));
    assert!(error.to_string().contains("log in again"));
}

#[tokio::test]
async fn metadata_of_another_server_is_refused() {
    let server = AuthorizationServer::start().await;
    let error = ServerMetadata::discover(&http(), &server.url("/other")).await.unwrap_err();
    assert!(error.to_string().contains("that of another issuer"), "{error}");
    let other = server.url("/other-resource");
    let error = ResourceMetadata::discover(&http(), &other, None).await.unwrap_err();
    assert!(error.to_string().contains("that of another resource"), "{error}");
    let error = ServerMetadata::discover(&http(), "http://auth.test").await.unwrap_err();
    assert!(error.to_string().contains("https only"), "{error}");
}

#[tokio::test]
async fn a_password_in_a_url_is_refused_and_not_shown() {
    let metadata =
        |url: &str| ServerMetadata::new("https://auth.test", url).with_authorization_endpoint(url);
    for url in ["https://me:hush@auth.test/x", "http://me:hush@127.0.0.1:1", "https://me:hush@a b"]
    {
        let client = OAuthClient::new(&http(), metadata(url), "me");
        for error in [
            client.client_credentials().await.unwrap_err(),
            client.authorize("http://127.0.0.1:1/callback").unwrap_err(),
            ServerMetadata::discover(&http(), url).await.unwrap_err(),
        ] {
            assert!(matches!(error, OAuthError::Url { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }
}

#[tokio::test]
async fn endpoints_of_an_untrusted_server_are_subject_to_the_address_policy() {
    let (inner, outer) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    let policy = AddressPolicy::public().with_allowed_url(&outer.issuer().parse().unwrap());
    let http = http().with_policy(policy);
    let mut metadata = ServerMetadata::discover(&http, &outer.issuer()).await.unwrap();
    metadata.token_endpoint = inner.url("/token");
    let client = OAuthClient::new(&http, metadata, "me");
    let error = client.client_credentials().await.unwrap_err().to_string();
    assert!(error.contains("is a loopback address"), "{error}");
    assert_eq!(inner.requests(), 0);
}

/// A client whose token endpoint answers with these bytes.
async fn answered(reply: &'static [u8]) -> (Server, Result<Token, OAuthError>) {
    let server = Server::answering(reply).await;
    let metadata = ServerMetadata::new(server.url(), server.url() + "/token");
    let client = OAuthClient::new(&http(), metadata, "me")
        .with_authentication(ClientAuthentication::Post("sk-hush".into()))
        .with_deadline(Duration::from_secs(5));
    let token = client.client_credentials().await;
    (server, token)
}

#[tokio::test]
async fn a_token_endpoint_that_lies_is_an_error_that_says_so() {
    let reply = |head: &str, body: &str| -> &'static [u8] {
        let text = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        text.into_bytes().leak()
    };
    let huge = format!("{{\"access_token\":\"hush\",\"x\":\"{}\"}}", "x".repeat(300 << 10));
    let long = format!("{{\"token_type\":\"Bearer\",\"access_token\":\"{}\"}}", "x".repeat(20_000));
    let invalid = "sent an invalid answer: ";
    for (head, body, wanted) in [
        ("200 OK", "", invalid),
        ("200 OK\r\ncontent-type: text/html", "<html>sk-hush</html>", invalid),
        ("200 OK", "{\"access_token\":\"hush\"", invalid),
        ("200 OK", "[\"hush\"]", invalid),
        ("200 OK", "{\"token_type\":\"Bearer\"}", invalid),
        ("200 OK", "{\"access_token\":7,\"token_type\":\"Bearer\"}", invalid),
        ("200 OK", "{\"access_token\":\"hush\"}", invalid),
        ("200 OK", "{\"access_token\":\"hush\",\"token_type\":\"mac\"}", "not Bearer"),
        ("200 OK", "{\"access_token\":\"\",\"token_type\":\"Bearer\"}", "a token is empty"),
        ("200 OK", "{\"access_token\":\"hush\\nx: y\",\"token_type\":\"Bearer\"}", "characters"),
        (
            "200 OK",
            "{\"access_token\":\"hush\",\"token_type\":\"Bearer\",\"expires_in\":\"soon\"}",
            invalid,
        ),
        (
            "200 OK",
            "{\"access_token\":\"hush\",\"token_type\":\"Bearer\",\"expires_in\":-1}",
            "expires_in is negative",
        ),
        ("200 OK", &huge, "more than the maximum"),
        ("200 OK", &long, "too long"),
        ("200 OK", "{\"error\":\"invalid_scope\"}", "invalid_scope; ask for scopes"),
        (
            "400 No",
            "{\"error\":\"invalid_client\",\"error_description\":\"sk-hush is wrong\"}",
            "invalid_client; check the client id",
        ),
        (
            "400 No",
            "{\"error\":\"invalid_client\",\"error_description\":\"a\\u0007b\"}",
            "invalid_client (ab);",
        ),
        ("400 No", "{\"error\":\"sk-hush \\u0007\"}", "status 400; check"),
        ("400 No", "{\"error\":\"sk-hush\"}", "status 400; check"),
        ("400 No", "[\"hush\"]", "status 400; check"),
        ("503 Down", "<html>", "status 503; try again later"),
        ("307 There\r\nlocation: http://127.0.0.1:1/", "", "status 307"),
    ] {
        let error = answered(reply(head, body)).await.1.unwrap_err().to_string();
        assert!(error.contains(wanted), "{head} {body:.60}: {error}");
        assert!(!error.contains("hush"), "{error}");
        assert!(error.contains("/token"), "{error}");
    }
    let fine = "{\"access_token\":\"a\",\"token_type\":\"bearer\",\"expires_in\":1e300}";
    let token = answered(reply("200 OK", fine)).await.1.unwrap();
    assert!(!format!("{token:?}").contains("\"a\""));
}

#[tokio::test]
async fn a_token_endpoint_that_hangs_costs_the_calls_that_need_it_their_deadline() {
    const DEADLINE: Duration = Duration::from_millis(100);
    // One sends nothing, the other a byte from time to time.
    let silent = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    });
    let slow = Server::new(|mut stream| async move {
        read_request(&mut stream).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";
        let mut sent = stream.write_all(head).await;
        while sent.is_ok() {
            tokio::time::sleep(DEADLINE / 10).await;
            sent = stream.write_all(b" ").await;
        }
    });
    let (silent, slow) = tokio::join!(silent, slow);
    for server in [silent, slow] {
        let metadata = ServerMetadata::new(server.url(), server.url() + "/token");
        let client = OAuthClient::new(&http(), metadata, "me").with_deadline(DEADLINE);
        let source = TokenSource::for_client(client, Arc::new(MemoryTokens::new()), "machine");
        let calls = parallel_calls(&source);
        for call in calls {
            let error = call.await.unwrap().unwrap_err();
            assert!(matches!(error, OAuthError::Timeout { .. }), "{error}");
        }
        assert_eq!(server.connections(), 1);
    }
}
