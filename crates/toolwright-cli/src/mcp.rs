//! `toolwright mcp`: an MCP server on stdin and stdout, and the MCP servers of the configuration.

mod add;
mod approve;
mod login;

use std::sync::Arc;

use clap::{Args, Subcommand};
use futures_util::future::join_all;
use toolwright_core::{Arguments, Call, Json, object, suggest};
use toolwright_gateway::mcp::McpServers;
use toolwright_gateway::mcp::config::{McpPlace, McpServer};
use toolwright_gateway::mcp::pins::Pins;
use toolwright_gateway::telemetry::RequestId;
use toolwright_gateway::{Config, terminal};
use toolwright_mcp::server::{Announcer, Exchange, Server, serve_stdio};
use toolwright_mcp::{Client, ClientError, DefinitionPins, ServerInfo};
use toolwright_runtime::call::CallStatus;
use toolwright_runtime::{Session, Toolbox};

use self::add::Add;
use self::login::{Login, Logout};
use super::config::ConfigOptions;
use super::exit::{self, Failure, Result};
use super::{input, tools};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without a subcommand, an MCP server on stdin and stdout, for hosts that start their servers. It has
the tools of the table [tools], those of the catalog, and those of the tables [mcp.NAME].

Examples:
  toolwright mcp --config /path/to/toolwright.toml
  toolwright mcp add files --command npx -y @modelcontextprotocol/server-filesystem notes
  toolwright mcp add tickets --url https://tickets.example/mcp
  toolwright mcp add --import ~/.cursor/mcp.json
  toolwright mcp list
  toolwright mcp test files
  toolwright mcp login tickets
  toolwright mcp test files read_text_file --args '{\"path\": \"notes.txt\"}'")]
pub(crate) struct Mcp {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    config: ConfigOptions,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the configured MCP servers and their tools
    List,
    /// Add an MCP server to the configuration
    Add(Box<Add>),
    /// Connect to an MCP server and list its tools, or call one of them
    Test(Test),
    /// Log in at an MCP server, and store the access token in the data folder
    Login(Login),
    /// Remove the access token of an MCP server
    Logout(Logout),
    /// Approve the definitions of an MCP server's tools as they are now
    Approve(approve::Approve),
}

#[derive(Debug, Args)]
struct Test {
    /// The name of the server
    server: String,
    /// Call this tool, by its own name
    tool: Option<String>,
    /// Use these arguments; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    args: String,
}

impl Mcp {
    /// Serves, lists or tests.
    pub(crate) fn run(self) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(exit::io("runtime"))?;
        if let Some(Action::Add(add)) = self.action {
            return runtime.block_on(add.run(self.config));
        }
        let config = self.config.load()?;
        let done = runtime.block_on(async {
            match self.action {
                None | Some(Action::Add(_)) => serve(&config).await,
                Some(Action::List) => list(&config, self.json).await,
                Some(Action::Test(test)) => test.run(&config, self.json).await,
                Some(Action::Login(login)) => login.run(&config).await,
                Some(Action::Logout(logout)) => logout.run(&config).await,
                Some(Action::Approve(approve)) => approve.run(&config, self.json).await,
            }
        });
        // A read of stdin cannot be interrupted.
        runtime.shutdown_background();
        done
    }
}

/// Maximum number of unfinished effects that are reported at the start.
const MAX_REPORTED: usize = 20;

/// Serves a client on stdin and stdout.
async fn serve(config: &Config) -> Result<()> {
    let gateway = tools::open(config)?;
    let unfinished = gateway.stores.journal.unfinished().await.map_err(exit::failed)?;
    for effect in unfinished.iter().rev().take(MAX_REPORTED) {
        let tool = &effect.intent.tool;
        exit::warn(&format!(
            "an earlier call of {tool} did not finish: its effect is unknown, unless another process still runs it"
        ));
    }
    let live = gateway.live();
    let announcer = Announcer::default();
    live.follow(&announcer);
    live.tools.listed().await;
    // The host of the server asks its user, who started it.
    let exchange = |outbox| Exchange {
        session: Session::new(RequestId::random().to_string()).with_conversation("mcp:stdio"),
        toolbox: tools::equip(&gateway, live.tools.all(), false),
        features: live.servers.all_features(),
        outbox,
        changes: announcer.subscribe(),
        may_approve: Arc::new(|_: &str| true),
    };
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    let output = tokio::io::stdout();
    let served = serve_stdio(Server::new(), exchange, input, output).await;
    gateway.telemetry.close().await.map_err(exit::failed)?;
    served.map_err(exit::io("stdin"))
}

/// A server, and what it offers.
type Row<'c> = (&'c String, &'c McpServer, Result<Counts, ClientError>);

/// What a server offers.
struct Counts {
    info: ServerInfo,
    tools: usize,
    /// Tools whose definitions have changed since they were approved
    changed: Vec<String>,
    prompts: usize,
    resources: usize,
    templates: usize,
}

impl Counts {
    /// Lists everything; what the server cannot list beside its tools counts as none.
    async fn of(client: &Client, pins: Option<&Pins>) -> Result<Counts, ClientError> {
        let info = client.info().await?;
        let tools = if info.has("tools") { client.list_tools().await? } else { Vec::new() };
        if let Some(pins) = pins {
            pins.changed(&approve::definitions(&tools));
        }
        let count = |listed: Result<Vec<Json>, ClientError>| listed.map_or(0, |own| own.len());
        Ok(Counts {
            tools: tools.len(),
            changed: pins.map(Pins::changed_tools).unwrap_or_default().into_iter().collect(),
            prompts: count(client.list_prompts().await),
            resources: count(client.list_resources().await),
            templates: count(client.list_resource_templates().await),
            info,
        })
    }

    /// Returns each number that is not zero with its name; that of the tools in any case.
    fn named(&self) -> impl Iterator<Item = (&'static str, usize)> {
        let all = [
            ("tools", self.tools),
            ("prompts", self.prompts),
            ("resources", self.resources),
            ("templates", self.templates),
        ];
        all.into_iter().filter(|(name, count)| *name == "tools" || *count > 0)
    }
}

async fn list(config: &Config, is_json: bool) -> Result<()> {
    let servers = McpServers::inspect(&config.mcp, &config.data)?;
    let rows = config.mcp.iter().filter_map(|(name, settings)| {
        let (client, servers) = (servers.client(name)?, &servers);
        Some(async move { (name, settings, Counts::of(client, servers.pins(name)).await) })
    });
    let rows = join_all(rows).await;
    if is_json {
        let row = |(name, settings, counts): &Row<'_>| {
            let mut document = object! {"name": name.as_str(), "place": place(&settings.place)};
            match counts {
                Ok(counts) => {
                    document.insert("version", counts.info.version.as_str());
                    for (name, count) in counts.named() {
                        document.insert(name, count);
                    }
                    let changed = counts.changed.iter().map(|tool| Json::from(tool.as_str()));
                    document.insert("changed", changed.collect::<Vec<Json>>());
                }
                Err(error) => document.insert("error", error.operator_text()),
            }
            Json::from(document)
        };
        exit::print(&Json::Array(rows.iter().map(row).collect()).pretty())
    } else if rows.is_empty() {
        exit::print("no MCP servers; add the table [mcp.NAME] to toolwright.toml")
    } else {
        let row = |(name, settings, counts): &Row<'_>| {
            let (version, state) = match counts {
                Ok(counts) => {
                    let named: Vec<String> =
                        counts.named().map(|(name, count)| format!("{count} {name}")).collect();
                    let mut state = named.join(", ");
                    if !counts.changed.is_empty() {
                        let changed = counts.changed.join(", ");
                        state = format!("{state}; changed since approval: {changed}");
                    }
                    (counts.info.version.clone(), state)
                }
                Err(error) => (String::new(), error.operator_text()),
            };
            let place = terminal::plain(&place(&settings.place));
            [(*name).clone(), version, terminal::plain(&state), place]
        };
        let rows: Vec<[String; 4]> = rows.iter().map(row).collect();
        exit::print_table(&["NAME", "VERSION", "STATE", "SERVER"], &rows)
    }
}

/// The failure for a server that is not configured.
pub(crate) fn unknown(config: &Config, name: &str) -> Failure {
    let failure = Failure::failed(format!("there is no MCP server {name:?}"));
    match suggest(name, config.mcp.keys().map(String::as_str)) {
        Some(name) => failure.with_hint(format!("did you mean {name}?")),
        None => failure.with_hint("toolwright mcp list shows the servers"),
    }
}

/// Where a server is, without its secrets.
fn place(place: &McpPlace) -> String {
    match place {
        McpPlace::Command { command, .. } => command.join(" "),
        McpPlace::Url { url, .. } => url.to_string(),
    }
}

impl Test {
    async fn run(self, config: &Config, is_json: bool) -> Result<()> {
        let servers = McpServers::inspect(&config.mcp, &config.data)?;
        let Some(source) = servers.source(&self.server) else {
            return Err(unknown(config, &self.server));
        };
        let toolbox = Toolbox::default().with_sources([Arc::new(source.with_prefix("")) as _]);
        toolbox.refresh().await;
        if let Some(tool) = &self.tool {
            let gateway = tools::open(config)?;
            let toolbox = toolbox.with_journal(gateway.stores.journal.shared());
            let toolbox = toolbox.with_ledger(gateway.telemetry.ledger());
            let called = self.call(&toolbox, tool).await;
            gateway.telemetry.close().await.map_err(exit::failed)?;
            return called;
        }
        let reports = toolbox.source_reports();
        let problems: Vec<String> =
            reports.iter().flat_map(|own| &own.problems).map(ToString::to_string).collect();
        let tools = toolbox.tools();
        if is_json {
            let tool = |tool: &toolwright_core::Tool| {
                Json::from(object! {
                    "name": tool.name.as_str(),
                    "description": tool.description.clone().unwrap_or_default(),
                })
            };
            let problems: Vec<Json> = problems.iter().map(|own| own.as_str().into()).collect();
            let tools: Vec<Json> = tools.iter().map(tool).collect();
            exit::print(&Json::from(object! {"tools": tools, "problems": problems}).pretty())?;
        } else {
            let row = |tool: &toolwright_core::Tool| {
                let about = tool.description.as_deref().unwrap_or_default();
                let first = about.lines().next().unwrap_or_default();
                [tool.name.clone(), terminal::plain(first)]
            };
            let rows: Vec<[String; 2]> = tools.iter().map(row).collect();
            exit::print_table(&["TOOL", "DESCRIPTION"], &rows)?;
        }
        match problems.first() {
            None => Ok(()),
            Some(_) => Err(Failure::failed(terminal::plain(&problems.join("\n")))),
        }
    }

    /// Calls a tool. The user of the terminal gives input that the server asks for.
    async fn call(&self, toolbox: &Toolbox, tool: &str) -> Result<()> {
        let text = input::argument(&self.args)?;
        let session = Session::new(RequestId::random().to_string()).with_context(tools::context());
        let call = Call::new("call_1", tool, Arguments::from_text(text));
        let CallStatus::Done(done) = toolbox.call(&session, &call).await else {
            return Err(Failure::failed(format!("{tool} needs approval")));
        };
        match &done.error {
            Some(error) => Err(exit::call_failed(error)),
            None => exit::print(&done.outcome.words()),
        }
    }
}
