//! `toolwright key`: creates a key for a client, and the configuration table with its hash.

use std::io::{self, Write};
use std::num::NonZeroU64;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use toolwright_core::object;
use toolwright_gateway::config::name;
use toolwright_gateway::key::{KeyHash, generate};

use super::config_text;
use super::exit::{self, Failure, Result};

/// Arguments of `key`.
#[derive(Debug, Args)]
#[command(after_help = "\
The table for toolwright.toml goes to stdout, the key itself to stderr: it is shown this once, and
only its hash is kept. A running gateway reads the table after SIGHUP. To give a client another key,
create one under the same name and replace the table: its used rates are kept.

With --json both go to stdout as one document: {\"name\", \"key\", \"hash\", \"toml\"}.

Clients send the key wherever their SDK puts one: `Authorization: Bearer`, `x-api-key`,
`x-goog-api-key`, `?key=`. AWS SDKs take it as the access key id, with any secret access key, or as
AWS_BEARER_TOKEN_BEDROCK. The header `toolwright-key` works everywhere.

Examples:
  toolwright key alice >> toolwright.toml
  toolwright key ci --models fast,openai/* --requests-per-minute 60 --json")]
pub(crate) struct Key {
    /// Name the client
    name: String,
    /// Allow these models, with `*`: aliases, ids, upstream/model [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    models: Option<Vec<String>>,
    /// Allow these tools of the gateway [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// Set the tenant whose data the client sees [default: NAME]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    tenant: Option<String>,
    /// Limit the requests per minute
    #[arg(long, value_name = "N")]
    requests_per_minute: Option<NonZeroU64>,
    /// Limit the tokens per minute
    #[arg(long, value_name = "N")]
    tokens_per_minute: Option<NonZeroU64>,
    /// Write the key and its table as one JSON document
    #[arg(long)]
    json: bool,
}

impl Key {
    /// Creates the key.
    pub(crate) fn run(self) -> Result<()> {
        if let Some(what) = name::fault(&self.name) {
            return Err(Failure::usage(what));
        }
        let key = generate().map_err(|error| {
            Failure::failed(format!("the system gives no random numbers: {error}"))
        })?;
        let hash = KeyHash::of(key.expose()).to_string();
        let table = self.table(&hash);
        if self.json {
            let document = object! {
                "name": self.name.as_str(),
                "key": key.expose().as_str(),
                "hash": hash.as_str(),
                "toml": table.as_str(),
            };
            return exit::print_json(document);
        }
        // Starts with an empty line, since it may be appended to a file without a final newline.
        let table = format!("\n{table}");
        // The table first: a key without its table is useless.
        exit::print(&table)?;
        let key = key.expose();
        writeln!(io::stderr().lock(), "The key of {}, shown this once:\n{key}", self.name)
            .map_err(exit::io("stderr"))
    }

    /// Returns the table for the configuration.
    fn table(&self, hash: &str) -> String {
        let list = |names: &Vec<String>| {
            let names = names.iter().map(|own| own.trim()).filter(|own| !own.is_empty());
            config_text::list(names)
        };
        let rate = |rate: NonZeroU64| rate.to_string();
        let members = [
            ("hash", Some(name::text(hash))),
            ("models", self.models.as_ref().map(list)),
            ("tools", self.tools.as_ref().map(list)),
            ("tenant", self.tenant.as_deref().map(name::text)),
            ("requests_per_minute", self.requests_per_minute.map(rate)),
            ("tokens_per_minute", self.tokens_per_minute.map(rate)),
        ];
        let mut lines = vec![format!("[keys.{}]", name::quoted(&self.name))];
        let set = members.into_iter().filter_map(|(key, value)| Some((key, value?)));
        lines.extend(set.map(|(key, value)| format!("{key} = {value}")));
        lines.join("\n")
    }
}
