//! The tools of servers that a request names.

use std::sync::Arc;

use toolwright_core::{Json, Tool};
use toolwright_runtime::Effect;

use super::McpServers;
use crate::key::Client;
use crate::tools::Tools;

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

/// The tools of the gateway's MCP servers, for a client that names a server.
pub struct NamedTools<'a> {
    /// The tools of the gateway
    pub tools: &'a Tools,
    /// The MCP servers
    pub servers: &'a McpServers,
    /// The client
    pub client: &'a Arc<Client>,
}

impl NamedTools<'_> {
    /// Returns the tools at a path of the gateway, `/mcp` or `/mcp/NAME`.
    pub fn at_path(&self, path: &str) -> Option<Vec<ServerTool>> {
        let server = match path.strip_prefix("/mcp")? {
            "" | "/" => None,
            rest => Some(rest.strip_prefix('/')?),
        };
        let tools = self.tools.for_mcp(server, self.client)?.tools();
        let tool = |definition: Tool| self.server_tool(definition.name.clone(), definition);
        Some(tools.into_iter().map(tool).collect())
    }

    /// Returns the tools of the server at a URL that the client may use.
    pub fn at_url(&self, url: &str) -> Option<Vec<ServerTool>> {
        self.of_server(self.servers.at_url(&url.parse().ok()?)?)
    }

    /// Returns the tools of a server that the client may use.
    pub fn of_server(&self, server: &str) -> Option<Vec<ServerTool>> {
        self.servers.names().find(|own| *own == server)?;
        let tools = self.tools.for_mcp(Some(server), self.client)?.tools().into_iter();
        let tools = tools.filter_map(|definition| {
            let own = self.servers.own_name(server, &definition.name)?;
            Some(self.server_tool(own, definition))
        });
        Some(tools.collect())
    }

    fn server_tool(&self, own: String, definition: Tool) -> ServerTool {
        let (name, all) = (definition.name.clone(), self.tools.all());
        let mut servers = self.servers.names();
        let server = servers.find(|server| all.is_of_source(&name, server));
        let is_read_only = if let Some(server) = server {
            let hints = definition.annotations.as_ref();
            let hint = hints.and_then(|own| own.get("readOnlyHint")).and_then(Json::as_bool);
            self.servers.trusts_annotations(server) && hint == Some(true)
        } else {
            let handler = all.handler(&name);
            handler.is_some_and(|own| own.settings().effect == Effect::None)
        };
        ServerTool { name, own, definition, is_read_only }
    }
}
