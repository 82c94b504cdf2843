//! Tokens, and the answers of a token endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::secret::SecretString;

/// An access token without a lifetime is refreshed after this time.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(1);
/// Longest lifetime that is believed.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 365);
/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// An access token, with its refresh token. `Debug` prints neither.
#[derive(Clone)]
pub struct Token {
    pub(super) access: SecretString,
    pub(super) refresh: Option<SecretString>,
    pub(super) obtained: SystemTime,
    pub(super) expires: SystemTime,
    pub(super) scope: Option<String>,
    /// The client that it was issued to, if it is stored with it
    pub(super) client: Option<Arc<ClientRecord>>,
}

/// The client of a token, as far as a refresh needs it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ClientRecord<T = SecretString> {
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) id: String,
    pub(super) secret: Option<T>,
    pub(super) is_secret_in_body: bool,
    pub(super) scopes: Vec<String>,
    pub(super) resource: Option<String>,
}

impl ClientRecord {
    /// The form that serializes its secret.
    fn exposed(&self) -> ClientRecord<&str> {
        ClientRecord {
            issuer: self.issuer.clone(),
            token_endpoint: self.token_endpoint.clone(),
            id: self.id.clone(),
            secret: self.secret.as_ref().map(|secret| secret.expose().as_str()),
            is_secret_in_body: self.is_secret_in_body,
            scopes: self.scopes.clone(),
            resource: self.resource.clone(),
        }
    }
}

/// The successful answer of a token endpoint (RFC 6749 §5.1).
#[derive(Deserialize)]
pub(super) struct TokenAnswer {
    access_token: SecretString,
    token_type: String,
    expires_in: Option<f64>,
    refresh_token: Option<SecretString>,
    scope: Option<String>,
}

impl TokenAnswer {
    /// The token, or what is wrong with the answer. Without a new refresh token, the earlier one stays valid.
    pub(super) fn into_token(
        self,
        earlier: Option<&SecretString>,
        now: SystemTime,
    ) -> Result<Token, &'static str> {
        if !self.token_type.eq_ignore_ascii_case("bearer") {
            return Err("the type of the token is not Bearer");
        }
        let tokens = [Some(&self.access_token), self.refresh_token.as_ref()];
        if tokens.into_iter().flatten().any(|token| !is_valid(token.expose())) {
            return Err("a token is empty, too long, or has characters that no token has");
        }
        let lifetime = match self.expires_in {
            None => DEFAULT_LIFETIME,
            Some(seconds) if seconds >= 0.0 => {
                Duration::try_from_secs_f64(seconds).unwrap_or(MAX_LIFETIME).min(MAX_LIFETIME)
            }
            Some(_) => return Err("expires_in is negative"),
        };
        Ok(Token {
            access: self.access_token,
            refresh: self.refresh_token.or_else(|| earlier.cloned()),
            obtained: now,
            expires: now + lifetime,
            scope: self.scope,
            client: None,
        })
    }
}

/// Whether a token has only the characters of RFC 6749, appendix A.12.
fn is_valid(token: &str) -> bool {
    let visible = |byte: u8| (0x20..0x7f).contains(&byte);
    !token.is_empty() && token.len() <= MAX_TOKEN_BYTES && token.bytes().all(visible)
}

impl Token {
    /// The access token. The caller must not log or store it.
    pub fn access(&self) -> &SecretString {
        &self.access
    }

    /// When the access token expires.
    pub fn expires(&self) -> SystemTime {
        self.expires
    }

    /// The scopes that were granted, if the server says so.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Whether it has a refresh token.
    pub fn can_refresh(&self) -> bool {
        self.refresh.is_some()
    }

    /// Whether the access token is expired.
    pub(super) fn is_expired(&self, now: SystemTime) -> bool {
        self.expires <= now
    }

    /// Whether less than a tenth of its lifetime is left, or less than a maximum.
    pub(super) fn is_expiring(&self, now: SystemTime, early: Duration) -> bool {
        let lifetime = self.expires.duration_since(self.obtained).unwrap_or_default();
        self.expires <= now + early.min(lifetime / 10)
    }

    /// The stored form, which holds the tokens.
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let stored = StoredToken {
            access: self.access.expose().as_str(),
            refresh: self.refresh.as_ref().map(|token| token.expose().as_str()),
            obtained: seconds(self.obtained),
            expires: seconds(self.expires),
            scope: self.scope.clone(),
            client: self.client.as_deref().map(ClientRecord::exposed),
        };
        // Strings and numbers can always be written.
        Zeroizing::new(serde_json::to_vec(&stored).unwrap_or_default())
    }

    /// Reads the stored form.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Token> {
        let stored: StoredToken<SecretString> = serde_json::from_slice(bytes).ok()?;
        let time = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        Some(Token {
            access: stored.access,
            refresh: stored.refresh,
            obtained: time(stored.obtained)?,
            expires: time(stored.expires)?,
            scope: stored.scope,
            client: stored.client.map(Arc::new),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredToken<T> {
    access: T,
    refresh: Option<T>,
    obtained: u64,
    expires: u64,
    scope: Option<String>,
    #[serde(default = "Option::default")]
    client: Option<ClientRecord<T>>,
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Token")
            .field("expires", &self.expires)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
