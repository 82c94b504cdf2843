//! `toolwright mcp approve`: approves the definitions of a server's tools.

use clap::Args;
use toolwright_core::{Json, object, suggest};
use toolwright_gateway::mcp::McpServers;
use toolwright_gateway::{Config, terminal};
use toolwright_mcp::{ClientError, definition_digest};

use super::unknown;
use crate::exit::{self, Failure, Result};

#[derive(Debug, Args)]
pub(super) struct Approve {
    /// The name of the server
    server: String,
    /// Approve only these tools, by their own names [default: all]
    tools: Vec<String>,
}

impl Approve {
    pub(super) async fn run(self, config: &Config, is_json: bool) -> Result<()> {
        let servers = McpServers::inspect(&config.mcp, &config.data)?;
        let Some(client) = servers.client(&self.server) else {
            return Err(unknown(config, &self.server));
        };
        let Some(pins) = servers.pins(&self.server) else {
            let server = &self.server;
            let failure = Failure::failed(format!("definitions of {server} are not pinned"));
            return Err(failure.with_hint("remove pins = \"off\" from its table"));
        };
        let failed = |error: ClientError| Failure::failed(terminal::plain(&error.operator_text()));
        let mut definitions = definitions(&client.list_tools().await.map_err(failed)?);
        let names: Vec<&str> = definitions.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(missing) = self.tools.iter().find(|own| !names.contains(&own.as_str())) {
            let failure = Failure::failed(format!("{} has no tool {missing:?}", self.server));
            let name = suggest(missing, names.iter().copied());
            let hint = name.map(|name| format!("did you mean {name}?"));
            return Err(failure.with_hint(hint.unwrap_or_else(|| {
                format!("toolwright mcp test {} shows its tools", self.server)
            })));
        }
        if !self.tools.is_empty() {
            definitions.retain(|(name, _)| self.tools.contains(name));
        }
        let approved = pins.approve(&definitions).map_err(exit::io("mcp-pins"))?;
        let text = if is_json {
            let approved: Vec<Json> = approved.iter().map(|name| name.as_str().into()).collect();
            Json::from(object! {"approved": approved}).pretty()
        } else if approved.is_empty() {
            "nothing has changed since it was approved".to_owned()
        } else {
            terminal::plain(&format!("approved {}", approved.join(", ")))
        };
        exit::print(&text)
    }
}

/// Returns the name and digest of each definition.
pub(super) fn definitions(tools: &[Json]) -> Vec<(String, String)> {
    let named = |tool: &Json| {
        let name = tool.get("name").and_then(Json::as_str)?;
        Some((name.to_owned(), definition_digest(tool)))
    };
    tools.iter().filter_map(named).collect()
}
