//! The certificate of the server and its key, read from PEM files.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A loaded certificate. Clones share it.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TlsError(String);

impl Tls {
    /// Reads a certificate chain and its private key.
    pub fn load(cert: &Path, key: &Path) -> Result<Tls, TlsError> {
        let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
        let chain: Vec<_> = chain.map_err(refused(cert, "certificate"))?;
        if chain.is_empty() {
            return Err(refused(cert, "certificate")(PemError::NoItemsFound));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(refused(key, "private key"))?;
        let config = configure(chain, private).map_err(|error| {
            let (cert, key) = (cert.display(), key.display());
            TlsError(format!("{cert} and {key} cannot be used together: {error}"))
        })?;
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) fn acceptor(&self) -> &TlsAcceptor {
        &self.0
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

fn configure(
    chain: Vec<CertificateDer<'static>>,
    private: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Tickets let clients resume sessions without a full handshake, and need no memory here.
    config.ticketer = ring::Ticketer::new()?;
    Ok(config)
}

fn refused(path: &Path, what: &'static str) -> impl FnOnce(PemError) -> TlsError {
    let path = path.display();
    move |error| match error {
        PemError::Io(error) => TlsError(format!("{path}: {error}")),
        _ => TlsError(format!("{path}: no {what} in PEM is in this file")),
    }
}
