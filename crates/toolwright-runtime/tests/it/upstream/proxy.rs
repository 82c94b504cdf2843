//! Upstreams behind a proxy that resolves every host to the same address.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use toolwright_core::Fault;
use toolwright_runtime::upstream::providers::find;
use toolwright_runtime::upstream::{Credential, Proxy, Remote, Trust};
use toolwright_testing::server::{Server, read_request};

use super::tls::{certified, secure};
use super::{ask, codec, remote, told};

/// The credential that the proxy requires.
const USER: &str = "proxy-authorization: Basic dXNlcjpodXNo";

/// A proxy that opens tunnels to one address, and reports the requested ones.
async fn tunnels(to: SocketAddr) -> (Server, UnboundedReceiver<String>) {
    let (tell, told) = unbounded_channel();
    let server = Server::new(move |mut stream| {
        let tell = tell.clone();
        async move {
            let Some((head, _)) = read_request(&mut stream).await else { return };
            let provider = head.to_lowercase().contains(&USER.to_lowercase());
            tell.send(head).unwrap();
            if !provider {
                stream.write_all(b"HTTP/1.1 407 Who\r\n\r\n").await.unwrap();
                return;
            }
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
            let mut far = TcpStream::connect(to).await.unwrap();
            copy_bidirectional(&mut stream, &mut far).await.ok();
        }
    })
    .await;
    (server, told)
}

/// The proxy at this server, with user and password.
fn at(server: &Server) -> Proxy {
    Proxy::new(&format!("http://user:hush@{}", server.address)).unwrap()
}

async fn refused(remote: Remote) -> Fault {
    let fault = remote.send(ask()).await.unwrap_err();
    assert_eq!(fault.status, Some(502));
    fault
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let (upstream, trust) = secure(&["http/1.1"]).await;
    let (proxy, mut asked) = tunnels(upstream.address).await;
    let remote = remote("https://api.test").with_trust(&trust).unwrap().with_proxy(&at(&proxy));
    for _ in 0..2 {
        let incoming = remote.send(ask()).await.unwrap();
        assert_eq!(incoming.body.collect(13).await.unwrap().len(), 13);
    }
    let head = asked.recv().await.unwrap();
    assert!(head.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"), "{head}");
    // The tunnel is reused, and nothing of the request is visible outside of it.
    assert_eq!((proxy.connections(), upstream.connections()), (1, 1));
    assert!(asked.try_recv().is_err());
    // Without the proxy the host does not resolve; with it, the upstream's certificate is still
    // verified.
    let fault = refused(remote.clone().with_proxy(&Proxy::none())).await;
    assert_eq!(told(&fault).0, "upstream_unreachable");
    let fault = refused(remote.with_trust(&Trust::public()).unwrap()).await;
    assert_eq!(told(&fault).0, "upstream_tls");
}

#[tokio::test]
async fn a_proxy_may_use_tls() {
    let (upstream, trust) = secure(&["http/1.1"]).await;
    let (acceptor, authority) = certified(&["h2", "http/1.1"]);
    let to = upstream.address;
    let proxy = Server::new(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            read_request(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut far = TcpStream::connect(to).await.unwrap();
            copy_bidirectional(&mut stream, &mut far).await.ok();
        }
    })
    .await;
    let url = format!("https://localhost:{}", proxy.address.port());
    let through = remote("https://api.test").with_proxy(&Proxy::new(&url).unwrap());
    // The proxy and the upstream have different authorities.
    let strange = refused(through.clone().with_trust(&trust).unwrap()).await;
    assert_eq!(told(&strange).0, "upstream_unreachable");
    let proxys = Trust::with_ca(authority.as_bytes()).unwrap();
    let fault = refused(through.with_trust(&proxys).unwrap()).await;
    assert_eq!(told(&fault).0, "upstream_tls");
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn http_is_forwarded_with_the_absolute_url() {
    let (proxy, mut asked) = Server::recording().await;
    let remote = remote("http://api.test/base").with_proxy(&at(&proxy));
    remote.send(ask()).await.unwrap();
    let (head, body) = asked.recv().await.unwrap();
    let line = "POST http://api.test/base/v1/chat/completions?secret=hush HTTP/1.1\r\n";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains("\r\nhost: api.test\r\n"), "{head}");
    assert!(head.contains(&format!("\r\n{USER}\r\n")), "{head}");
    assert_eq!(body, b"{}");
}

#[tokio::test]
async fn a_failing_proxy_is_reported() {
    let (upstream, trust) = secure(&["http/1.1"]).await;
    let (proxy, _asked) = tunnels(upstream.address).await;
    let remote = |base: &str| remote(base).with_trust(&trust).unwrap();
    let nameless = Proxy::new(&proxy.url()).unwrap();
    let fault = refused(remote("https://api.test").with_proxy(&nameless)).await;
    let wanted = "upstream `there` cannot be reached: its proxy requires a user and a password, \
                  or rejected ours (407); check `proxy`, or the variables HTTPS_PROXY, HTTP_PROXY and \
                  ALL_PROXY";
    assert_eq!(told(&fault), ("upstream_proxy", wanted));
    let fault = refused(remote("http://api.test").with_proxy(&nameless)).await;
    assert_eq!(told(&fault), ("upstream_proxy", wanted));
    for (answer, why) in [
        (
            &b"HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno"[..],
            "refused the CONNECT request (403)",
        ),
        (b"220 mail.test ESMTP\r\n\r\n", "sent a response that is not that of an HTTP proxy"),
    ] {
        let proxy = Server::closing(answer).await;
        let fault = refused(remote("https://api.test").with_proxy(&at(&proxy))).await;
        assert_eq!(told(&fault).0, "upstream_proxy");
        assert!(fault.message.contains(why), "{}", fault.message);
    }
    let nowhere = Proxy::new("http://127.0.0.1:1").unwrap();
    let fault = refused(remote("https://api.test").with_proxy(&nowhere)).await;
    assert_eq!(told(&fault).0, "upstream_unreachable");
    assert!(fault.message.contains("its proxy cannot be reached"), "{}", fault.message);
}

#[tokio::test]
async fn socks5_is_supported() {
    let (upstream, mut asked) = Server::recording().await;
    let to = upstream.address;
    let (tell, mut names) = unbounded_channel();
    let proxy = Server::new(move |mut stream| {
        let tell = tell.clone();
        async move {
            let mut bytes = [0; 3];
            stream.read_exact(&mut bytes).await.unwrap();
            // Version 5, one authentication method: user and password.
            assert_eq!(bytes, [5, 1, 2]);
            stream.write_all(&[5, 2]).await.unwrap();
            let mut shown = [0; 11];
            stream.read_exact(&mut shown).await.unwrap();
            assert_eq!(&shown, b"\x01\x04user\x04hush");
            stream.write_all(&[1, 0]).await.unwrap();
            // CONNECT to a name of eight letters, at a port.
            let mut wish = [0; 15];
            stream.read_exact(&mut wish).await.unwrap();
            tell.send(wish.to_vec()).unwrap();
            stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await.unwrap();
            let mut far = TcpStream::connect(to).await.unwrap();
            copy_bidirectional(&mut stream, &mut far).await.ok();
        }
    })
    .await;
    let url = format!("socks5://user:hush@{}", proxy.address);
    let remote = remote("http://api.test").with_proxy(&Proxy::new(&url).unwrap());
    remote.send(ask()).await.unwrap();
    assert_eq!(names.recv().await.unwrap(), b"\x05\x01\x00\x03\x08api.test\x00\x50");
    let (head, _) = asked.recv().await.unwrap();
    assert!(head.starts_with("POST /v1/chat/completions"), "{head}");
    assert!(!head.contains("proxy-authorization"), "{head}");
}

#[tokio::test]
async fn known_upstreams_use_the_proxy_of_the_environment() {
    let (proxy, mut asked) = Server::recording().await;
    let address = format!("user:hush@{}", proxy.address);
    let environment = |hosts: &'static str| {
        let address = address.clone();
        move |name: &str| match name {
            "HTTP_PROXY" => Some(address.clone()),
            "no_proxy" => Some(hosts.to_owned()),
            "OLLAMA_HOST" => Some("http://ollama.test".to_owned()),
            _ => None,
        }
    };
    let ollama = find("ollama").unwrap();
    ollama.remote(&environment("")).unwrap().send(ask()).await.unwrap();
    let (head, _) = asked.recv().await.unwrap();
    assert!(head.starts_with("POST http://ollama.test/v1/chat"), "{head}");
    let fault = refused(ollama.remote(&environment(".test")).unwrap()).await;
    assert_eq!(told(&fault).0, "upstream_unreachable");
    // A custom remote has no proxy unless one is set.
    let own = Remote::new("own", codec("ollama"), "http://ollama.test", Credential::None).unwrap();
    assert_eq!(told(&refused(own).await).0, "upstream_unreachable");
}
