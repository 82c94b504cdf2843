//! Checks the OAuth client against `oidc-provider`, a certified authorization server, which `cargo xtask oauth`
//! starts. It panics at the first answer that is not as expected.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed check ends the program"
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use toolwright_transport::HttpClient;
use toolwright_transport::oauth::{
    ClientAuthentication, LoopbackListener, MemoryTokens, OAuthClient, ServerMetadata, TokenSource,
    registration,
};

/// Number of calls that need a token at the same time.
const CALLS: usize = 50;

fn http() -> HttpClient {
    HttpClient::new("the authorization server").unwrap()
}

/// Follows redirects with cookies, as a browser does, to the redirect URI, and requests that.
async fn browse(mut url: String, issuer: &str) {
    let mut cookies: HashMap<String, String> = HashMap::new();
    for _ in 0..12 {
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::get(&url).header(COOKIE, pairs.join("; "));
        let reply = http().send(request.body(Bytes::new()).unwrap()).await.unwrap();
        for cookie in reply.headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            cookies.insert(name.to_owned(), value.to_owned());
        }
        if !url.starts_with(issuer) {
            assert_eq!(reply.status, 200, "{url}");
            return;
        }
        let location = reply.headers.get(LOCATION).map(|url| url.to_str().unwrap());
        let location = location.unwrap_or_else(|| panic!("{url} answered {}", reply.status));
        url = match location.strip_prefix('/') {
            Some(path) => format!("{issuer}/{path}"),
            None => location.to_owned(),
        };
    }
    panic!("too many redirects, the last to {url}");
}

#[tokio::main]
async fn main() {
    let issuer = std::env::var("TOOLWRIGHT_OIDC_ISSUER").expect("`cargo xtask oauth` sets it");
    let resource = format!("{issuer}/mcp");
    let metadata = ServerMetadata::discover(&http(), &issuer).await.unwrap();
    let listener = LoopbackListener::bind_port(0).await.unwrap();
    let redirect_uri = listener.redirect_uri();
    let client = registration::register(&http(), metadata.clone(), "test", &[&redirect_uri]).await;
    let client = client.unwrap().with_resource(&resource).with_scopes(["read", "write"]);

    let login = client.authorize(&redirect_uri).unwrap();
    let browser = tokio::spawn({
        let (url, issuer) = (login.url().to_owned(), issuer.clone());
        async move { browse(url, &issuer).await }
    });
    let callback = listener.wait(&login, Duration::from_mins(1)).await.unwrap();
    browser.await.unwrap();
    let token = client.finish(login, &callback).await.unwrap();
    assert_eq!(token.scope(), Some("read write"));

    // The server rotates refresh tokens: a second use of one would end the login.
    let source =
        TokenSource::for_user(client.clone(), Arc::new(MemoryTokens::new()), "user at resource");
    source.set(token.clone()).await.unwrap();
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let source = source.clone();
            tokio::spawn(async move {
                let token = source.token().await.unwrap();
                source.reject(&token);
                source.token().await.unwrap()
            })
        })
        .collect();
    let mut refreshed = Vec::new();
    for call in calls {
        refreshed.push(call.await.unwrap());
    }
    assert!(refreshed.iter().all(|other| Arc::ptr_eq(other, &refreshed[0])));
    let latest = client.refresh(&refreshed[0]).await.unwrap();
    let error = client.refresh(&token).await.unwrap_err().to_string();
    assert!(error.contains("invalid_grant"), "{error}");
    let error = client.refresh(&latest).await.unwrap_err().to_string();
    assert!(error.contains("invalid_grant"), "all tokens of the login are revoked: {error}");

    let machine = |secret: &str| {
        OAuthClient::new(&http(), metadata.clone(), "machine")
            .with_authentication(ClientAuthentication::Basic(secret.into()))
            .with_resource(&resource)
            .with_scopes(["read"])
    };
    let token = machine("sk +%&:x").client_credentials().await.unwrap();
    assert_eq!(token.scope(), Some("read"));
    let error = machine("wrong").client_credentials().await.unwrap_err().to_string();
    assert!(error.contains("invalid_client"), "{error}");
}
