//! The tools of a command: those of the configuration, with the ledger, the journal and the handles of the data folder.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use clap::Args;
use tokio::runtime::Builder;
use toolwright_core::{Json, Tool, object};
use toolwright_gateway::config::ConfigError;
use toolwright_gateway::telemetry::{RequestId, Telemetry};
use toolwright_gateway::tools::Tools;
use toolwright_gateway::{Config, Gateway, terminal};
use toolwright_json::Object;
use toolwright_mcp::Interaction;
use toolwright_runtime::call::{Answer, Approval, Policy};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::{Context, Effect, Session, Toolbox};

use super::config::{ConfigOptions, environment};
use super::exit::{self, Failure, Result};
use super::form::TerminalForm;

/// Arguments that select tools and what they may do.
#[derive(Debug, Args)]
pub(crate) struct ToolOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// Use these tools, separated by commas: names, tool sets, PREFAB/FUNCTION, mcp:SERVER, catalog, or `*`
    #[arg(long = "use", value_name = "TOOLS")]
    selection: Option<String>,
    /// Let the built-in tools work in this folder only [default: `root` of [tools], or .]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Run tools that change something without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Use the handles and slots of this conversation
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub(crate) conversation: String,
}

impl ToolOptions {
    /// Loads the configuration. Without `[tools]`, the built-in tools work in the current folder.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = self.config.load()?;
        let tools = config.tools.get_or_insert_default();
        tools.root = self.root.clone().unwrap_or_else(|| tools.root.clone());
        Ok(config)
    }

    /// Returns the selected tools, if there is a selection.
    pub(crate) async fn selected(&self, tools: &Tools) -> Result<Option<Toolbox>> {
        let Some(list) = &self.selection else { return Ok(None) };
        let is_known = |name: &str| name.contains('/') || tools.all().handler(name).is_some();
        if !list.split(',').all(|name| is_known(name.trim())) {
            drop(refreshed(tools.all()).await);
        }
        let selected = tools.select(list, "--use").await;
        selected.map(Some).map_err(|fault| Failure::usage(fault.message))
    }

    /// Creates the session of a call. Another call is another one, also with the same arguments.
    pub(crate) fn session(&self) -> Session {
        let session = Session::new(RequestId::random().to_string());
        session.with_conversation(self.conversation.as_str()).with_context(context())
    }
}

/// Returns the context of calls: on a terminal, its user gives input that MCP servers ask for.
pub(crate) fn context() -> Context {
    let form = is_interactive().then(|| Interaction::new().with_input(TerminalForm));
    form.map_or_else(Context::new, |form| Context::new().with(form))
}

/// Opens a gateway without a port: its tools, and the ledger, the journal and the handles of the data folder.
pub(crate) fn open(config: &Config) -> Result<Gateway> {
    let telemetry = Telemetry::open(&config.data, &config.telemetry).map_err(exit::failed)?;
    Gateway::new(config, &environment, telemetry)?.with_data(config).map_err(exit::failed)
}

/// Opens a gateway whose tools are not called.
pub(crate) fn inspect(config: &Config) -> Result<Gateway, ConfigError> {
    Gateway::new(config, &environment, Telemetry::default())
}

/// Returns tools with the journal and the handles of a gateway. If they are approved, none asks for approval.
pub(crate) fn equip(gateway: &Gateway, toolbox: Toolbox, are_approved: bool) -> Toolbox {
    let toolbox = toolbox.with_journal(gateway.stores.journal.shared());
    let toolbox = toolbox.with_handles(Arc::clone(&gateway.stores.handles));
    if are_approved { toolbox.with_policy(Policy::default()) } else { toolbox }
}

/// Lists the tools of the MCP servers, and warns about those that cannot be listed.
pub(crate) async fn refreshed(toolbox: Toolbox) -> Toolbox {
    toolbox.refresh().await;
    warn(&toolbox);
    toolbox
}

/// Warns about MCP servers whose tools could not be listed.
pub(crate) fn warn(toolbox: &Toolbox) {
    for report in toolbox.source_reports() {
        for problem in &report.problems {
            exit::warn(&format!("the MCP server `{}` {problem}", report.source));
        }
    }
}

/// Waits for the work of a command. Commands that do not need a runtime do not pay for it.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(exit::io("runtime"))?;
    // One type, so that the executor is compiled once.
    let work: Pin<Box<dyn Future<Output = T>>> = Box::pin(work);
    Ok(runtime.block_on(work))
}

/// Whether stdin and stderr are a terminal, so that a person can approve calls.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for approval on the terminal. Without a terminal the call is rejected.
pub(crate) fn confirm(approval: &Approval) -> Result<Answer> {
    if !is_interactive() {
        let reason = "There is no terminal to ask for approval. Pass --yes to approve it in \
                      advance.";
        return Ok(Answer::Reject(reason.to_owned()));
    }
    let arguments = Json::Object(approval.arguments.clone()).pretty();
    confirm_text(&format!("{} {arguments}", approval.call.name), &approval.reason)
}

/// Asks a person on the terminal whether something may run.
pub(crate) fn confirm_text(what: &str, reason: &str) -> Result<Answer> {
    let mut stderr = io::stderr().lock();
    let (what, reason) = (terminal::plain(what), terminal::plain(reason));
    write!(stderr, "{what}\n{reason} Run it? [y/N] ")
        .and_then(|()| stderr.flush())
        .map_err(exit::io("stderr"))?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(exit::io("stdin"))?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "是" => Ok(Answer::Approve),
        _ => Ok(Answer::Reject("rejected at the terminal.".to_owned())),
    }
}

/// Lists the tools: as a table, or as definitions in the form that `toolwright args` reads.
pub(crate) fn list(tools: &Tools, toolbox: Toolbox, is_json: bool) -> Result<()> {
    let toolbox = toolbox.with_handles(Arc::new(MemoryHandles::default()));
    let all = toolbox.tools();
    if is_json {
        let definitions: Vec<Object> = all.iter().map(definition).collect();
        return exit::print(&Json::from(definitions).pretty());
    }
    let row = |tool: &Tool| {
        let about = tool.description.as_deref().unwrap_or_default();
        let first = about.split_inclusive(['.', '。']).next().unwrap_or_default();
        let handler = toolbox.handler(&tool.name);
        let effect = match handler.map(|handler| handler.settings().effect) {
            _ if tools.is_guarded(&tool.name) => "asks",
            Some(Effect::None) => "none",
            _ => "runs",
        };
        [tool.name.clone(), effect.to_owned(), terminal::plain(&first.replace('\n', " "))]
    };
    let rows: Vec<[String; 3]> = all.iter().map(row).collect();
    exit::print_table(&["TOOL", "EFFECT", "WHAT IT DOES"], &rows)
}

fn definition(tool: &Tool) -> Object {
    object! {
        "name": tool.name.as_str(),
        "description": tool.description.as_deref(),
        "parameters": tool.parameters().cloned(),
    }
}
