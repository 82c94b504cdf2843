//! The lines that `toolwright serve` prints at startup: the address, the models and tools, and how
//! to connect an SDK or a coding agent.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;

use toolwright_gateway::Config;
use toolwright_gateway::gateway::Live;
use toolwright_gateway::terminal::Escaped;

/// Maximum number of names that are listed on a line.
const MAX_NAMES: usize = 8;

/// Writes the startup lines. The first is `listening on URL …`, which programs parse.
pub(super) fn write(
    out: &mut impl Write,
    config: &Config,
    live: &Live,
    address: SocketAddr,
) -> io::Result<()> {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let upstreams: Vec<_> = live.routes.upstreams().collect();
    let count = match upstreams.len() {
        0 => "no upstreams: the model offline/rules answers".to_owned(),
        1 => "1 upstream, and the model offline/rules".to_owned(),
        count => format!("{count} upstreams, and the model offline/rules"),
    };
    writeln!(out, "listening on {scheme}://{address} ({count})")?;
    // Clients cannot connect to the unspecified address.
    let host = match address.ip() {
        ip if ip.is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    };
    let url = format!("{scheme}://{host}");
    let models = upstreams.iter().map(|(id, dialect)| format!("{}/MODEL ({dialect})", Escaped(id)));
    line(out, "models", names(models.chain(["offline/rules".to_owned()])))?;
    let listed = live.routes.listed();
    if !listed.is_empty() {
        line(out, "listed", names(listed.iter().map(|model| Escaped(model).to_string())))?;
    }
    for (alias, targets) in live.routes.aliases().take(MAX_NAMES) {
        let targets = names(targets.iter().map(|target| Escaped(target).to_string()));
        line(out, "alias", format_args!("{} → {targets}", Escaped(alias)))?;
    }
    let more = live.routes.aliases().count().saturating_sub(MAX_NAMES);
    if more > 0 {
        line(out, "alias", format_args!("and {more} more: GET {url}/v1/models"))?;
    }
    if config.tools.is_some() {
        let tools = names(live.tools.runnable().map(str::to_owned));
        line(out, "tools", format_args!("{tools} (header toolwright-tools)"))?;
    }
    let (key, header) = if config.keys.is_empty() {
        ("unused", "")
    } else {
        ("KEY", " -H 'authorization: Bearer KEY'")
    };
    line(out, "OpenAI SDK", format_args!("OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={key}"))?;
    line(out, "Anthropic SDK", format_args!("ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={key}"))?;
    let model = example_model(live);
    line(
        out,
        "Claude Code",
        format_args!(
            "ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={key} ANTHROPIC_MODEL={} claude",
            Escaped(&model)
        ),
    )?;
    let insecure = if config.tls.is_some() { " -k" } else { "" };
    line(
        out,
        "try",
        format_args!(
            "curl{insecure} {url}/v1/chat/completions{header} -d '{{\"model\": \"offline/rules\", \
             \"messages\": [{{\"role\": \"user\", \"content\": \"hello\"}}]}}'"
        ),
    )
}

fn line(out: &mut impl Write, label: &str, text: impl Display) -> io::Result<()> {
    writeln!(out, "  {label:<13}  {text}")
}

/// Joins the first names with commas, and gives the number of the others.
fn names(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        names.truncate(MAX_NAMES);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Returns a model for the example: an alias, a listed model, or one of an upstream.
fn example_model(live: &Live) -> String {
    let alias = live.routes.aliases().next().map(|(alias, _)| alias.to_owned());
    let named = alias.or_else(|| live.routes.listed().first().cloned());
    let upstream = live.routes.upstreams().next().map(|(id, _)| format!("{id}/MODEL"));
    named.or(upstream).unwrap_or_else(|| "offline/rules".to_owned())
}
