//! `toolwright call`: runs one tool through the same pipeline as a model's call.

use std::sync::Arc;

use clap::Args;
use toolwright_core::args::Change;
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Body, Json, Outcome, object};
use toolwright_gateway::terminal;
use toolwright_gateway::tools::Tools;
use toolwright_runtime::Toolbox;
use toolwright_runtime::call::{CallResult, CallStatus};

use super::exit::{self, Failure, Result};
use super::input;
use super::tools::{self, ToolOptions};

/// Maximum number of bytes of a result that is shown to a person.
const MAX_SHOWN_BYTES: usize = 64 << 20;

/// Arguments of `call`.
#[derive(Debug, Args)]
#[command(after_help = "\
The arguments are JSON, or what a model wrote: they are repaired, coerced, completed and checked as
those of a model are. The result goes to stdout; if the call failed, why goes to stderr, and the
exit code is 1. Without a tool, the tools are listed: with --json as an array of definitions
{\"name\", \"description\", \"parameters\"}.

The tools are the built-in ones, those of the MCP servers in the configuration, those of the catalog,
and its functions as PREFAB/FUNCTION. A handle (tw:…) in a result can be passed to the next call for
a day. The data folder has every call in its ledger, and every effect in its journal.

With --json the result is one document:
  {\"success\": true, \"tool_name\", \"result\": …, \"changes\": […]}
  {\"success\": false, \"tool_name\", \"error\", \"error_type\", \"changes\": […]}

A tool that changes something asks first on a terminal; elsewhere it runs only with --yes.

Examples:
  toolwright call
  toolwright call read_file --args '{\"path\": \"README.md\"}'
  toolwright call git_log --args '{limit: 3}' --root ../project --json
  toolwright call write_file --args @note.json --yes
  toolwright call word-prefab/count_words --args '{\"text\": \"to be or not to be\"}'
  toolwright call --use mcp:time --list")]
pub(crate) struct Call {
    /// Call this tool; without a name, list the tools
    tool: Option<String>,
    /// Use these arguments; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    args: String,
    #[command(flatten)]
    tools: ToolOptions,
    /// Write the result as one JSON document
    #[arg(long)]
    json: bool,
    /// List the tools
    #[arg(long)]
    list: bool,
}

impl Call {
    /// Makes the call, or lists the tools.
    pub(crate) fn run(mut self) -> Result<()> {
        let tool = self.tool.take().filter(|_| !self.list);
        tools::block_on(async {
            match tool {
                Some(tool) => self.call(tool).await,
                None => self.list().await,
            }
        })?
    }

    async fn list(&self) -> Result<()> {
        let all = Arc::clone(&tools::inspect(&self.tools.config()?)?.live().tools);
        let toolbox = match self.tools.selected(&all).await? {
            Some(selected) => selected,
            None => tools::refreshed(all.all()).await,
        };
        tools::list(&all, toolbox, self.json)
    }

    async fn call(self, tool: String) -> Result<()> {
        let text = input::argument(&self.args)?;
        let mut call = toolwright_core::Call::new("call_1", tool, Arguments::from_text(text));
        let gateway = tools::open(&self.tools.config()?)?;
        let toolbox = self.toolbox(&gateway.live().tools, &mut call.name).await?;
        let toolbox = tools::equip(&gateway, toolbox, self.tools.yes);
        let session = self.tools.session();
        let mut called = toolbox.call(&session, &call).await;
        let done = loop {
            match called {
                CallStatus::Done(done) => break done,
                CallStatus::Waiting(_) if !self.json && !tools::is_interactive() => {
                    let why =
                        "needs approval, and there is no terminal to ask on; nothing was done";
                    let failure = Failure::failed(format!("{} {why}", call.name));
                    return Err(failure.with_hint("pass --yes to approve it in advance"));
                }
                CallStatus::Waiting(approval) => {
                    let answer = tools::confirm(&approval)?;
                    called = toolbox.answer(&session, &approval, answer).await;
                }
            }
        };
        gateway.telemetry.close().await.map_err(exit::failed)?;
        if self.json {
            exit::print_json(document(&call.name, &done))?;
        }
        match &done.error {
            None if self.json => Ok(()),
            None => exit::print(&done.outcome.words()),
            Some(error) if self.json => {
                Err(Failure::failed(format!("{}: {}", call.name, error.error_type())))
            }
            Some(error) => Err(exit::call_failed(error)),
        }
    }

    /// Returns the tools. The result of the one that is called is not shortened for a model. Its name becomes that in
    /// the toolbox, which has no version.
    async fn toolbox(&self, tools: &Tools, name: &mut String) -> Result<Toolbox> {
        let all = match self.tools.selected(tools).await? {
            Some(selected) => selected,
            None if name.contains('/') || tools.all().handler(name).is_some() => {
                tools.for_plans(None)
            }
            None => tools::refreshed(tools.for_plans(None)).await,
        };
        let Ok(handler) = all.resolve(name).await else { return Ok(all) };
        name.clone_from(&handler.tool().name);
        let called = name.clone();
        let others = all.filtered(move |name| name != called);
        let toolbox = others.with_handlers([handler.with_budget(MAX_SHOWN_BYTES)]);
        toolbox.map_err(exit::failed)
    }
}

/// The envelope of a result.
fn document(tool: &str, done: &CallResult) -> Object {
    let changes: Vec<Object> = done.changes.iter().map(Change::to_json).collect();
    match &done.error {
        None => object! {
            "success": true,
            "tool_name": tool,
            "result": value(&done.outcome),
            "changes": changes,
        },
        Some(error) => object! {
            "success": false,
            "tool_name": tool,
            "error": terminal::without_advice(&error.text),
            "error_type": error.error_type(),
            "changes": changes,
        },
    }
}

/// Returns the content of an outcome: text or JSON, or a list if there are several parts.
fn value(outcome: &Outcome) -> Json {
    let mut values: Vec<Json> = outcome
        .content
        .iter()
        .filter_map(|part| match &part.body {
            Body::Text(text) => Some(Json::from(text.as_str())),
            Body::Json(value) => Some(value.clone()),
            _ => None,
        })
        .collect();
    match values.len() {
        1 => values.remove(0),
        _ => Json::Array(values),
    }
}
