//! Credentials of an upstream: configured, prepared once, and added to each request.

use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use toolwright_dialects::dialect::Dialect;
use toolwright_transport::secret::SecretString;
use toolwright_transport::sensitive;
use zeroize::Zeroizing;

use super::aws_profile::{AwsProfile, ProfileError};
use super::refresh::RefreshingSigner;
use super::sigv4::Signer;

/// Anthropic's header for a key.
pub const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Google's header for a key.
pub const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Azure's header for a key.
pub(crate) const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// How requests to an upstream are authenticated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credential {
    /// No authentication
    None,
    /// `Authorization: Bearer`
    Bearer(SecretString),
    /// A header such as `x-api-key`
    Header(HeaderName, SecretString),
    /// AWS Signature Version 4
    SigV4(AwsKeys),
    /// AWS Signature Version 4, with the keys of an AWS profile
    Profile(AwsProfile),
    /// The credential that the client sent
    Client,
}

/// The keys of an AWS account, and their region.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    pub(crate) access_key: String,
    pub(crate) secret_key: SecretString,
    pub(crate) session_token: Option<SecretString>,
    pub(crate) region: String,
}

impl AwsKeys {
    /// Creates long-term keys.
    pub fn new(
        access_key: impl Into<String>,
        secret_key: SecretString,
        region: impl Into<String>,
    ) -> AwsKeys {
        AwsKeys {
            access_key: access_key.into(),
            secret_key,
            session_token: None,
            region: region.into(),
        }
    }

    /// Sets the session token of temporary keys.
    #[must_use]
    pub fn with_session_token(mut self, token: SecretString) -> AwsKeys {
        self.session_token = Some(token);
        self
    }
}

/// The credential of a client, for upstreams with [`Credential::Client`].
#[derive(Clone)]
pub struct ClientCredential {
    form: HeaderName,
    token: SecretString,
}

impl ClientCredential {
    /// A token from `Authorization: Bearer`.
    pub fn bearer(token: impl Into<SecretString>) -> ClientCredential {
        ClientCredential { form: AUTHORIZATION, token: token.into() }
    }

    /// A key from a header of that name, or from a query parameter in place of it.
    pub fn header(name: HeaderName, key: impl Into<SecretString>) -> ClientCredential {
        ClientCredential { form: name, token: key.into() }
    }

    /// Finds the credential in request headers. A signature does not count, because it is valid
    /// only for the host that the client called.
    pub fn from_headers(headers: &HeaderMap) -> Option<ClientCredential> {
        for name in [X_API_KEY, X_GOOG_API_KEY, API_KEY] {
            if let Some(key) = headers.get(&name).and_then(|value| value.to_str().ok()) {
                return Some(ClientCredential::header(name, key));
            }
        }
        let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| ClientCredential::bearer(token.trim()))
    }

    /// The key or token.
    pub fn token(&self) -> &SecretString {
        &self.token
    }

    /// The header for a vendor. Anthropic accepts both forms, and subscription tokens only as a bearer
    /// token.
    fn prepare(&self, dialect: Dialect) -> Option<(HeaderName, HeaderValue)> {
        match dialect {
            Dialect::Anthropic if self.form == AUTHORIZATION => bearer(&self.token),
            Dialect::Anthropic => plain(X_API_KEY, &self.token),
            Dialect::Gemini => plain(X_GOOG_API_KEY, &self.token),
            _ => bearer(&self.token),
        }
    }
}

impl fmt::Debug for ClientCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ClientCredential(…)")
    }
}

/// A credential in the form that requests use.
#[derive(Clone, PartialEq)]
pub(crate) enum PreparedCredential {
    None,
    Header(HeaderName, HeaderValue),
    Sign(Arc<Signer>),
    RefreshingSigner(Arc<RefreshingSigner>),
    Client,
}

/// Why a credential cannot be prepared.
#[derive(Debug)]
pub(crate) enum CredentialError {
    /// It is not a valid header value
    Characters,
    /// The AWS profile has no keys
    Profile(ProfileError),
}

/// Why a request cannot be authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CredentialRefusal {
    /// The client sent no credential, or one that cannot be forwarded
    NoClientCredential,
    /// The request could not be signed
    Unsigned,
}

impl PreparedCredential {
    /// Prepares a credential.
    pub(crate) fn new(credential: Credential) -> Result<PreparedCredential, CredentialError> {
        let header = |(name, value)| PreparedCredential::Header(name, value);
        match credential {
            Credential::None => Ok(PreparedCredential::None),
            Credential::Bearer(token) => {
                bearer(&token).map(header).ok_or(CredentialError::Characters)
            }
            Credential::Header(name, key) => {
                plain(name, &key).map(header).ok_or(CredentialError::Characters)
            }
            Credential::SigV4(keys) => Ok(PreparedCredential::Sign(Arc::new(Signer::new(keys)))),
            Credential::Profile(profile) => {
                let renewed = RefreshingSigner::new(profile).map_err(CredentialError::Profile)?;
                Ok(PreparedCredential::RefreshingSigner(Arc::new(renewed)))
            }
            Credential::Client => Ok(PreparedCredential::Client),
        }
    }

    /// The signer, if requests are signed.
    pub(crate) fn signer(&self) -> Option<Arc<Signer>> {
        match self {
            PreparedCredential::Sign(signer) => Some(Arc::clone(signer)),
            PreparedCredential::RefreshingSigner(renewed) => Some(renewed.signer()),
            PreparedCredential::None
            | PreparedCredential::Header(..)
            | PreparedCredential::Client => None,
        }
    }

    /// The header with the client's credential for a vendor.
    pub(crate) fn of_client(
        client: Option<&ClientCredential>,
        dialect: Dialect,
    ) -> Result<(HeaderName, HeaderValue), CredentialRefusal> {
        client
            .and_then(|client| client.prepare(dialect))
            .ok_or(CredentialRefusal::NoClientCredential)
    }
}

fn bearer(token: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    let text = Zeroizing::new(format!("Bearer {}", token.expose()));
    Some((AUTHORIZATION, sensitive(&text)?))
}

fn plain(name: HeaderName, key: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    Some((name, sensitive(key.expose())?))
}
