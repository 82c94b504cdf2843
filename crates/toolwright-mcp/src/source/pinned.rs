//! Compares the definitions of a server's tools with those that were approved, when they are listed and before calls.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Mutex;
use toolwright_core::Json;
use toolwright_runtime::ToolError;

use crate::client::{Client, ClientError, ListKind};
use crate::pins::{DefinitionPins, definition_digest};

/// The tools of a server, and their definitions that were approved.
pub(super) struct PinnedTools {
    client: Client,
    pins: Arc<dyn DefinitionPins>,
    compared: Mutex<Compared>,
}

/// The list that was last compared.
#[derive(Default)]
struct Compared {
    revision: Option<u64>,
    /// The names of its tools
    names: HashSet<String>,
}

impl PinnedTools {
    pub(super) fn new(client: Client, pins: Arc<dyn DefinitionPins>) -> PinnedTools {
        PinnedTools { client, pins, compared: Mutex::default() }
    }

    /// Whether tools with changed definitions are left out.
    pub(super) fn blocks(&self) -> bool {
        self.pins.blocks()
    }

    /// The revision of the list: the number of its changes so far.
    pub(super) fn revision(&self) -> u64 {
        *self.client.changes(ListKind::Tools).borrow()
    }

    /// Returns the names of the tools whose definitions were approved in another form. The revision is that from before
    /// the definitions were listed.
    pub(super) async fn compare(&self, definitions: &[Json], revision: u64) -> HashSet<String> {
        let mut compared = self.compared.lock().await;
        self.update(&mut compared, definitions, revision)
    }

    fn update(
        &self,
        compared: &mut Compared,
        definitions: &[Json],
        revision: u64,
    ) -> HashSet<String> {
        let named = |definition: &Json| {
            let name = definition.get("name").and_then(Json::as_str)?;
            Some((name.to_owned(), definition_digest(definition)))
        };
        let digests: Vec<_> = definitions.iter().filter_map(named).collect();
        compared.names = digests.iter().map(|(name, _)| name.clone()).collect();
        compared.revision = Some(revision);
        self.pins.changed(&digests)
    }

    /// Refuses a call of a tool that is blocked or not listed. If the list may have changed since it was compared, it
    /// is listed first.
    pub(super) async fn admit(&self, tool: &str) -> Result<(), ToolError> {
        if !self.blocks() {
            return Ok(());
        }
        // Another connection may be one to another version of the server.
        self.client.info().await.map_err(|error| unchecked(&error))?;
        let mut compared = self.compared.lock().await;
        let revision = self.revision();
        // A list may lack the tool only for a moment.
        if compared.revision != Some(revision) || !compared.names.contains(tool) {
            let listed = self.client.list_tools().await.map_err(|error| unchecked(&error))?;
            self.update(&mut compared, &listed, revision);
        }
        let server = self.client.name();
        if self.pins.is_blocked(tool) {
            return Err(ToolError::new(format!(
                "The MCP server {server} has changed the definition of {tool} since it was approved, so it is not \
                 called until its operator approves it: toolwright mcp approve {server} {tool}"
            )));
        }
        if !compared.names.contains(tool) {
            return Err(ToolError::new(format!(
                "The MCP server {server} does not list the tool {tool}, so it is not called: its definition cannot be \
                 compared with the one that was approved."
            )));
        }
        Ok(())
    }
}

/// The error of a call that was not made, because the tools could not be listed.
fn unchecked(error: &ClientError) -> ToolError {
    let what = "The definitions of the tools could not be checked, so the call was not made";
    ToolError::new(format!("{what}: {error}")).with_kind("McpError").retryable()
}
