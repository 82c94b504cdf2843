//! Trusted certificate authorities: the public ones, and added ones.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::{fmt, fs};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::error::TransportError;

/// The TLS configuration with the public authorities, shared by all remotes that add none.
static PUBLIC: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| config(public_roots()));

/// The certificate authorities that an upstream is verified with.
#[derive(Clone, Default)]
pub struct Trust(Option<Added>);

/// Added authorities.
#[derive(Clone)]
struct Added {
    config: Arc<ClientConfig>,
    /// The PEM text that they were read from
    pem: Arc<[u8]>,
}

/// Compares the PEM texts.
impl PartialEq for Trust {
    fn eq(&self, other: &Trust) -> bool {
        let pem = |own: &Trust| own.0.as_ref().map(|added| Arc::clone(&added.pem));
        pem(self) == pem(other)
    }
}

impl Trust {
    /// The public authorities of Mozilla's list.
    pub fn public() -> Trust {
        Trust(None)
    }

    /// The public authorities and those in a PEM file.
    pub fn with_ca_file(path: impl AsRef<Path>) -> Result<Trust, TransportError> {
        let path = path.as_ref();
        let pem = fs::read(path)
            .map_err(|source| TransportError::File { path: path.to_owned(), source })?;
        Trust::with_ca(&pem)
    }

    /// The public authorities and those in a PEM text.
    pub fn with_ca(pem: &[u8]) -> Result<Trust, TransportError> {
        let wrong = |why: String| TransportError::Certificates { why };
        let mut roots = public_roots();
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        }
        if roots.len() == before {
            return Err(wrong("there is no PEM certificate in it".to_owned()));
        }
        let config = config(roots).ok_or_else(no_versions)?;
        Ok(Trust(Some(Added { config, pem: pem.into() })))
    }

    /// The TLS configuration.
    pub(crate) fn config(&self) -> Result<Arc<ClientConfig>, TransportError> {
        let added = self.0.as_ref().map(|added| Arc::clone(&added.config));
        added.or_else(|| PUBLIC.clone()).ok_or_else(no_versions)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Trust(extra)" } else { "Trust(public)" })
    }
}

fn no_versions() -> TransportError {
    TransportError::Certificates { why: "no TLS version is available".to_owned() }
}

fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

fn config(roots: RootCertStore) -> Option<Arc<ClientConfig>> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(ring::default_provider()));
    let versions = ClientConfig::builder_with_provider(Arc::clone(&PROVIDER))
        .with_safe_default_protocol_versions()
        .ok()?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(Arc::new(config))
}
