//! Credentials for an upstream.

use http::{HeaderMap, HeaderName, HeaderValue};
use toolwright_runtime::upstream::{AwsKeys, ClientCredential, Credential, Outgoing, Remote};
use toolwright_testing::server::Server;
use toolwright_transport::secret::SecretString;

use super::{codec, told};

const KEY: &str = "sk-hush";

/// The header lines of a request that contain credentials.
async fn shown(dialect: &str, credential: Credential, client: Option<ClientCredential>) -> String {
    let (server, mut seen) = Server::recording().await;
    let remote = Remote::new("there", codec(dialect), &server.url(), credential).unwrap();
    let outgoing = Outgoing { client, ..Outgoing::new("/v1/x", "{}") };
    remote.send(outgoing).await.unwrap();
    let head = seen.recv().await.unwrap().0;
    let names = ["authorization:", "x-api-key:", "x-goog-api-key:", "x-amz-"];
    let lines = head.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_key_is_sent_in_the_vendors_header() {
    let key = || SecretString::from(KEY);
    let header = |name| Credential::Header(HeaderName::from_static(name), key());
    assert_eq!(shown("openai-chat", Credential::None, None).await, "");
    assert_eq!(
        shown("openai-chat", Credential::Bearer(key()), None).await,
        "authorization: Bearer sk-hush"
    );
    assert_eq!(shown("anthropic", header("x-api-key"), None).await, "x-api-key: sk-hush");
    assert_eq!(shown("gemini", header("x-goog-api-key"), None).await, "x-goog-api-key: sk-hush");
}

#[tokio::test]
async fn a_clients_key_is_forwarded_in_the_vendors_header() {
    let bearer = "authorization: Bearer sk-hush";
    let cases = [
        ("openai-chat", "authorization", bearer),
        ("openai-chat", "x-api-key", bearer),
        ("bedrock", "x-goog-api-key", bearer),
        ("anthropic", "authorization", bearer),
        ("anthropic", "x-goog-api-key", "x-api-key: sk-hush"),
        ("anthropic", "x-api-key", "x-api-key: sk-hush"),
        ("gemini", "authorization", "x-goog-api-key: sk-hush"),
        ("gemini", "api-key", "x-goog-api-key: sk-hush"),
    ];
    for (dialect, form, wanted) in cases {
        let value = if form == "authorization" { "bearer  sk-hush" } else { KEY };
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static(form),
            HeaderValue::from_static(value),
        )]);
        let client = ClientCredential::from_headers(&headers);
        assert_eq!(shown(dialect, Credential::Client, client).await, wanted, "{dialect} {form}");
    }
}

#[tokio::test]
async fn a_clients_key_is_not_sent_elsewhere() {
    let client = Some(ClientCredential::bearer("sk-hush"));
    assert_eq!(shown("openai-chat", Credential::None, client).await, "");
}

#[tokio::test]
async fn a_signature_of_the_client_is_not_a_key() {
    let value = HeaderValue::from_static("AWS4-HMAC-SHA256 Credential=hush");
    let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, value)]);
    let client = ClientCredential::from_headers(&headers);
    assert!(client.is_none());
    let base = "http://127.0.0.1:9";
    let remote = Remote::new("there", codec("bedrock"), base, Credential::Client).unwrap();
    assert!(remote.wants_client_credential());
    let fault = remote.send(Outgoing { client, ..Outgoing::new("/x", "{}") }).await.unwrap_err();
    assert_eq!(fault.class.status(), 401);
    assert!(told(&fault).1.ends_with("send the vendor's key as your API key"));
}

#[tokio::test]
async fn requests_to_aws_are_signed() {
    let keys = AwsKeys::new("AKID", "hush".into(), "eu-west-1").with_session_token("tok".into());
    let shown = shown("bedrock", Credential::SigV4(keys), None).await;
    let begins = |line: &str| shown.lines().any(|own| own.starts_with(line));
    assert!(begins("x-amz-date: 20"), "{shown}");
    assert!(begins("x-amz-security-token: tok"), "{shown}");
    assert!(begins("authorization: AWS4-HMAC-SHA256 Credential=AKID/20"), "{shown}");
    let scope = "/eu-west-1/bedrock/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(shown.contains(scope), "{shown}");
    assert!(!shown.contains("hush"));
}

#[test]
fn keys_are_never_printed() {
    let key = || SecretString::from(KEY);
    let keys = AwsKeys::new("AKID", key(), "r").with_session_token(key());
    let client = ClientCredential::bearer(KEY);
    let outgoing = Outgoing::new("/x?key=sk-hush", "sk-hush").with_client(client.clone());
    let base = "https://host";
    for credential in [Credential::Bearer(key()), Credential::SigV4(keys.clone())] {
        let text = format!("{credential:?}");
        assert!(!text.contains(KEY), "{text}");
        let remote = Remote::new("there", codec("bedrock"), base, credential).unwrap();
        let text = format!("{remote:?} {client:?} {outgoing:?}");
        assert!(!text.contains(KEY), "{text}");
    }
}
