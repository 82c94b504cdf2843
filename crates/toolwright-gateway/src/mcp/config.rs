//! `[mcp.NAME]`: MCP servers whose tools the gateway offers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use http::header::{HeaderName, HeaderValue};
use toolwright_core::suggest;
use toolwright_mcp::legal_tool_name;
use toolwright_runtime::redact::{has_credential, is_secret_name};
use toolwright_runtime::{Fill, SlotOutput, ValueForm};
use toolwright_transport::secret::SecretString;

use crate::config::fill::{allowed, fill, form};
use crate::config::{ConfigError, Result, Table, Value, name, secret};

/// An MCP server.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Where it is
    pub place: McpPlace,
    /// What its tools' names begin with, if not its name and `_`
    pub prefix: Option<String>,
    /// Names of tools, in place of those with the prefix
    pub names: BTreeMap<String, String>,
    /// Hidden parameters of each tool with their values
    pub hide: BTreeMap<String, Vec<(String, Fill)>>,
    /// The forms in which parameters of each tool receive values behind handles
    pub parameters: BTreeMap<String, Vec<(String, ValueForm)>>,
    /// The slots of tools
    pub slots: BTreeMap<String, McpSlot>,
    /// Tools whose results models do not see
    pub hide_results: Vec<String>,
    /// Deadline of calls
    pub deadline: Duration,
    /// Whether it is believed what it says about the effects of its tools
    pub trust_annotations: bool,
    /// What happens if the definition of a tool changes
    pub pins: PinMode,
}

/// What happens if the definition of a tool changes after it was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinMode {
    /// Nothing
    Off,
    /// The change is reported
    #[default]
    Flag,
    /// The change is reported, and the tool is left out until it is approved
    Block,
}

/// The slot that stores results of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSlot {
    /// Its name, and what models read
    pub output: SlotOutput,
    /// JSON Pointer to the part of a result that is stored
    pub part: String,
}

impl McpServer {
    /// Returns the name of a tool in the toolbox, for a server of this name.
    pub fn tool_name(&self, server: &str, tool: &str) -> String {
        match self.names.get(tool) {
            Some(name) => legal_tool_name(name),
            None => legal_tool_name(&format!("{}{tool}", self.prefix(server))),
        }
    }

    /// Returns what the names of tools and prompts begin with, for a server of this name.
    pub fn prefix(&self, server: &str) -> String {
        self.prefix.clone().unwrap_or_else(|| format!("{server}_"))
    }
}

/// Where an MCP server is.
#[derive(Debug, Clone)]
pub enum McpPlace {
    /// A child process
    Command {
        /// The program and its arguments
        command: Vec<String>,
        /// Environment variables
        env: Vec<(String, McpValue)>,
        /// The working directory
        directory: Option<PathBuf>,
    },
    /// A server over HTTP
    Url {
        /// Its address
        url: Uri,
        /// Headers of every request
        headers: Vec<(String, McpValue)>,
        /// How access tokens are had
        login: Box<McpLogin>,
        /// Whether calls use tokens of their callers
        has_caller_tokens: bool,
    },
}

/// The value of an environment variable or of a header.
#[derive(Debug, Clone)]
pub enum McpValue {
    /// A secret, which is redacted if the server repeats it
    Secret(SecretString),
    /// Another text
    Plain(String),
}

impl McpValue {
    /// Returns the text. The caller must not log or store it.
    pub fn expose(&self) -> &str {
        match self {
            McpValue::Secret(secret) => secret.expose(),
            McpValue::Plain(text) => text,
        }
    }
}

/// How access tokens for an MCP server are had, beyond what the server says.
#[derive(Debug, Clone, Default)]
pub struct McpLogin {
    /// The client that was registered with the authorization server
    pub client_id: Option<String>,
    /// Its secret
    pub client_secret: Option<SecretString>,
    /// The authorization server that it was registered with
    pub issuer: Option<String>,
    /// Whether the tokens are for the client itself, and not for a user who logs in
    pub is_own_user: bool,
    /// Scopes to ask for, beside those that the server names
    pub scopes: Vec<String>,
    /// The port of the redirect URI, if it was registered with one
    pub redirect_port: Option<u16>,
    /// Addresses of authorization servers that are not public
    pub allow: Vec<String>,
}

/// Default deadline of calls.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(1);

/// Reads `[mcp]`.
pub(crate) fn read(table: Table<'_>) -> Result<BTreeMap<String, McpServer>> {
    let mut servers: BTreeMap<String, McpServer> = BTreeMap::new();
    for (name, entry) in table.entries() {
        if !name::is_label(&name) {
            let what =
                "the name of an MCP server has at most 32 ASCII letters, digits, `_` and `-`";
            return Err(entry.error(what));
        }
        let overlapping =
            entry.error("one of two MCP servers could take the names of the other's tools");
        let server = server(entry)?;
        let prefix = server.prefix(&name);
        let overlaps = |(other, own): &(&String, &McpServer)| {
            let own = own.prefix(other);
            let is_beginning = |a: &str, b: &str| !a.is_empty() && a != b && b.starts_with(a);
            is_beginning(&own, &prefix) || is_beginning(&prefix, &own)
        };
        if let Some((other, own)) = servers.iter().find(overlaps) {
            let hint = format!(
                "the names of {other} begin with {}, those of {name} with {prefix}: set another `prefix` for one",
                own.prefix(other)
            );
            return Err(overlapping.with_hint(hint));
        }
        servers.insert(name, server);
    }
    Ok(servers)
}

fn server(value: Value<'_>) -> Result<McpServer> {
    let one = value.error(
        "an MCP server has either `command` (the program and its arguments) or `url` (its address)",
    );
    let mut table = value.table()?;
    let command = table.take("command").map(command).transpose()?;
    let url = table.take_some("url", url)?;
    let env = values(table.table("env")?, true, |_| true)?;
    let headers =
        values(table.table("headers")?, false, |name| name.parse::<HeaderName>().is_ok())?;
    let directory = table.take_some("directory", Value::existing_folder)?;
    let own_login = table.take("login").map(login).transpose()?;
    let token = table.take("token").map(caller_token).transpose()?;
    let place = match (command, url) {
        (Some(command), None) if headers.is_empty() && own_login.is_none() && token.is_none() => {
            McpPlace::Command { command, env, directory }
        }
        (None, Some(url)) if env.is_empty() && directory.is_none() => {
            let login = Box::new(own_login.unwrap_or_default());
            let has_caller_tokens = token.unwrap_or_default();
            McpPlace::Url { url, headers, login, has_caller_tokens }
        }
        _ => return Err(one),
    };
    let server = McpServer {
        place,
        prefix: table.take_some("prefix", |value| value.text().map(str::to_owned))?,
        names: table.table("names")?.read_all(|name| name.words())?,
        hide: table.table("hide")?.read_all(|fills| fills.table()?.read_all(fill))?,
        parameters: table
            .table("parameters")?
            .read_all(|tool| tool.table()?.read_all(parameter))?,
        slots: table.table("slots")?.read_all(slot)?,
        hide_results: table.take("hide_results").map_or(Ok(Vec::new()), Value::texts)?,
        deadline: table.take_or("deadline", DEFAULT_DEADLINE, Value::deadline)?,
        trust_annotations: table.take_or("trust_annotations", false, Value::flag)?,
        pins: table.take_or("pins", PinMode::default(), pins)?,
    };
    table.finish()?;
    Ok(server)
}

/// Reads the form of a parameter: `{ as = "…" }`.
fn parameter(value: Value<'_>) -> Result<ValueForm> {
    let missing = value.error("the key `as` is missing: \"json\", \"text\" or \"base64\"");
    let mut table = value.table()?;
    let form = table.take_some("as", form)?.ok_or(missing)?;
    table.finish()?;
    Ok(form)
}

fn slot(value: Value<'_>) -> Result<McpSlot> {
    let missing = value.error("the key `store` is missing: the name of the slot");
    let mut table = value.table()?;
    let mut output = SlotOutput::new(table.take_some("store", Value::words)?.ok_or(missing)?);
    if let Some(reply) = table.take_some("reply", |value| value.text().map(str::to_owned))? {
        output = output.with_reply(reply);
    }
    let part = table.take_some("part", |value| {
        let text = value.text()?;
        if text.is_empty() || text.starts_with('/') {
            return Ok(text.to_owned());
        }
        Err(value.error("this must be a JSON Pointer, such as \"/rows\""))
    })?;
    table.finish()?;
    Ok(McpSlot { output, part: part.unwrap_or_default() })
}

/// Tells the hidden parameters that are filled from slots which tools fill these. `prefabs` are those of prefabs, by
/// their keys in the configuration.
pub(crate) fn connect_slots<'f>(
    servers: &'f mut BTreeMap<String, McpServer>,
    prefabs: impl Iterator<Item = (String, &'f mut Fill)>,
) -> Result<()> {
    let mut fillers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, server) in servers.iter() {
        for (tool, slot) in &server.slots {
            let filler = server.tool_name(name, tool);
            fillers.entry(slot.output.slot.clone()).or_default().push(filler);
        }
    }
    let own = servers.iter_mut().flat_map(|(server, settings)| {
        settings.hide.iter_mut().flat_map(move |(tool, fills)| {
            let key = format!("mcp.{server}.hide.{tool}");
            fills.iter_mut().map(move |(parameter, fill)| (format!("{key}.{parameter}"), fill))
        })
    });
    for (key, fill) in own.chain(prefabs) {
        let Fill::Slot(fill) = fill else { continue };
        let Some(names) = fillers.get(&fill.slot) else {
            let slot = &fill.slot;
            let what = format!("no tool stores its result in the slot `{slot}`");
            let hint = match suggest(slot, fillers.keys().map(String::as_str)) {
                Some(other) => format!("did you mean `{other}`?"),
                None => format!("add [mcp.NAME.slots.TOOL] with store = {slot:?}"),
            };
            return Err(ConfigError::new(key, what).with_hint(hint));
        };
        fill.filled_by.clone_from(names);
    }
    Ok(())
}

fn login(value: Value<'_>) -> Result<McpLogin> {
    let incomplete = value.error("client_credentials need `client_id` and `client_secret`");
    let mut table = value.table()?;
    let client_id = table.take_some("client_id", Value::words)?;
    let client_secret = table.take_some("client_secret", secret::fetch)?;
    let grants = [("authorization_code", false), ("client_credentials", true)];
    let is_own_user = table.take_or("grant", false, |value| value.one_of(&grants))?;
    if is_own_user && (client_id.is_none() || client_secret.is_none()) {
        return Err(incomplete);
    }
    let login = McpLogin {
        client_id,
        client_secret,
        issuer: table.take_some("issuer", Value::words)?,
        is_own_user,
        scopes: table.take("scopes").map_or(Ok(Vec::new()), Value::texts)?,
        redirect_port: table.take_some("redirect_port", |value| {
            let port = value.number(1)?;
            u16::try_from(port).map_err(|_| value.error("this is not a port"))
        })?,
        allow: allowed(table.list("allow_addresses")?)?,
    };
    table.finish()?;
    Ok(login)
}

fn caller_token(value: Value<'_>) -> Result<bool> {
    let mut table = value.table()?;
    let is_caller = table.take_or("caller", false, Value::flag)?;
    table.finish()?;
    Ok(is_caller)
}

fn pins(value: &Value<'_>) -> Result<PinMode> {
    let modes = [("off", PinMode::Off), ("flag", PinMode::Flag), ("block", PinMode::Block)];
    value.one_of(&modes)
}

fn command(value: Value<'_>) -> Result<Vec<String>> {
    let empty = value.error("the command is empty; it is a list: the program, then its arguments");
    let words = value.texts()?;
    if words.first().is_none_or(String::is_empty) { Err(empty) } else { Ok(words) }
}

fn url(value: &Value<'_>) -> Result<Uri> {
    let what = "this must be an http or https URL, such as \"http://127.0.0.1:3901/mcp\"";
    let parsed: Result<Uri, _> = value.text()?.parse();
    let parsed = parsed.ok().filter(|url| matches!(url.scheme_str(), Some("http" | "https")));
    parsed.ok_or_else(|| value.error(what))
}

/// Reads values that are references (`env:NAME`, `file:PATH`) or texts. A reference is a secret, except for one to the
/// path of a file or folder, because results have such paths. A text counts as a secret by its name or its form, and
/// with `passes_variables` so does a variable.
fn values(
    table: Table<'_>,
    passes_variables: bool,
    is_name: impl Fn(&str) -> bool,
) -> Result<Vec<(String, McpValue)>> {
    let entries = table.entries().into_iter().map(|(name, value)| {
        if !is_name(&name) {
            return Err(value.error("this is not the name of a header"));
        }
        let is_path = |text: &str| Path::new(text).is_absolute() && Path::new(text).exists();
        let written = value.text()?;
        let variable = written.strip_prefix("env:").filter(|_| passes_variables);
        // Of a variable, unlike a member of a document, every key is a secret: `BRAVE_KEY`.
        let names_secret =
            |name: &str| is_secret_name(name) || name.to_ascii_uppercase().ends_with("_KEY");
        let is_secret = |text: &str| {
            names_secret(&name) || variable.is_some_and(names_secret) || has_credential(text)
        };
        let own = match secret::find(&value)? {
            Some(path) if is_path(path.expose()) => McpValue::Plain(path.expose().clone()),
            Some(own) if variable.is_none() || is_secret(own.expose()) => McpValue::Secret(own),
            Some(own) => McpValue::Plain(own.expose().clone()),
            None if is_secret(written) => McpValue::Secret(written.into()),
            None => McpValue::Plain(written.to_owned()),
        };
        if HeaderValue::from_str(own.expose()).is_err() {
            return Err(value.error("this has characters that are not allowed here"));
        }
        Ok((name, own))
    });
    entries.collect()
}
