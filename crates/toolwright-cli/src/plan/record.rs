//! `toolwright plan record`: a plan of a finished run, or of the calls in a response.

use std::path::{Path, PathBuf};

use clap::Args;
use toolwright_core::{Call, Json, Message};
use toolwright_gateway::gateway::STORE_FILE;
use toolwright_gateway::tool_runs::saved_runs;
use toolwright_plan::{RecordError, Recording, messages_with_calls, record_messages, record_run};
use toolwright_runtime::Toolbox;
use toolwright_runtime::store::ExpiringStore;

use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};
use crate::{input, tools};

#[derive(Debug, Args)]
pub(super) struct Record {
    /// The run: the `toolwright-request-id` of a reply for which the gateway ran tools, or a file with a run that the
    /// library saved
    #[arg(required_unless_present = "calls", conflicts_with = "calls")]
    run: Option<String>,
    /// Read calls from this file: a response, a message or a request of any dialect
    #[arg(long, value_name = "FILE")]
    calls: Option<PathBuf>,
    /// Write the plan to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the plan and the notes as JSON: {\"plan\", \"notes\"}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tools: PlanToolOptions,
}

impl Record {
    pub(super) fn run(self) -> Result<(), Failure> {
        let recording = match (&self.calls, &self.run) {
            (Some(file), _) => self.of_calls(file)?,
            (None, Some(run)) => tools::block_on(self.of_run(run))??,
            (None, None) => return Err(Failure::usage("pass a run, or --calls FILE")),
        };
        if self.json {
            return super::save(recording.to_json(), self.output.as_deref());
        }
        write(&recording, self.output.as_deref())
    }

    fn of_calls(&self, file: &PathBuf) -> Result<Recording, Failure> {
        self.tools.allow_stdin(&[file])?;
        let document = input::json(Some(file))?;
        let Some(messages) = messages_with_calls(&document) else {
            let what = format!("{}: no dialect finds a call in it", file.display());
            return Err(Failure::failed(what).with_hint("pass the body of a response with calls"));
        };
        let name = |call: &Call| call.name.clone();
        let names: Vec<String> = messages.iter().flat_map(Message::calls).map(name).collect();
        let tools = self.tools.load(names.iter().map(String::as_str))?;
        let failed = |error| Failure::failed(format!("{}: {error}", file.display()));
        record_messages(&messages, &tools).map_err(failed)
    }

    async fn of_run(&self, run: &str) -> Result<Recording, Failure> {
        let (saved, toolbox) = match Path::new(run) {
            file if run == "-" || file.exists() => {
                (input::json(Some(file))?, self.tools.toolbox(true).await?)
            }
            _ => self.find(run).await?,
        };
        record_run(&saved, &toolbox).await.map_err(|error| {
            let failure = Failure::failed(format!("{run}: {error}"));
            match error {
                RecordError::Saved(_) => failure.with_hint("pass a run that `Run::save` returned"),
                _ => failure,
            }
        })
    }

    /// Finds a run in the data folder of the gateway, with the values behind its handles.
    async fn find(&self, run: &str) -> Result<(Json, Toolbox), Failure> {
        let data = self.tools.config.data()?;
        let unknown = || {
            let what = format!("{}: there is no finished run '{run}'", data.display());
            let hint = "the gateway keeps runs of its tools for a day; name its folder with --data";
            Failure::failed(what).with_hint(hint)
        };
        let store = data.join(STORE_FILE);
        if !store.exists() {
            return Err(unknown());
        }
        let store = ExpiringStore::open(store).map_err(exit::failed)?;
        let saved =
            saved_runs::find_in(&store, run).await.map_err(exit::failed)?.ok_or_else(unknown)?;
        Ok((saved, self.tools.toolbox(true).await?))
    }
}

/// Writes a plan to a file or stdout, and its notes to stderr.
pub(crate) fn write(recording: &Recording, file: Option<&Path>) -> Result<(), Failure> {
    if recording.plan.steps.is_empty() {
        return Err(Failure::failed("there is no successful call to make a plan of"));
    }
    for note in &recording.notes {
        exit::warn(&note.to_string());
    }
    super::save(recording.plan.to_json(), file)
}
