//! Why a request to a server failed.

use std::time::Duration;

use toolwright_runtime::ToolError;
use toolwright_runtime::error::IN_DOUBT;
use toolwright_transport::oauth::Challenge;

use crate::message::RpcError;

/// Why a request to a server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no connection to the server. The request was not sent
    #[error("cannot connect to the MCP server {server}: {reason}")]
    Connect {
        /// The name of the server
        server: String,
        /// Why
        reason: String,
        /// What its process said on stderr, for the operator
        detail: Option<String>,
    },
    /// The server wants an access token, or one for further scopes. The request had no effect
    #[error("the MCP server {server} wants {}", wanted(server, challenge))]
    Unauthorized {
        /// The name of the server
        server: String,
        /// What it says about the token that it wants
        challenge: Challenge,
    },
    /// The connection ended before the answer. The request may have had its effect
    #[error("the MCP server {server} ended before it answered: {reason}")]
    Ended {
        /// The name of the server
        server: String,
        /// Why
        reason: String,
        /// What its process said on stderr, for the operator
        detail: Option<String>,
    },
    /// No answer in time. The request was cancelled, and may have had its effect
    #[error("the MCP server {server} did not answer within {after:?}")]
    Timeout {
        /// The name of the server
        server: String,
        /// The deadline
        after: Duration,
    },
    /// The answer breaks the protocol
    #[error("the MCP server {server} broke the protocol: {reason}")]
    Protocol {
        /// The name of the server
        server: String,
        /// How
        reason: String,
    },
    /// The server answered with an error
    #[error("the MCP server {server} answered: {error}")]
    Refused {
        /// The name of the server
        server: String,
        /// The error
        error: RpcError,
    },
}

/// What a server wants that refused a request, and how it is had.
fn wanted(server: &str, challenge: &Challenge) -> String {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"'\"\\`$".contains(letter);
    let scopes = challenge.scopes.iter().filter(|scope| scope.chars().all(is_plain));
    let scopes: Vec<&str> = scopes.map(String::as_str).collect();
    if challenge.wants_more_scopes() && !scopes.is_empty() {
        let scopes = scopes.join(" ");
        format!(
            "further scopes; log in again with: toolwright mcp login {server} --scope \"{scopes}\""
        )
    } else {
        format!("an access token; log in with: toolwright mcp login {server}")
    }
}

impl ClientError {
    /// Whether the request did not reach the server, so that it may be sent again.
    pub fn is_unsent(&self) -> bool {
        matches!(self, ClientError::Connect { .. } | ClientError::Unauthorized { .. })
    }

    /// Adds what a process said on stderr.
    pub(super) fn with_detail(mut self, said: Option<String>) -> ClientError {
        if let ClientError::Connect { detail, .. } | ClientError::Ended { detail, .. } = &mut self {
            *detail = said;
        }
        self
    }

    /// Returns the error for the operator, with what the process said on stderr.
    pub fn operator_text(&self) -> String {
        match self {
            ClientError::Connect { detail: Some(detail), .. }
            | ClientError::Ended { detail: Some(detail), .. } => {
                format!("{self}; stderr: {detail}")
            }
            _ => self.to_string(),
        }
    }

    /// Returns the error for the model.
    pub(crate) fn into_tool_error(self) -> ToolError {
        let is_unsent = self.is_unsent();
        let error = match &self {
            ClientError::Refused { error, .. } => ToolError::new(error.message.clone()),
            ClientError::Ended { .. } | ClientError::Timeout { .. } => {
                ToolError::new(format!("{self}. {IN_DOUBT}"))
            }
            _ => ToolError::new(self.to_string()),
        };
        let error = error.with_kind("McpError");
        if is_unsent { error.retryable() } else { error }
    }
}
