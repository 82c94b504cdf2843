//! TLS, with a private certificate authority.

use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::unbounded_channel;
use tokio_rustls::TlsAcceptor;
use toolwright_runtime::upstream::{Remote, Trust};
use toolwright_testing::server::{FINE, Server, read_request};

use super::{SHORT, ask, long, remote, told};

/// A certificate for `localhost` and `api.test`, and its authority, as PEM.
pub fn certified(protocols: &[&str]) -> (TlsAcceptor, String) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned(), "api.test".to_owned()]).unwrap();
    let leaf = leaf.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), authority.pem())
}

/// A server with such a certificate, and a client configuration that trusts its authority.
pub async fn secure(protocols: &[&str]) -> (Server, Trust) {
    let (acceptor, authority) = certified(protocols);
    let server = Server::new(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            // A client that does not trust the certificate closes.
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            while read_request(&mut stream).await.is_some() {
                stream.write_all(FINE).await.unwrap();
            }
        }
    })
    .await;
    (server, Trust::with_ca(authority.as_bytes()).unwrap())
}

fn secured(server: &Server, trust: &Trust) -> Remote {
    remote(&format!("https://localhost:{}", server.address.port())).with_trust(trust).unwrap()
}

#[tokio::test]
async fn an_added_authority_is_trusted() {
    let (server, trust) = secure(&["http/1.1"]).await;
    let remote = secured(&server, &trust);
    for _ in 0..2 {
        let incoming = remote.send(ask()).await.unwrap();
        assert_eq!(incoming.body.collect(13).await.unwrap().len(), 13);
    }
    assert_eq!(server.connections(), 1);
    let fault = remote.with_trust(&Trust::public()).unwrap().send(ask()).await.unwrap_err();
    let wanted = "upstream `there` cannot be reached: its certificate is not trusted (invalid peer \
                  certificate: UnknownIssuer); if it uses a private certificate authority, set \
                  `ca` to the file of that authority";
    assert_eq!(told(&fault), ("upstream_tls", wanted));
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_fault() {
    let server = Server::new(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        while matches!(stream.read(&mut [0; 4096]).await, Ok(1..)) {}
    })
    .await;
    let base = server.url().replace("http:", "https:");
    let fault = remote(&base).send(ask()).await.unwrap_err();
    assert_eq!(told(&fault).0, "upstream_tls");
    assert!(fault.message.contains("it does not speak TLS"), "{}", fault.message);
}

#[tokio::test]
async fn a_stalled_connection_attempt_times_out() {
    let server = Server::new(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let base = server.url().replace("http:", "https:");
    let remote = remote(&base).with_deadlines(long().with_connect(SHORT));
    let fault = remote.send(ask()).await.unwrap_err();
    let wanted = "upstream `there` could not be connected to within 200ms (connect); try again, or \
                  set a longer deadline";
    assert_eq!(told(&fault), ("upstream_connect_timeout", wanted));
}

#[tokio::test]
async fn a_connection_closed_during_the_handshake_is_a_fault() {
    let server = Server::new(|stream| async move { drop(stream) }).await;
    let base = server.url().replace("http:", "https:");
    let fault = remote(&base).send(ask()).await.unwrap_err();
    let wanted = "upstream `there` cannot be reached: the connection was closed during the \
                  handshake; check its URL, and whether it is running";
    assert_eq!(told(&fault), ("upstream_unreachable", wanted));
}

#[tokio::test]
async fn the_first_byte_deadline_starts_when_the_request_was_sent() {
    let (acceptor, authority) = certified(&["http/1.1"]);
    let server = Server::new(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            tokio::time::pause();
            tokio::time::advance(Duration::from_millis(1500)).await;
            tokio::time::resume();
            let mut stream = acceptor.accept(stream).await.unwrap();
            read_request(&mut stream).await.unwrap();
            stream.write_all(FINE).await.unwrap();
        }
    })
    .await;
    let deadlines = long().with_first_byte(Duration::from_secs(1));
    let remote =
        secured(&server, &Trust::with_ca(authority.as_bytes()).unwrap()).with_deadlines(deadlines);
    assert_eq!(remote.send(ask()).await.unwrap().status, 200);
}

#[tokio::test]
async fn http2_shares_one_connection_and_cancels_one_stream() {
    let (acceptor, authority) = certified(&["h2", "http/1.1"]);
    let (tell, mut reset) = unbounded_channel();
    let server = Server::new(move |stream| {
        let (acceptor, tell) = (acceptor.clone(), tell.clone());
        async move {
            let stream = acceptor.accept(stream).await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                assert_eq!(request.uri().path(), "/v1/chat/completions");
                let tell = tell.clone();
                tokio::spawn(async move {
                    let mut stream = respond.send_response(http::Response::new(()), false).unwrap();
                    stream.send_data("piece".into(), false).unwrap();
                    let reason = std::future::poll_fn(|context| stream.poll_reset(context)).await;
                    tell.send(reason.unwrap()).unwrap();
                });
            }
        }
    })
    .await;
    let remote = secured(&server, &Trust::with_ca(authority.as_bytes()).unwrap());
    let mut first = remote.send(ask()).await.unwrap().body;
    let mut second = remote.send(ask()).await.unwrap().body;
    assert_eq!(first.next().await.unwrap().unwrap(), "piece");
    drop(first);
    assert_eq!(reset.recv().await, Some(h2::Reason::CANCEL));
    assert_eq!(second.next().await.unwrap().unwrap(), "piece");
    assert_eq!(server.connections(), 1);
}

#[test]
fn invalid_certificates_are_refused() {
    assert!(Trust::with_ca(b"").is_err());
    let pem = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(Trust::with_ca(pem).is_err());
    let error = Trust::with_ca_file("no/such/file.pem").unwrap_err();
    assert!(error.to_string().starts_with("cannot read the certificates in no/such/file.pem: "));
}
