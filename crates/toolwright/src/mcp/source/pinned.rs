//! Compares the definitions of a server's tools with those that were approved, when they are listed and before calls.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Mutex;
use toolwright_core::Json;

use crate::error::ToolError;
use crate::mcp::client::{Client, ClientError, ListKind};
use crate::mcp::pins::{DefinitionPins, definition_digest};

/// The tools of a server, and their definitions that were approved.
pub(super) struct PinnedTools {
    client: Client,
    pins: Arc<dyn DefinitionPins>,
    /// The revision of the list that was last compared
    compared: Mutex<Option<u64>>,
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

    /// Returns the names of the tools whose definitions were approved in another form. The revision is that from before the
    /// definitions were listed.
    pub(super) async fn compare(&self, definitions: &[Json], revision: u64) -> HashSet<String> {
        let mut compared = self.compared.lock().await;
        *compared = Some(revision);
        self.changed(definitions)
    }

    fn changed(&self, definitions: &[Json]) -> HashSet<String> {
        let named = |definition: &Json| {
            let name = definition.get("name").and_then(Json::as_str)?;
            Some((name.to_owned(), definition_digest(definition)))
        };
        self.pins.changed(&definitions.iter().filter_map(named).collect::<Vec<_>>())
    }

    /// Refuses a call of a tool that is blocked. If the list may have changed since it was compared, it is listed first.
    pub(super) async fn admit(&self, tool: &str) -> Result<(), ToolError> {
        if !self.blocks() {
            return Ok(());
        }
        // Another connection may be one to another version of the server.
        self.client.info().await.map_err(ClientError::into_tool_error)?;
        let mut compared = self.compared.lock().await;
        let revision = self.revision();
        if *compared != Some(revision) {
            let listed = self.client.list_tools().await.map_err(ClientError::into_tool_error)?;
            self.changed(&listed);
            *compared = Some(revision);
        }
        if self.pins.is_blocked(tool) {
            let server = self.client.name();
            return Err(ToolError::new(format!(
                "The MCP server {server} has changed the definition of {tool} since it was approved, so it is not \
                 called. Tell the user that its operator has to approve it."
            )));
        }
        Ok(())
    }
}
