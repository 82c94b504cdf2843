//! The tools of `call` and `ask`: the built-in tools, within a folder. Tools with effects need
//! approval.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tokio::runtime::{Builder, Runtime};
use toolwright::builtin::{self, Root};
use toolwright::call::{Answer, Approval, Policy, Rule, Verdict};
use toolwright::handle::MemoryHandles;
use toolwright::json::Object;
use toolwright::{Effect, Handler, Json, Tool, Toolbox, object};

use super::exit::{self, Failure};
use crate::terminal;

/// Arguments that select tools and what they may do.
#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Let the tools work in this folder only
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Run tools that change something without asking
    #[arg(long)]
    yes: bool,
}

/// Maximum number of bytes of a result that is shown to a person.
const SHOWN_MAX: usize = 64 << 20;

/// Why a tool needs approval.
const REASON: &str = "It changes something.";

impl Tools {
    /// Creates the toolbox for a model.
    pub(crate) fn toolbox(&self) -> Result<Toolbox, Failure> {
        self.boxed(self.handlers()?)
    }

    /// Creates the toolbox for a person: long results are not stored behind handles, which would
    /// end with the process.
    pub(crate) fn toolbox_for_people(&self) -> Result<Toolbox, Failure> {
        let handlers = self.handlers()?.into_iter();
        self.boxed(handlers.map(|handler| handler.with_budget(SHOWN_MAX)).collect())
    }

    fn handlers(&self) -> Result<Vec<Handler>, Failure> {
        let name = self.root.display().to_string();
        let root = Root::open(&self.root).map_err(exit::io(&name))?;
        Ok(builtin::handlers(root))
    }

    fn boxed(&self, handlers: Vec<Handler>) -> Result<Toolbox, Failure> {
        let changing: Vec<String> = handlers
            .iter()
            .filter(|handler| handler.settings().effect != Effect::None)
            .map(|handler| handler.tool().name.clone())
            .collect();
        let toolbox = Toolbox::new(handlers).map_err(|error| Failure::failed(error.to_string()))?;
        let toolbox = toolbox.with_handles(Arc::new(MemoryHandles::default()));
        if self.yes || changing.is_empty() {
            return Ok(toolbox);
        }
        let names = changing.iter().map(String::as_str);
        let ask = Rule::new(Verdict::Ask).with_tools(names).with_reason(REASON);
        Ok(toolbox.with_policy(Policy::default().with_rule(ask)))
    }
}

/// Creates the runtime. Commands that do not need it do not pay for it.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(exit::io("runtime"))
}

/// Whether stdin and stderr are a terminal, so that a person can approve calls.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for approval on the terminal. Without a terminal the call is rejected.
pub(crate) fn confirm(approval: &Approval) -> Result<Answer, Failure> {
    if !is_interactive() {
        let reason = "There is no terminal to ask for approval. Pass --yes to approve it in \
                      advance.";
        return Ok(Answer::Reject(reason.to_owned()));
    }
    let arguments = Json::Object(approval.arguments.clone()).pretty();
    confirm_text(&format!("{} {arguments}", approval.call.name), &approval.reason)
}

/// Asks a person on the terminal whether something may run.
pub(crate) fn confirm_text(what: &str, reason: &str) -> Result<Answer, Failure> {
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

/// Lists the tools: name, whether it needs approval, description.
pub(crate) fn list(toolbox: &Toolbox) -> Result<(), Failure> {
    let rows: Vec<[String; 3]> = toolbox.tools().iter().map(|tool| row(toolbox, tool)).collect();
    let mut stdout = io::stdout().lock();
    terminal::table(&mut stdout, ["TOOL", "EFFECT", "WHAT IT DOES"], &rows)
        .map_err(exit::io("stdout"))
}

/// Writes the definitions of the tools, in the form that `toolwright args` reads.
pub(crate) fn define(toolbox: &Toolbox) -> Result<(), Failure> {
    let definitions: Vec<Object> = toolbox.tools().iter().map(definition).collect();
    terminal::write(&Json::from(definitions).pretty()).map_err(exit::io("stdout"))
}

fn definition(tool: &Tool) -> Object {
    object! {
        "name": tool.name.as_str(),
        "description": tool.description.as_deref(),
        "parameters": tool.parameters().cloned(),
    }
}

fn row(toolbox: &Toolbox, tool: &Tool) -> [String; 3] {
    let effect = toolbox.handler(&tool.name).map(|handler| handler.settings().effect);
    let effect = if effect == Some(Effect::None) { "none" } else { "asks" };
    let about = tool.description.as_deref().unwrap_or_default();
    let first = about.split_inclusive(['.', '。']).next().unwrap_or_default().replace('\n', " ");
    [tool.name.clone(), effect.to_owned(), first]
}
