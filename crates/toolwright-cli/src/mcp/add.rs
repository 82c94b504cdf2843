//! `toolwright mcp add`: writes tables of MCP servers into the configuration.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use toolwright_core::Json;
use toolwright_core::json::Object;
use toolwright_gateway::config;
use toolwright_gateway::mcp::McpServers;
use toolwright_gateway::terminal::{self, counted};
use toolwright_mcp::ClientError;
use toolwright_runtime::redact::{has_credential, is_secret_name};
use toolwright_transport::private_file;

use crate::config::ConfigOptions;
use crate::config_text::{self, ConfigText};
use crate::exit::{self, Failure, Result};
use crate::input;

#[derive(Debug, Args)]
pub(super) struct Add {
    /// The name of the server
    #[arg(required_unless_present = "import")]
    server: Option<String>,
    /// Connect to the server at this URL
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "import"])]
    url: Option<String>,
    /// Send this header with every request, as `Name: value`
    #[arg(long, value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// Set this environment variable of the program
    #[arg(long, value_name = "NAME=VALUE", requires = "command")]
    env: Vec<String>,
    /// Add the servers of a file with `mcpServers` or `servers`, as MCP hosts have it
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    import: Option<PathBuf>,
    /// Do not try to connect first
    #[arg(long)]
    no_test: bool,
    /// Start the server with this program and its arguments; must be the last option
    #[arg(long, num_args = 1.., allow_hyphen_values = true, value_name = "PROGRAM",
          required_unless_present_any = ["url", "import"])]
    command: Vec<String>,
}

/// A server to add.
struct Entry {
    name: String,
    /// The keys of its table: `command` or `url`, and `directory`
    keys: Vec<(&'static str, String)>,
    /// `env` or `headers`
    values: Vec<(String, String)>,
}

impl Add {
    pub(super) async fn run(self, options: ConfigOptions) -> Result<()> {
        let mut target = ConfigText::open(options)?;
        let (entries, mut problems) = match &self.import {
            Some(file) => import(&input::json(Some(file))?)?,
            None => (vec![self.entry()?], Vec::new()),
        };
        for entry in entries {
            let name = entry.name.clone();
            match target.add(entry, !self.no_test).await {
                Ok(said) => exit::print(&said)?,
                Err(what) => problems.push(format!("{name} was not added: {what}")),
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::failed(problems.join("\n"))) }
    }

    fn entry(&self) -> Result<Entry> {
        let (key, values) = match &self.url {
            Some(url) => (("url", config::name::text(url)), pairs(&self.header, ':')?),
            None => (("command", list(&self.command)), pairs(&self.env, '=')?),
        };
        let name = self.server.clone().unwrap_or_default();
        if name.len() > config::name::MAX_LABEL || legal_name(&name) != name {
            let what = format!("{name:?} is not the name of an MCP server");
            let hint = "use at most 32 ASCII letters, digits, `_` and `-`";
            return Err(Failure::usage(what).with_hint(hint));
        }
        Ok(Entry { name, keys: vec![key], values })
    }
}

/// Splits texts into names and values.
fn pairs(texts: &[String], mark: char) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once(mark) {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Failure::usage(format!("{text:?} has no {mark:?}"))),
    };
    texts.iter().map(pair).collect()
}

fn list(words: &[String]) -> String {
    config_text::list(words.iter().map(String::as_str))
}

/// Makes a name legal: other characters become `_`.
fn legal_name(name: &str) -> String {
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let legal = name.chars().map(|letter| if is_legal(letter) { letter } else { '_' });
    legal.take(config::name::MAX_LABEL).collect()
}

/// Reads the servers of a document of an MCP host. Returns those that can be added, and why others cannot.
fn import(document: &Json) -> Result<(Vec<Entry>, Vec<String>)> {
    let servers = ["mcpServers", "servers"].iter().find_map(|key| document.get(key)?.as_object());
    let Some(servers) = servers else {
        let what = "the document has neither `mcpServers` nor `servers`";
        return Err(Failure::failed(what));
    };
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for (written, server) in servers.iter() {
        let name = legal_name(written);
        let read = server.as_object().ok_or_else(|| "it is not an object".to_owned());
        let read = read.and_then(|server| imported(&name, server)).and_then(|entry| {
            if names.insert(name.clone()) {
                Ok(entry)
            } else {
                Err(format!("another server of the document is called {name} as well"))
            }
        });
        match read {
            Ok(entry) => entries.push(entry),
            Err(what) => {
                problems.push(terminal::plain(&format!("{written} was not added: {what}")));
            }
        }
    }
    Ok((entries, problems))
}

fn imported(name: &str, server: &Object) -> Result<Entry, String> {
    let text = |key: &str| server.get(key).and_then(Json::as_str);
    if server.get("disabled").and_then(Json::as_bool) == Some(true) {
        return Err("it is disabled".to_owned());
    }
    let mut keys = Vec::new();
    let values = if let Some(program) = text("command") {
        let arguments = server.get("args").and_then(Json::as_array).unwrap_or_default();
        let mut words = vec![expand(program)?];
        for argument in arguments {
            words.push(expand(argument.as_str().ok_or("an argument is not a text")?)?);
        }
        keys.push(("command", list(&words)));
        if let Some(folder) = text("cwd") {
            keys.push(("directory", config::name::text(&expand(folder)?)));
        }
        server.get("env")
    } else if let Some(url) = text("url").or_else(|| text("serverUrl")) {
        keys.push(("url", config::name::text(&expand(url)?)));
        server.get("headers")
    } else {
        return Err("it has neither `command` nor `url`".to_owned());
    };
    let values = values.and_then(Json::as_object).into_iter().flat_map(Object::iter);
    let values = values.map(|(name, value)| match value.as_str() {
        Some(value) => Ok((name.to_owned(), value.to_owned())),
        None => Err(format!("{name} is not a text")),
    });
    Ok(Entry { name: name.to_owned(), keys, values: values.collect::<Result<_, _>>()? })
}

/// The variable that a text is a reference to, as hosts write it: `${NAME}` or `${env:NAME}`.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(is_legal)).then_some(name)
}

/// Replaces references to variables by their values.
fn expand(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        let end = reference.find('}').ok_or("a `${` has no `}`")? + 1;
        let unknown = || format!("{} cannot be replaced by its value here", &reference[..end]);
        let value = variable(&reference[..end]).and_then(|name| std::env::var(name).ok());
        out += before;
        out += &value.ok_or_else(unknown)?;
        rest = &reference[end..];
    }
    Ok(out + rest)
}

impl ConfigText {
    /// Adds a server after a test connection. Returns what was done, or why it cannot be added.
    async fn add(&mut self, entry: Entry, is_tested: bool) -> Result<String, String> {
        let Entry { name, keys, values } = entry;
        if self.config.mcp.contains_key(&name) {
            return Err(format!("the configuration has [mcp.{name}] already"));
        }
        let is_url = keys.iter().any(|(key, _)| *key == "url");
        let mut lines = vec![format!("[mcp.{name}]")];
        lines.extend(keys.iter().map(|(key, value)| format!("{key} = {value}")));
        if !values.is_empty() {
            lines.push(format!("[mcp.{name}.{}]", if is_url { "headers" } else { "env" }));
        }
        let mut secrets = Vec::new();
        for (key, value) in &values {
            let written = if let Some(variable) = variable(value) {
                format!("env:{variable}")
            } else {
                let value = expand(value)?;
                if is_secret_name(key) || has_credential(&value) {
                    let file = format!("{name}.{}", legal_name(key));
                    let reference = format!("file:{}", self.secret(&file, &value)?);
                    secrets.push(file);
                    reference
                } else {
                    value
                }
            };
            lines.push(format!("{} = {}", config::name::quoted(key), config::name::text(&written)));
        }
        let added = self.test(&name, &(lines.join("\n") + "\n"), is_tested).await;
        let (changed, said) = added.inspect_err(|_| {
            for file in &secrets {
                drop(std::fs::remove_file(self.secrets_folder().join(file)));
            }
        })?;
        changed.write()?;
        *self = changed;
        Ok(format!("added [mcp.{name}] to {}{said}", self.path.display()))
    }

    /// Reads the new configuration, and connects to the server.
    async fn test(
        &self,
        name: &str,
        table: &str,
        is_tested: bool,
    ) -> Result<(ConfigText, String), String> {
        let changed = self.with_table(table).map_err(|error| error.to_string())?;
        if !is_tested {
            return Ok((changed, String::new()));
        }
        let servers =
            McpServers::new(&changed.config.mcp, &changed.config.data, &McpServers::default());
        let servers = servers.map_err(|error| error.to_string())?;
        let client = servers.client(name).ok_or("it is not in the configuration")?;
        let listed = client.list_tools().await;
        client.close().await;
        let said = match listed {
            Ok(tools) => format!("; it has {}", counted(tools.len(), "tool", "tools")),
            Err(ClientError::Unauthorized { .. }) => {
                format!("; log in with: toolwright mcp login {name}")
            }
            Err(error) => return Err(terminal::plain(&error.operator_text())),
        };
        Ok((changed, said))
    }

    fn secrets_folder(&self) -> PathBuf {
        self.config.data.join("mcp-secrets")
    }

    /// Writes a secret into a file for its owner alone, and returns the path as the configuration names it.
    fn secret(&self, file: &str, value: &str) -> Result<String, String> {
        let folder = self.secrets_folder();
        let path = folder.join(file);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        private_file::create_folder(&folder).map_err(failed)?;
        // One of an earlier attempt is replaced.
        drop(std::fs::remove_file(&path));
        private_file::create(&path)
            .and_then(|mut file| file.write_all(value.as_bytes()))
            .map_err(failed)?;
        let path = std::path::absolute(&path).map_err(failed)?;
        let own = std::path::absolute(&self.path).map_err(failed)?;
        let own = own.parent().unwrap_or(Path::new(""));
        Ok(path.strip_prefix(own).unwrap_or(&path).display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_hosts_are_read_and_others_are_named() {
        let document = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server", "a b"], "env": {"LEVEL": "1"}},
            "my tickets!": {"type": "http", "url": "https://t.test/mcp", "headers": {"X-Key": "${K}"}},
            "my_tickets_": {"url": "https://u.test/mcp"},
            "old": {"command": "x", "disabled": true},
            "none": {}
        }}"#;
        let (entries, problems) = import(&Json::parse(document).unwrap()).ok().unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["files", "my_tickets_"]);
        assert_eq!(entries[0].keys[0].1, r#"["npx", "-y", "server", "a b"]"#);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("another server of the document"), "{problems:?}");
        assert_eq!(variable("${env:A_1}"), Some("A_1"));
        assert_eq!(variable("${input:x}"), None);
        assert!(expand("Bearer ${NOT_SET_ANYWHERE}").is_err());
    }
}
