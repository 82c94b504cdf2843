//! Why a token cannot be had.

use std::time::Duration;

use super::store::TokenStoreError;

/// Why a token cannot be had: what happened, where, and what to do. No message contains a token, a code, a
/// password or a piece of a body.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// A URL is invalid, or not encrypted
    #[error("{url}: {why}")]
    Url {
        /// The URL
        url: String,
        /// What is wrong, and the remedy
        why: &'static str,
    },
    /// The server cannot be reached
    #[error("{url}: {why}")]
    Unreachable {
        /// The URL
        url: String,
        /// What happened, and the remedy
        why: String,
    },
    /// The server did not answer in time
    #[error("{url} did not answer within {} s; try again later", deadline.as_secs_f32())]
    Timeout {
        /// The URL
        url: String,
        /// The deadline
        deadline: Duration,
    },
    /// The answer is invalid
    #[error("{url} sent an invalid answer: {why}")]
    InvalidAnswer {
        /// The URL
        url: String,
        /// What is wrong with it
        why: &'static str,
    },
    /// The server refused the request
    #[error("{url} refused the request: {code}{}; {hint}", description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Refused {
        /// The URL
        url: String,
        /// The error code of RFC 6749, or the status
        code: String,
        /// The description that the server sent
        description: Option<String>,
        /// The remedy
        hint: &'static str,
    },
    /// The authorization server does not offer what is needed
    #[error("the authorization server {issuer} {why}")]
    Unsupported {
        /// The issuer
        issuer: String,
        /// What is missing, and the remedy
        why: &'static str,
    },
    /// The redirect back to the client is not the answer to its request
    #[error("the login was not completed: {why}")]
    Callback {
        /// What is wrong, and the remedy
        why: String,
    },
    /// No token is stored, and only a login of the user can get one
    #[error("there is no valid token of {issuer}; log in again")]
    LoginRequired {
        /// The issuer
        issuer: String,
    },
    /// The stored token cannot be read
    #[error(transparent)]
    Store(#[from] TokenStoreError),
    /// The refresh was interrupted, because the runtime shuts down
    #[error("the refresh of the token was interrupted")]
    Interrupted,
}

impl OAuthError {
    /// Whether only a login of the user helps.
    pub fn needs_login(&self) -> bool {
        matches!(self, OAuthError::LoginRequired { .. }) || self.is_invalid_grant()
    }

    /// Whether there is nothing at a URL.
    pub fn is_absent(&self) -> bool {
        matches!(self, OAuthError::Refused { code, .. } if code.starts_with("status 4"))
    }

    /// Whether the server refused a code or a refresh token as such.
    pub(super) fn is_invalid_grant(&self) -> bool {
        matches!(self, OAuthError::Refused { code, .. } if code == "invalid_grant")
    }
}

/// The remedy for an error code of RFC 6749 §5.2, §4.1.2.1 or RFC 8707.
pub(super) fn hint(code: &str) -> &'static str {
    match code {
        "invalid_client" | "unauthorized_client" => {
            "check the client id, its secret, and how the client authenticates"
        }
        "invalid_grant" => {
            "the code or the refresh token is expired, used or revoked; log in again"
        }
        "invalid_scope" => "ask for scopes that the server offers to this client",
        "invalid_target" => "check the resource that the token is for",
        "unsupported_grant_type" | "unsupported_response_type" => {
            "enable this grant for the client at the server"
        }
        "access_denied" => "the user or the server denied the access",
        "server_error" | "temporarily_unavailable" | "status 429" => "try again later",
        code if code.starts_with("status 5") => "try again later",
        _ => "check the configuration of the client at the server",
    }
}
