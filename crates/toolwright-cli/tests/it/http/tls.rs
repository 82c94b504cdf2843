//! TLS: certificates presented, renewed and refused.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toolwright_gateway::http::config::Limits;
use toolwright_gateway::http::{Renewal, Server, Tls};

use super::probe::{Client, Started, over_http2, started};

/// A self-signed certificate, in files.
struct Made {
    _folder: tempfile::TempDir,
    cert: PathBuf,
    key: PathBuf,
    der: CertificateDer<'static>,
}

fn made() -> Made {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    Made { _folder: folder, cert, key, der: made.cert.der().clone() }
}

impl Made {
    fn tls(&self) -> Tls {
        Tls::load(&self.cert, &self.key).unwrap()
    }

    /// Connects as a client that trusts only this certificate.
    async fn connect(
        &self,
        server: &Started,
        alpn: &[&str],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(server.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, socket).await
    }
}

async fn start(made: &Made, limits: Limits) -> Started {
    let server = Server::bind("127.0.0.1:0", 100).await.unwrap();
    started(server.with_tls(made.tls()).with_limits(limits))
}

#[tokio::test]
async fn both_http_versions_work_over_tls() {
    let made = made();
    let server = start(&made, Limits::default()).await;
    let socket = made.connect(&server, &["http/1.1"]).await.unwrap();
    assert_eq!(socket.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut client = Client::over(socket);
    client.send("GET /secure HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(client.answer().await.text(), "true");
    let socket = made.connect(&server, &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(socket.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let answer = over_http2(socket, "POST", "/echo", "sealed").await;
    assert_eq!(answer, (200, "sealed".to_owned()));
}

#[tokio::test]
async fn a_new_certificate_applies_to_new_connections() {
    let (old, new) = (made(), made());
    let server = start(&old, Limits::default()).await;
    let mut before = Client::over(old.connect(&server, &[]).await.unwrap());
    server.control.renew(Renewal { limits: Limits::default(), tls: Some(new.tls()) });
    let mut after = Client::over(new.connect(&server, &[]).await.unwrap());
    for client in [&mut before, &mut after] {
        client.send("GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(client.answer().await.text(), "hello");
    }
    assert!(old.connect(&server, &[]).await.is_err());
}

#[tokio::test]
async fn a_stalled_handshake_times_out_and_plain_text_is_refused() {
    let made = made();
    let limits = Limits { header_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = start(&made, limits).await;
    let mut silent = Client::connect(server.address).await;
    assert_eq!(silent.rest().await, "");
    let mut plain = Client::connect(server.address).await;
    plain.send("GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(!plain.rest_bytes().await.starts_with(b"HTTP"));
}

#[test]
fn an_unusable_certificate_is_reported_with_its_file() {
    let (one, other) = (made(), made());
    let refused = |cert: &PathBuf, key: &PathBuf| Tls::load(cert, key).unwrap_err().to_string();
    let nowhere = one.cert.with_file_name("nowhere.pem");
    assert!(refused(&nowhere, &one.key).contains("nowhere.pem"));
    assert!(refused(&one.key, &one.key).contains("no certificate in PEM"));
    assert!(refused(&one.cert, &one.cert).contains("no private key in PEM"));
    assert!(refused(&one.cert, &other.key).contains("cannot be used together"));
}
