//! MCP servers that a request names itself: `{"type": "mcp"}` of the Responses API, `mcp_servers` of Anthropic. The
//! gateway runs the tools of those that its configuration has, for every upstream; the others stay in the request.
//!
//! The client sees the calls as its vendor would show them (`shown.rs`), and sends them back in later requests, where
//! they become plain calls again (`anthropic.rs`, `responses.rs`).

mod anthropic;
mod responses;
mod shown;

use std::collections::{BTreeMap, HashSet};

use http::HeaderMap;
use http::header::HOST;
use memchr::memmem;
use toolwright_core::{Fault, FaultClass, Json, Part};
use toolwright_dialects::dialect::Dialect;
use toolwright_runtime::Toolbox;
use toolwright_runtime::call::{Rule, Verdict};

use crate::fault;
use crate::mcp::named::{NamedTools, ServerTool};

pub use responses::ApprovalAnswer;

/// Why a call waits for approval if the request says so.
pub const REASON: &str = "The request asks for approval of calls of this server.";

/// The servers that a request names and the gateway runs.
#[derive(Default)]
pub struct NamedServers {
    dialect: Option<Dialect>,
    /// By the names of the tools at the gateway
    tools: BTreeMap<String, NamedTool>,
    /// The lists of tools that the reply begins with
    lists: Vec<Part>,
    /// The ids of calls in the history
    seen: HashSet<String>,
    /// Answers to approvals
    pub answers: Vec<ApprovalAnswer>,
}

struct NamedTool {
    /// What the request calls the server
    server: String,
    /// The name of the tool there
    own: String,
    needs_approval: bool,
}

/// A server as a request names it.
struct Declared {
    label: String,
    url: Option<String>,
    /// Whether the request has credentials for it
    has_credentials: bool,
}

/// Finds the servers that requests name.
struct Finder<'a> {
    tools: NamedTools<'a>,
    host: Option<&'a str>,
}

impl NamedServers {
    /// Takes the servers that the gateway runs out of the body of a request. Returns `None` if there are none.
    pub fn take(
        dialect: Dialect,
        body: &mut Json,
        headers: &HeaderMap,
        tools: NamedTools<'_>,
    ) -> Result<Option<NamedServers>, Fault> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let finder = Finder { tools, host };
        let mut named = NamedServers { dialect: Some(dialect), ..NamedServers::default() };
        let is_changed = match dialect {
            Dialect::OpenaiResponses => responses::take(body, &finder, &mut named)?,
            Dialect::Anthropic => anthropic::take(body, &finder, &mut named)?,
            _ => false,
        };
        if named.tools.is_empty() && is_changed {
            let message =
                "The MCP servers of the request have no tools that it allows and the key may use.";
            return Err(fault::invalid("tools", message));
        }
        Ok(is_changed.then_some(named))
    }

    /// Whether a body may name servers. This is cheap.
    pub fn may_name(dialect: Dialect, body: &[u8]) -> bool {
        match dialect {
            Dialect::OpenaiResponses => memmem::find(body, b"\"mcp\"").is_some(),
            Dialect::Anthropic => memmem::find(body, b"\"mcp_servers\"").is_some(),
            _ => false,
        }
    }

    /// The names of their tools at the gateway.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Makes calls wait for approval where the request says so.
    pub fn restrict(&self, toolbox: Toolbox) -> Toolbox {
        let asking = self.tools.iter().filter(|(_, tool)| tool.needs_approval);
        let names: Vec<&str> = asking.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            return toolbox;
        }
        toolbox.with_rule(Rule::new(Verdict::Ask).with_tools(names).with_reason(REASON))
    }

    fn add(&mut self, server: &str, tool: &ServerTool, needs_approval: bool) {
        let named = NamedTool { server: server.to_owned(), own: tool.own.clone(), needs_approval };
        self.tools.insert(tool.name.clone(), named);
    }

    /// The name at the gateway of a tool of a server.
    fn name_of(&self, server: &str, own: &str) -> Option<&str> {
        let mut all = self.tools.iter();
        let found = all.find(|(_, tool)| tool.server == server && tool.own == own)?;
        Some(found.0)
    }

    fn has_server(&self, server: &str) -> bool {
        self.tools.values().any(|tool| tool.server == server)
    }
}

impl Finder<'_> {
    /// The tools of a server that the client may use; `None` if the gateway does not run it.
    fn find(&self, declared: &Declared) -> Result<Option<Vec<ServerTool>>, Fault> {
        let url = declared.url.as_deref();
        let own = url.and_then(|url| self.own_path(url));
        let found = match (own, url) {
            (Some(path), _) => self.tools.at_path(path),
            (None, Some(url)) => self.tools.at_url(url),
            (None, None) => self.tools.of_server(&declared.label),
        };
        // At the address of the gateway, the credential of the request itself counts.
        if found.is_some() && own.is_none() && declared.has_credentials {
            let message = format!(
                "The gateway connects to the MCP server `{}` with credentials of its own. Leave out \
                 those in the request.",
                declared.label
            );
            return Err(Fault::new(FaultClass::Invalid, message));
        }
        Ok(found)
    }

    /// The path of a URL, if it is one of this gateway.
    fn own_path<'u>(&self, url: &'u str) -> Option<&'u str> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
        let at = rest.find('/')?;
        self.host?.eq_ignore_ascii_case(&rest[..at]).then(|| &rest[at..])
    }
}

/// The text at a key.
fn text<'j>(value: &'j Json, key: &str) -> Option<&'j str> {
    value.get(key).and_then(Json::as_str)
}

/// The texts in a list.
fn texts(list: Option<&Json>) -> Vec<&str> {
    let list = list.and_then(Json::as_array).unwrap_or_default();
    list.iter().filter_map(Json::as_str).collect()
}
