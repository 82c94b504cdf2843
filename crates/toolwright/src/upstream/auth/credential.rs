//! Who we are to an upstream: what is configured, made ready once, and put onto each request.

use std::fmt;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use toolwright_core::dialect::Dialect;
use zeroize::Zeroizing;

use super::aws_profile::{AwsProfile, ProfileError};
use super::refresh::Renewed;
use super::sigv4::Signer;
use crate::secret::SecretString;

/// Anthropic's header for a key.
pub(crate) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Google's header for a key.
pub(crate) const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Azure's header for a key.
pub(crate) const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// How an upstream knows who asks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credential {
    /// Not at all
    None,
    /// By `Authorization: Bearer`
    Bearer(SecretString),
    /// By a header of its own, such as `x-api-key`
    Header(HeaderName, SecretString),
    /// By AWS Signature Version 4
    SigV4(AwsKeys),
    /// By AWS Signature Version 4, with keys in AWS's files
    Profile(AwsProfile),
    /// By what the client itself sent
    Client,
}

/// The keys of an AWS account, and the region they are used in.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    pub(crate) access_key: String,
    pub(crate) secret_key: SecretString,
    pub(crate) session_token: Option<SecretString>,
    pub(crate) region: String,
}

impl AwsKeys {
    /// Lasting keys.
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

    /// The token that belongs to temporary keys.
    #[must_use]
    pub fn with_session_token(mut self, token: SecretString) -> AwsKeys {
        self.session_token = Some(token);
        self
    }
}

/// What a client showed us, to be sent on where the credential is [`Credential::Client`].
#[derive(Clone)]
pub struct ClientCredential {
    form: HeaderName,
    token: SecretString,
}

impl ClientCredential {
    /// A token that came as `Authorization: Bearer`.
    pub fn bearer(token: impl Into<SecretString>) -> ClientCredential {
        ClientCredential { form: AUTHORIZATION, token: token.into() }
    }

    /// A key that came in a header of its own, or in a query in place of one.
    pub fn header(name: HeaderName, key: impl Into<SecretString>) -> ClientCredential {
        ClientCredential { form: name, token: key.into() }
    }

    /// The credential among a request's headers. A signature is none: it is valid for the host that
    /// the client called.
    pub fn from_headers(headers: &HeaderMap) -> Option<ClientCredential> {
        for name in [X_API_KEY, X_GOOG_API_KEY, API_KEY] {
            if let Some(key) = headers.get(&name).and_then(|value| value.to_str().ok()) {
                return Some(ClientCredential::header(name, key));
            }
        }
        let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| ClientCredential::bearer(token.trim()))
    }

    /// What the client showed.
    pub fn token(&self) -> &SecretString {
        &self.token
    }

    /// The header by which a vendor takes it. Anthropic takes both forms, and tokens of
    /// subscriptions only as they came.
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

/// A credential in the form in which requests use it.
#[derive(Clone, PartialEq)]
pub(crate) enum Prepared {
    None,
    Header(HeaderName, HeaderValue),
    Sign(Arc<Signer>),
    Renewed(Arc<Renewed>),
    Client,
}

/// Why a credential cannot be made ready.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// No header can carry it
    Characters,
    /// There are no keys in the profile
    Profile(ProfileError),
}

/// Why a request cannot have its credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The client sent none, or one that cannot be sent on
    NoClientCredential,
    /// It could not be signed
    Unsigned,
}

impl Prepared {
    /// Makes a credential ready.
    pub(crate) fn new(credential: Credential) -> Result<Prepared, Unfit> {
        let header = |(name, value)| Prepared::Header(name, value);
        match credential {
            Credential::None => Ok(Prepared::None),
            Credential::Bearer(token) => bearer(&token).map(header).ok_or(Unfit::Characters),
            Credential::Header(name, key) => plain(name, &key).map(header).ok_or(Unfit::Characters),
            Credential::SigV4(keys) => Ok(Prepared::Sign(Arc::new(Signer::new(keys)))),
            Credential::Profile(profile) => {
                let renewed = Renewed::new(profile).map_err(Unfit::Profile)?;
                Ok(Prepared::Renewed(Arc::new(renewed)))
            }
            Credential::Client => Ok(Prepared::Client),
        }
    }

    /// Who signs a request, if it is signed.
    pub(crate) fn signer(&self) -> Option<Arc<Signer>> {
        match self {
            Prepared::Sign(signer) => Some(Arc::clone(signer)),
            Prepared::Renewed(renewed) => Some(renewed.signer()),
            Prepared::None | Prepared::Header(..) | Prepared::Client => None,
        }
    }

    /// The header that shows a client's own credential to a vendor.
    pub(crate) fn of_client(
        client: Option<&ClientCredential>,
        dialect: Dialect,
    ) -> Result<(HeaderName, HeaderValue), Refusal> {
        client.and_then(|client| client.prepare(dialect)).ok_or(Refusal::NoClientCredential)
    }
}

fn bearer(token: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    let text = Zeroizing::new(format!("Bearer {}", token.expose()));
    Some((AUTHORIZATION, sensitive(&text)?))
}

fn plain(name: HeaderName, key: &SecretString) -> Option<(HeaderName, HeaderValue)> {
    Some((name, sensitive(key.expose())?))
}

/// A value that no `Debug` shows and HTTP/2 keeps out of its tables.
pub(crate) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
