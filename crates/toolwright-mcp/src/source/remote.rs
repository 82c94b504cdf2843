//! The tool of a server behind a handler.

use std::sync::Arc;

use toolwright_core::object;
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::Content;
use toolwright_runtime::{Scope, Session, ToolError};

use super::ClientSelector;
use super::pinned::PinnedTools;
use crate::client::{Client, ClientError, Outgoing};
use crate::header::ParameterHeader;
use crate::interaction::Interaction;
use crate::output::{read_hidden, read_part, read_result_of};
use crate::protocol::CALL_TOOL;

/// What of a result is for models.
#[derive(Clone)]
pub(super) enum Visibility {
    /// All
    Shown,
    /// The description of values behind handles
    Hidden,
    /// Nothing; the part at a JSON Pointer goes to a slot
    Part(String),
}

/// A tool of a server.
#[derive(Clone)]
pub(super) struct RemoteTool {
    pub(super) client: Client,
    pub(super) selector: Option<Arc<dyn ClientSelector>>,
    pub(super) pins: Option<Arc<PinnedTools>>,
    /// Its name on the server
    pub(super) name: String,
    pub(super) headers: Vec<ParameterHeader>,
    pub(super) era: Era,
    pub(super) visibility: Visibility,
}

impl RemoteTool {
    pub(super) async fn call(&self, scope: Scope, arguments: Object) -> ToolResult {
        let interaction = Interaction::of_call(&scope).await;
        let call = Outgoing {
            method: CALL_TOOL,
            params: object! {"name": self.name.as_str(), "arguments": arguments},
            deadline: scope.deadline.saturating_duration_since(tokio::time::Instant::now()),
            interaction: interaction.clone(),
            parameters: &self.headers,
        };
        let result = tokio::select! {
            biased;
            // Dropping the request cancels it at the server.
            () = scope.cancel.cancelled() => return Err(ToolError::new("the call was cancelled")),
            result = self.send(&scope.session, call) => result?,
        };
        let result = scope.known_secrets().object(result);
        let read = match &self.visibility {
            Visibility::Shown => read_result_of(Some(self.client.name()), result, self.era),
            Visibility::Hidden => read_hidden(result, self.era),
            Visibility::Part(part) => read_part(result, self.era, part),
        };
        match interaction.unanswered() {
            Some(question) => self.explain_cancellation(read, &question),
            None => read,
        }
    }

    /// Sends a call, as the caller if the server wants a token of the caller.
    async fn send(&self, session: &Session, call: Outgoing<'_>) -> Result<Object, ToolError> {
        if let Some(pins) = &self.pins {
            pins.admit(&self.name).await?;
        }
        let Some(selector) = &self.selector else {
            return self.client.call_tool(call).await.map_err(ClientError::into_tool_error);
        };
        let client = selector.select(session).await?;
        client.call_tool(call).await.map_err(|error| match error {
            ClientError::Unauthorized { server, .. } => {
                let what = format!("the MCP server {server} refused the token of the caller");
                ToolError::new(what).with_kind("McpError")
            }
            error => error.into_tool_error(),
        })
    }

    /// Adds to a result that models see why the user was not asked.
    fn explain_cancellation(&self, result: ToolResult, question: &str) -> ToolResult {
        let note = format!("The tool asked the user: {question:?}. This caller cannot be asked.");
        match result {
            Ok(mut output) => {
                if matches!(self.visibility, Visibility::Shown) {
                    output.pieces.push(Content::text(note).into());
                }
                Ok(output)
            }
            Err(mut error) => {
                error.message = format!("{}\n{note}", error.message);
                Err(error)
            }
        }
    }
}
