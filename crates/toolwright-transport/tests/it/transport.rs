//! The HTTP client: its address policy, redirects and limits, against real sockets.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use tokio::io::AsyncWriteExt;
use toolwright_transport::{
    AddressPolicy, Addresses, Deadlines, HttpClient, HttpFault, HttpFaultKind, Incoming, Proxy,
    Resolve,
};

use toolwright_testing::server::{Server, read_request};

const SHORT: Duration = Duration::from_millis(200);

/// Resolves every name to the next of its answers, and to the last one from then on.
#[derive(Clone)]
struct Answers(Arc<[&'static str]>, Arc<AtomicUsize>);

impl Answers {
    fn new(answers: impl IntoIterator<Item = &'static str>) -> Answers {
        Answers(answers.into_iter().collect(), Arc::default())
    }

    /// The number of lookups.
    fn asked(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

impl Resolve for Answers {
    fn resolve<'a>(&'a self, _: &'a str) -> Addresses<'a> {
        Box::pin(async move {
            let at = self.1.fetch_add(1, Ordering::SeqCst).min(self.0.len() - 1);
            let parsed = self.0[at].split(' ').map(str::parse::<IpAddr>);
            parsed.collect::<Result<_, _>>().map_err(io::Error::other)
        })
    }
}

fn client(policy: AddressPolicy) -> HttpClient {
    HttpClient::new("the service").unwrap().with_policy(policy)
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).header("authorization", "Bearer hush").body(Bytes::new()).unwrap()
}

async fn text(incoming: Incoming) -> String {
    String::from_utf8(incoming.body.collect(1 << 20).await.unwrap().to_vec()).unwrap()
}

fn assert_refused(sent: Result<Incoming, HttpFault>, why: &str) {
    let fault = sent.expect_err("the address is refused");
    assert_eq!(fault.kind, HttpFaultKind::AddressRefused, "{}", fault.message);
    assert!(fault.message.contains(why), "{} lacks {why:?}", fault.message);
    assert!(fault.message.contains("who can allow the host, its IP address or its network"));
}

/// A server that redirects every request to a URL.
async fn redirecting(location: String) -> Server {
    Server::new(move |mut stream| {
        let location = location.clone();
        async move {
            while read_request(&mut stream).await.is_some() {
                let head = format!(
                    "HTTP/1.1 307 There\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).await.unwrap();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_refused_unless_listed() {
    let (server, mut requests) = Server::recording().await;
    let port = server.address.port();
    let url = format!("http://api.test:{port}/x");
    for (answer, kind) in [
        ("127.0.0.1", "a loopback"),
        ("::1", "a loopback"),
        ("::ffff:127.0.0.1", "a loopback"),
        ("64:ff9b::127.0.0.1", "a loopback"),
        ("10.0.0.1", "a private"),
        ("169.254.169.254", "a link-local"),
        ("fd00:ec2::254", "a unique local"),
        // One private address among public ones
        ("1.1.1.1 127.0.0.1", "a loopback"),
    ] {
        let client = client(AddressPolicy::public()).with_resolver(Answers::new([answer]));
        let why = format!("the service cannot be reached: `api.test` resolves to {kind} address");
        assert_refused(client.send(get(&url)).await, &why);
    }
    assert_eq!(server.connections(), 0);
    for entry in ["api.test", "API.test.", "*.test", "127.0.0.0/8", "127.0.0.1"] {
        for (port, is_allowed) in [("", true), (&*format!(":{port}"), true), (":1", false)] {
            if entry.contains('/') && !port.is_empty() {
                continue;
            }
            let policy = AddressPolicy::public().with_allowed(&format!("{entry}{port}")).unwrap();
            let client = client(policy).with_resolver(Answers::new(["127.0.0.1"]));
            let sent = client.send(get(&url)).await;
            assert_eq!(sent.is_ok(), is_allowed, "{entry}{port}");
        }
    }
    let trusted = client(AddressPolicy::any()).with_resolver(Answers::new(["127.0.0.1"]));
    assert_eq!(text(trusted.send(get(&url)).await.unwrap()).await, r#"{"fine":true}"#);
    let (head, _) = requests.recv().await.unwrap();
    assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn every_form_of_a_literal_is_refused() {
    let server = Server::recording().await.0;
    let port = server.address.port();
    let client = client(AddressPolicy::public()).with_redirects(3);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
    ] {
        let sent = client.send(get(&format!("http://{host}:{port}/"))).await;
        assert_refused(sent, "address");
    }
    // Not every system resolves these.
    let resolving = client.clone().with_resolver(Answers::new(["127.0.0.1"]));
    for host in ["localhost.", "a.localhost", "127.0.0.1.", "1.1.1.1.", "127.0.0.1.nip.test"] {
        let sent = resolving.send(get(&format!("http://{host}:{port}/"))).await;
        assert_refused(sent, "a loopback address");
    }
    for url in [
        format!("http://1.1.1.1@127.0.0.1:{port}/"),
        format!("http://user:word@127.0.0.1:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
    ] {
        let fault = client.send(get(&url)).await.unwrap_err();
        assert!(fault.message.starts_with("the service: the URL "), "{}", fault.message);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_connected_to_where_it_was_checked() {
    let server = Server::recording().await.0;
    let url = format!("http://rebind.test:{}/", server.address.port());
    // The first address is allowed, as a public one is; nothing listens there.
    let resolver = Answers::new(["127.0.0.2", "127.0.0.1"]);
    let policy = AddressPolicy::public().with_allowed("127.0.0.2").unwrap();
    let deadlines = Deadlines::new().with_connect(SHORT).with_first_byte(SHORT);
    let client = client(policy).with_resolver(resolver.clone()).with_deadlines(deadlines);
    // The checked address is connected to, and the name is not resolved again.
    let first = client.send(get(&url)).await;
    assert_eq!(resolver.asked(), 1);
    assert_ne!(first.err().map(|fault| fault.kind), Some(HttpFaultKind::AddressRefused));
    assert_refused(client.send(get(&url)).await, "`rebind.test` resolves to a loopback address");
    assert_eq!(resolver.asked(), 2);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn redirects_are_checked_hop_by_hop() {
    let inner = Server::recording().await.0;
    let port = inner.address.port();
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://localhost:{port}/"),
    ] {
        let outer = redirecting(target).await;
        let policy = AddressPolicy::public().with_allowed_url(&outer.url().parse().unwrap());
        // Two hops: the second server is listed, what it redirects to is not.
        let first = redirecting(outer.url()).await;
        let policy = policy.with_allowed_url(&first.url().parse().unwrap());
        let sent = client(policy).with_redirects(5).send(get(&first.url())).await;
        assert_refused(sent, "loopback address");
        assert_eq!((first.connections(), outer.connections()), (1, 1));
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn redirects_are_bounded_and_leave_credentials_behind() {
    let (server, mut requests) = Server::recording().await;
    let outer = redirecting(format!("{}/there?x=1", server.url())).await;
    let policy = AddressPolicy::public().with_allowed("127.0.0.1").unwrap();
    let following = client(policy.clone()).with_redirects(1);
    let reply = following.send(get(&outer.url())).await.unwrap();
    assert_eq!(text(reply).await, r#"{"fine":true}"#);
    let (head, _) = requests.recv().await.unwrap();
    assert!(head.starts_with("GET /there?x=1 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("authorization"), "{head}");

    let twice = redirecting(outer.url()).await;
    let fault = following.send(get(&twice.url())).await.unwrap_err();
    assert_eq!(fault.message, "the service sent more than 1 redirects");
    let reply = client(policy).send(get(&twice.url())).await.unwrap();
    assert_eq!(reply.status, 307);

    // The target of a redirect is not what the operator configured.
    let trusting = client(AddressPolicy::any()).with_redirects(1);
    let fault = trusting.send(get(&outer.url())).await.unwrap_err();
    assert!(fault.message.contains("to another origin, which is not followed"));
}

#[tokio::test]
async fn through_a_proxy_only_listed_hosts_are_reached() {
    let (proxy, mut requests) = Server::recording().await;
    let policy = AddressPolicy::public().with_allowed("listed.test").unwrap();
    let client = client(policy).with_proxy(&Proxy::new(&proxy.url()).unwrap());
    for url in ["http://other.test/", "https://other.test/", "http://1.1.1.1/"] {
        assert_refused(client.send(get(url)).await, "would be resolved by the proxy");
    }
    assert_eq!(proxy.connections(), 0);
    assert!(client.send(get("http://listed.test/x")).await.is_ok());
    let (head, _) = requests.recv().await.unwrap();
    assert!(head.starts_with("GET http://listed.test/x HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_response_is_limited_in_size() {
    const LONG: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                             5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    for reply in [LONG, CHUNKED] {
        let server = Server::answering(reply).await;
        let client = client(AddressPolicy::any());
        let all = client.clone().with_max_response(11).send(get(&server.url())).await.unwrap();
        assert_eq!(text(all).await, "hello world");
        let client = client.with_max_response(10);
        let whole = client.send(get(&server.url())).await.unwrap().body.collect(1 << 20).await;
        let fault = whole.unwrap_err();
        let wanted = "the service sent a response of more than the maximum of 10 bytes";
        assert_eq!(fault.message, wanted);
        let mut body = client.send(get(&server.url())).await.unwrap().body;
        let mut arrived = 0;
        let fault = loop {
            match body.next().await.expect("the end is a fault") {
                Ok(bytes) => arrived += bytes.len(),
                Err(fault) => break fault,
            }
        };
        assert!(arrived <= 10);
        assert_eq!(fault.message, wanted);
    }
}

#[tokio::test]
async fn deadlines_hold_without_an_upstream() {
    let silent = Server::new(|stream| async move {
        let _held = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let client = client(AddressPolicy::any())
        .with_deadlines(Deadlines::new().with_first_byte(SHORT))
        .with_concurrency(1)
        .with_waiting(0);
    let (url, other) = (silent.url(), silent.url());
    let (late, crowded) = tokio::join!(client.send(get(&url)), client.send(get(&other)));
    let late = late.unwrap_err();
    assert_eq!(late.kind, HttpFaultKind::Timeout);
    assert!(late.message.starts_with("the service did not begin to answer within 200ms"));
    assert_eq!(crowded.unwrap_err().kind, HttpFaultKind::Crowded);
}

#[tokio::test]
async fn a_fault_advises_to_repeat_only_what_is_idempotent() {
    let client =
        client(AddressPolicy::any()).with_deadlines(Deadlines::new().with_first_byte(SHORT));
    let silent = Server::new(|stream| async move {
        let _held = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    for server in [Server::closing(b"").await, Server::closing(cut).await, silent] {
        for (method, is_repeatable) in [("GET", true), ("PUT", true), ("POST", false)] {
            let request = Request::builder().method(method).uri(server.url());
            let sent = client.send(request.body(Bytes::new()).unwrap()).await;
            let fault = match sent {
                Ok(incoming) => incoming.body.collect(9).await.unwrap_err(),
                Err(fault) => fault,
            };
            let message = fault.message;
            assert_eq!(message.contains("try again"), is_repeatable, "{method}: {message}");
        }
    }
}
