//! `toolwright call`: runs one tool through the same pipeline as a model's call.

use std::path::Path;

use clap::Args;
use toolwright::call::{CallResult, CallStatus};
use toolwright::{Arguments, Body, Json, Outcome, Session};
use toolwright_core::args::Change;
use toolwright_core::json::Object;
use toolwright_core::object;

use super::exit::{self, Failure};
use super::input;
use super::tools::{self, Tools};
use crate::terminal;

/// Arguments of `call`.
#[derive(Debug, Args)]
#[command(after_help = "\
The arguments are JSON, or what a model wrote: they are repaired, coerced, completed and checked as
those of a model are. The result goes to stdout; if the call failed, why goes to stderr, and the
exit code is 1. Without a tool, the tools are listed: with --json as an array of definitions
{\"name\", \"description\", \"parameters\"}.

With --json the result is one document:
  {\"success\": true, \"tool_name\", \"result\": …, \"changes\": […]}
  {\"success\": false, \"tool_name\", \"error\", \"error_type\", \"changes\": […]}

A tool that changes something asks first on a terminal; elsewhere it runs only with --yes.

Examples:
  toolwright call
  toolwright call read_file --args '{\"path\": \"README.md\"}'
  toolwright call git_log --args '{limit: 3}' --root ../project --json
  toolwright call write_file --args @note.json --yes")]
pub(crate) struct Call {
    /// Call this tool; without a name, list the tools
    tool: Option<String>,
    /// Use these arguments; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    args: String,
    #[command(flatten)]
    tools: Tools,
    /// Write the result as one JSON document
    #[arg(long)]
    json: bool,
    /// List the tools
    #[arg(long)]
    list: bool,
}

impl Call {
    /// Makes the call, or lists the tools.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let toolbox = self.tools.toolbox_for_people()?;
        let Some(tool) = self.tool.filter(|_| !self.list) else {
            return if self.json { tools::define(&toolbox) } else { tools::list(&toolbox) };
        };
        let text = match self.args.strip_prefix('@') {
            Some(file) => input::text(Path::new(file))?,
            None => self.args,
        };
        let call = toolwright::Call::new("call_1", tool, Arguments::from_text(text));
        let session = Session::new("call");
        let done = tools::runtime()?.block_on(async {
            let mut called = toolbox.call(&session, &call).await;
            loop {
                match called {
                    CallStatus::Done(done) => return Ok::<CallResult, Failure>(done),
                    CallStatus::Waiting(approval) if !self.json && !tools::is_interactive() => {
                        let text = format!(
                            "{} needs approval, and there is no terminal to ask on; nothing was \
                             done",
                            approval.call.name
                        );
                        return Err(
                            Failure::failed(text).with_hint("pass --yes to approve it in advance")
                        );
                    }
                    CallStatus::Waiting(approval) => {
                        let answer = tools::confirm(&approval)?;
                        called = toolbox.answer(&session, &approval, answer).await;
                    }
                }
            }
        })?;
        if self.json {
            let document = Json::Object(document(&call.name, &done)).pretty();
            terminal::write(&document).map_err(exit::io("stdout"))?;
        }
        match &done.error {
            None if self.json => Ok(()),
            None => terminal::write(&done.outcome.words()).map_err(exit::io("stdout")),
            Some(error) if self.json => {
                Err(Failure::failed(format!("{}: {}", call.name, error.error_type())))
            }
            Some(_) => Err(Failure::failed(terminal::plain(&done.outcome.words()))),
        }
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
            "error": error.text.as_str(),
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
