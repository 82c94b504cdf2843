//! `toolwright ask`: sends a question to a model with tools and runs its calls.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use toolwright_core::{Call, Json, Part, Response};
use toolwright_gateway::terminal;
use toolwright_plan::record_run;
use toolwright_runtime::call::CallResult;
use toolwright_runtime::chat::response;
use toolwright_runtime::offline::OFFLINE;
use toolwright_runtime::run::{Limit, RunError, RunEvent, RunResult};
use toolwright_runtime::{Agent, Limits, Run};

use super::exit::{self, Failure, Result};
use super::input;
use super::tools::{self, ToolOptions};

/// The instructions of the model.
const INSTRUCTIONS: &str = "You answer questions with the tools that you have. Files, git and tables \
    are those of one folder. Data behind a handle stays there: pass the handle on.";

/// Maximum number of characters of arguments that progress shows.
const SHOWN: usize = 100;

/// Arguments of `ask`.
#[derive(Debug, Args)]
#[command(after_help = "\
The answer goes to stdout, progress to stderr if that is a terminal. The model offline/rules needs
neither key nor network: it is no language model but a stand-in that matches words and extracts
arguments, in English and Chinese, so that everything can be tried.

With --json the answer is one document:
  {\"message\": {\"content\": {\"text\", \"reasoning\"},
               \"tool_desc\": [{\"id\", \"type\", \"name\", \"arguments\"}], \"finish_reason\"},
   \"model\", \"usage\": {\"input_tokens\", \"output_tokens\", \"total_tokens\"}}
tool_desc lists the calls that were made on the way, in order (null if there were none), and usage
adds up all turns. The tokens of offline/rules are estimated: one for four ASCII characters, one for
any other character.

The tools are the built-in ones, or those that --use selects, as the header toolwright-tools of the
gateway does. A built-in tool that changes something asks first on a terminal; elsewhere it runs only
with --yes. The data folder has every call in its ledger, and every effect in its journal.

Examples:
  toolwright ask \"git status\"
  toolwright ask \"读取 data.csv 并删除缺失数据\" --json
  toolwright ask \"list files\" --root src
  toolwright ask \"现在几点？\" --use mcp:time --model gpt-4o
  toolwright ask \"读取 data.csv 并删除缺失数据\" --record plan.json")]
pub(crate) struct Ask {
    /// Ask this question; `-` reads it from stdin
    question: String,
    /// Ask this model: `upstream/model`, a name of the configuration, or an id such as `gpt-4o`
    #[arg(long, value_name = "MODEL", default_value = OFFLINE)]
    model: String,
    #[command(flatten)]
    tools: ToolOptions,
    /// Write the answer as one JSON document
    #[arg(long)]
    json: bool,
    /// Write the calls as a plan to this file, which runs without a model
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Ask the model at most this many times
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
}

impl Ask {
    /// Asks the model and writes its answer.
    pub(crate) fn run(self) -> Result<()> {
        let question = match self.question.as_str() {
            "-" => input::text(Path::new("-"))?,
            text => text.to_owned(),
        };
        if question.trim().is_empty() {
            let hint = "say what you want, such as: toolwright ask \"git status\"";
            return Err(Failure::usage("the question is empty").with_hint(hint));
        }
        let finished = tools::block_on(async {
            let gateway = tools::open(&self.tools.config()?)?;
            let live = gateway.live();
            let model = live.routes.model(&self.model).map_err(|fault| {
                Failure::usage(fault.message).with_hint("leave out --model, or use offline/rules")
            })?;
            let selected = self.tools.selected(&live.tools).await?;
            let toolbox = selected.unwrap_or_else(|| live.tools.builtins());
            let toolbox = tools::equip(&gateway, toolbox, self.tools.yes);
            let agent = Agent::new("toolwright")
                .with_instructions(INSTRUCTIONS)
                .with_tools(toolbox.clone())
                .with_model(model);
            let run = agent.run(question).with_limits(Limits::turns(self.turns));
            let run = run.with_conversation(self.tools.conversation.as_str());
            let run = run.with_context(tools::context()).build();
            let mut run = run.map_err(failed)?;
            let finished = follow(&mut run).await?;
            if let Some(file) = &self.record {
                let recorded = record_run(&run.save(), &toolbox).await;
                let recording = recorded.map_err(exit::failed)?;
                super::plan::record::write(&recording, Some(file))?;
            }
            gateway.telemetry.close().await.map_err(exit::failed)?;
            Ok::<_, Failure>(finished)
        })??;
        let answer = if self.json {
            Json::Object(response::write(&summarize(&finished))).pretty()
        } else {
            finished.response.refusal().map_or(finished.text, str::to_owned)
        };
        exit::print(&answer)
    }
}

fn failed(error: RunError) -> Failure {
    let failure = Failure::failed(error.to_string());
    match error {
        RunError::Limit(Limit::Turns(_)) => failure.with_hint("--turns allows more"),
        _ => failure,
    }
}

/// Follows a run to its end. A person at the terminal sees the calls and approves them.
async fn follow(run: &mut Run) -> Result<RunResult> {
    let watched = io::stderr().is_terminal();
    loop {
        match run.next().await {
            Ok(Some(RunEvent::Finished(finished))) => return Ok(*finished),
            Ok(Some(RunEvent::CallStarted(call))) if watched => started(&call)?,
            Ok(Some(RunEvent::CallDone(done))) if watched => ended(&done)?,
            Ok(Some(_)) => {}
            Ok(None) => return run.finish().await.map_err(failed),
            Err(RunError::Waiting(waiting)) => {
                for approval in waiting {
                    let answer = tools::confirm(&approval)?;
                    run.answer(&approval.id, answer).map_err(failed)?;
                }
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

fn started(call: &Call) -> Result<()> {
    let shown = exit::shorten(call.arguments.as_str(), SHOWN);
    print_progress(&format!("→ {} {shown}", call.name))
}

fn ended(done: &CallResult) -> Result<()> {
    let name = done.outcome.name.as_deref().unwrap_or_default();
    let took = done.duration.as_millis();
    match &done.error {
        None => print_progress(&format!("✓ {name} ({took} ms)")),
        Some(error) => print_progress(&format!("✗ {name}: {} ({took} ms)", error.error_type())),
    }
}

fn print_progress(line: &str) -> Result<()> {
    writeln!(io::stderr().lock(), "{}", terminal::plain(line)).map_err(exit::io("stderr"))
}

/// The run as one document: the last text, all calls, all tokens.
fn summarize(finished: &RunResult) -> Response {
    let mut response = finished.response.clone();
    response.parts.extend(finished.calls().cloned().map(Part::call));
    response.usage = Some(finished.usage.clone());
    response
}
