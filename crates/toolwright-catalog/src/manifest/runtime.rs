//! How the functions of a prefab run.

use std::path::{Component, Path};

use fluent_uri::Uri;

use super::{Fields, Node};

/// How the functions of a prefab run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runtime {
    /// As functions of this program
    Builtin,
    /// As requests to an HTTP server
    Http {
        /// The address that the paths of functions are appended to
        base_url: String,
        /// Headers of every request
        headers: Vec<(String, String)>,
    },
    /// As tools of an MCP server
    Mcp(McpServer),
    /// As a process that reads a JSON document from stdin and writes one to stdout
    Process {
        /// The program and its arguments, started in the folder of the prefab
        command: Vec<String>,
    },
    /// As plans, whose steps are calls of other tools
    Plan,
    /// Nowhere: an index lists the prefab, and its functions are published elsewhere
    Listed,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer {
    /// A process, over stdin and stdout
    Command(Vec<String>),
    /// A server over HTTP
    Url(String),
    /// A server of the configuration, by its name
    Configured(String),
}

const KINDS: [&str; 5] = ["builtin", "http", "mcp", "plan", "process"];

pub(super) fn read(node: &Node<'_>) -> Option<Runtime> {
    let mut fields = Fields::of(node.clone())?;
    let [builtin, http, mcp, plan, process] = KINDS.map(|kind| fields.take(kind));
    let found = [&builtin, &http, &mcp, &plan, &process].into_iter().flatten().count();
    if found != 1 {
        let problem =
            format!("a runtime is exactly one of {}, and this has {found}", KINDS.join(", "));
        fields.node.fault(problem);
    }
    fields.finish();
    let without_members = |node: Option<Node<'_>>, runtime| {
        Fields::of(node?)?.finish();
        Some(runtime)
    };
    let builtin = without_members(builtin, Runtime::Builtin);
    let plan = without_members(plan, Runtime::Plan);
    let http = http.and_then(|node| read_http(node));
    let mcp = mcp.and_then(|node| read_mcp(node));
    let process = process.and_then(|node| {
        let mut fields = Fields::of(node)?;
        let command = fields.require("command").and_then(|node| command(&node));
        fields.finish();
        Some(Runtime::Process { command: command? })
    });
    builtin.or(http).or(mcp).or(plan).or(process)
}

fn read_http(node: Node<'_>) -> Option<Runtime> {
    let mut fields = Fields::of(node)?;
    let base_url = fields.require("base_url").and_then(|node| {
        let url = url(&node)?;
        node.some_or((!url.contains('?')).then_some(url), "a base URL cannot have a query")
    });
    let headers = fields.take("headers").map_or(Some(Vec::new()), |node| {
        let header = |(name, node): (&str, Node<'_>)| {
            let value = node.text()?;
            let is_name = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
            let is_value = http::HeaderValue::from_str(value).is_ok();
            let header = (is_name && is_value).then(|| (name.to_owned(), value.to_owned()));
            node.some_or(header, "this is not a valid header")
        };
        // Every header is read, so that each fault is reported.
        let headers: Vec<_> = node.members()?.into_iter().map(header).collect();
        headers.into_iter().collect()
    });
    fields.finish();
    Some(Runtime::Http { base_url: base_url?, headers: headers? })
}

fn read_mcp(node: Node<'_>) -> Option<Runtime> {
    let mut fields = Fields::of(node)?;
    let (program, address) = (fields.take("command"), fields.take("url"));
    let server = fields.take("server");
    if [&program, &address, &server].into_iter().flatten().count() != 1 {
        fields.node.fault("an MCP server is either a command, a url or a configured server");
    }
    fields.finish();
    let server = server.and_then(|node| node.text_of(1, 128));
    let program = program.and_then(|node| command(&node)).map(McpServer::Command);
    let address = address.and_then(|node| url(&node)).map(McpServer::Url);
    let server = server.map(McpServer::Configured);
    program.or(address).or(server).map(Runtime::Mcp)
}

/// Whether a URL is an http or https URL without a user name and without a fragment.
pub(crate) fn is_web_url(uri: &Uri<&str>) -> bool {
    ["http", "https"].iter().any(|scheme| uri.scheme().as_str().eq_ignore_ascii_case(scheme))
        && uri
            .authority()
            .is_some_and(|authority| !authority.host().is_empty() && authority.userinfo().is_none())
        && uri.fragment().is_none()
}

fn url(node: &Node<'_>) -> Option<String> {
    let text = node.text()?;
    let is_web = Uri::parse(text).is_ok_and(|uri| is_web_url(&uri));
    let problem = "this must be an http or https URL without a user name and without a fragment";
    node.some_or(is_web.then(|| text.to_owned()), problem)
}

/// Reads a program and its arguments. Paths stay within the folder of the prefab.
fn command(node: &Node<'_>) -> Option<Vec<String>> {
    let items = node.items()?;
    if items.first().is_none_or(|first| first.value.as_str() == Some("")) {
        node.fault("a command begins with the name of a program");
    }
    let mut command = Vec::with_capacity(items.len());
    for item in &items {
        let Some(text) = item.text() else { continue };
        if text.contains('\0') {
            item.fault("a command has no NUL characters");
        }
        // An option may carry a path: --model=../other.
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        if leaves_folder(text) || leaves_folder(value) {
            item.fault(
                "this path is outside of the prefab's folder; use a path within it, or the name of a \
                 program that is found by PATH",
            );
        }
        command.push(text.to_owned());
    }
    (command.len() == items.len()).then_some(command)
}

/// Whether a path is absolute or leads out of the folder it starts in.
pub(super) fn leaves_folder(path: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}
