//! The certificate of the server and its key, read from PEM files.

use std::io;
use std::path::{Path, PathBuf};
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
pub enum TlsError {
    /// A file cannot be read
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file
        path: PathBuf,
        /// Why
        error: io::Error,
    },
    /// A file lacks the expected content
    #[error("{}: no {what} in PEM is in this file", path.display())]
    Missing {
        /// The file
        path: PathBuf,
        /// The expected content
        what: &'static str,
    },
    /// Certificate and key do not match, or cannot be used
    #[error("{} and {} cannot be used together: {error}", cert.display(), key.display())]
    Unfit {
        /// The file of the certificate
        cert: PathBuf,
        /// The file of the key
        key: PathBuf,
        /// Why
        error: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate chain and its private key.
    pub fn load(cert: &Path, key: &Path) -> Result<Tls, TlsError> {
        let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
        let chain: Vec<_> = chain.map_err(refused(cert, "certificate"))?;
        if chain.is_empty() {
            return Err(refused(cert, "certificate")(PemError::NoItemsFound));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(refused(key, "private key"))?;
        let config = configure(chain, private).map_err(|error| TlsError::Unfit {
            cert: cert.to_owned(),
            key: key.to_owned(),
            error,
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
    move |error| match error {
        PemError::Io(error) => TlsError::Unreadable { path: path.to_owned(), error },
        _ => TlsError::Missing { path: path.to_owned(), what },
    }
}
