//! The tools of servers that a request names.

use std::sync::Arc;

use toolwright_core::{Json, Tool};
use toolwright_runtime::Effect;

use super::Tools;
use crate::key::Client;

/// A tool of a server that a request names.
pub struct ServerTool {
    /// The name at the gateway
    pub name: String,
    /// The name at the server
    pub own: String,
    /// The definition
    pub definition: Tool,
    /// Whether it changes nothing, as far as its server is believed
    pub is_read_only: bool,
}

impl Tools {
    /// Returns the tools at a path of the gateway, `/mcp` or `/mcp/NAME`, for a client that names it.
    pub fn at_path(&self, path: &str, client: &Arc<Client>) -> Option<Vec<ServerTool>> {
        let server = match path.strip_prefix("/mcp")? {
            "" | "/" => None,
            rest => Some(rest.strip_prefix('/')?),
        };
        let tools = self.for_mcp(server, client)?.tools();
        let tool = |definition: Tool| self.server_tool(definition.name.clone(), definition);
        Some(tools.into_iter().map(tool).collect())
    }

    /// Returns the tools of the server at a URL that a client may use.
    pub fn at_url(&self, url: &str, client: &Arc<Client>) -> Option<Vec<ServerTool>> {
        self.of_server(self.mcp.at_url(&url.parse().ok()?)?, client)
    }

    /// Returns the tools of a server that a client may use.
    pub fn of_server(&self, server: &str, client: &Arc<Client>) -> Option<Vec<ServerTool>> {
        self.mcp.names().find(|own| *own == server)?;
        let tools = self.for_mcp(Some(server), client)?.tools().into_iter();
        let tools = tools.filter_map(|definition| {
            Some(self.server_tool(self.mcp.own_name(server, &definition.name)?, definition))
        });
        Some(tools.collect())
    }

    fn server_tool(&self, own: String, definition: Tool) -> ServerTool {
        let name = definition.name.clone();
        let mut servers = self.mcp.names();
        let server = servers.find(|server| self.toolbox.is_of_source(&name, server));
        let is_read_only = if let Some(server) = server {
            let hints = definition.annotations.as_ref();
            let hint = hints.and_then(|own| own.get("readOnlyHint")).and_then(Json::as_bool);
            self.mcp.trusts_annotations(server) && hint == Some(true)
        } else {
            let handler = self.toolbox.handler(&name);
            handler.is_some_and(|own| own.settings().effect == Effect::None)
        };
        ServerTool { name, own, definition, is_read_only }
    }

    /// Whether there are MCP servers.
    pub fn has_servers(&self) -> bool {
        self.mcp.names().next().is_some()
    }
}
