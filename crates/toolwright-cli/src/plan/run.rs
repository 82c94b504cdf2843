//! Runs of plans: start, resume, list, show, answer, cancel, fork, delete.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use toolwright_core::Json;
use toolwright_core::json::{Object, Path as JsonPath};
use toolwright_core::{date, object};
use toolwright_gateway::plans::PLAN_FILE;
use toolwright_gateway::terminal;
use toolwright_plan::journal::{
    PlanJournal, PlanJournalError, Question, RunFilter, RunSummary, SqlitePlanJournal,
};
use toolwright_plan::{
    Engine, LocalEngine, NewRun, Plan, PlanRunError, RunReport, RunStatus, StepAnswer,
    StepQuestion, Template,
};
use toolwright_runtime::call::Answer;
use toolwright_runtime::{Caller, Toolbox};

use super::confirm::confirm;
use super::engine::{EngineOptions, TemporalOptions};
use super::progress;
use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};
use crate::{input, tools};

#[derive(Debug, Args)]
pub(super) struct Run {
    /// The plan
    file: PathBuf,
    /// Use these inputs; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    inputs: String,
    /// Show the steps with their arguments first, and ask whether they may run
    #[arg(long)]
    confirm: bool,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The run
    run: String,
    /// Continue although tools have changed since the run started
    #[arg(long)]
    changed_tools: bool,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(Debug, Args)]
pub(super) struct Fork {
    /// The run to repeat
    run: String,
    /// Repeat it from this step on
    step: String,
    /// Use these arguments for the step; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE")]
    args: Option<String>,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(Debug, Args)]
pub(super) struct Runs {
    /// Only runs in this state: running, waiting, succeeded, failed, cancelled
    #[arg(long, value_parser = status)]
    status: Option<RunStatus>,
    /// Show at most this many runs
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    temporal: TemporalOptions,
    #[command(flatten)]
    tools: PlanToolOptions,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The run
    run: String,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    tools: PlanToolOptions,
}

#[derive(Debug, Args)]
pub(super) struct AnswerQuestion {
    /// The run
    run: String,
    /// The step that waits
    step: String,
    /// The item of the step's `each`
    #[arg(long)]
    item: Option<usize>,
    /// Run the call
    #[arg(long, group = "answer")]
    approve: bool,
    /// Do not run the call, for this reason
    #[arg(long, value_name = "REASON", group = "answer")]
    reject: Option<String>,
    /// The call ran, and this is its output
    #[arg(long, value_name = "JSON", group = "answer")]
    output: Option<String>,
    #[command(flatten)]
    options: RunOptions,
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The run
    run: String,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    tools: PlanToolOptions,
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The run
    run: String,
    #[command(flatten)]
    tools: PlanToolOptions,
}

/// Arguments of commands that make calls.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// Approve the plan, and calls of built-in tools that change something
    #[arg(long)]
    yes: bool,
    /// Make at most this many calls at once
    #[arg(long, value_name = "CALLS")]
    parallel: Option<usize>,
    /// Print the report as JSON instead of the outputs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    pub(super) tools: PlanToolOptions,
}

impl Run {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.options.tools.allow_stdin(&[&self.file])?;
        let plan = super::read_to_run(&self.file, &self.options.tools)?;
        self.options.start(&self.file.display().to_string(), plan, &self.inputs, self.confirm)
    }
}

impl Resume {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Resume { run, changed_tools, options } = self;
        options.drive(Some(&run), changed_tools, async |_| Ok(run.as_str().into()))
    }
}

impl Fork {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Fork { run, step, args, options } = self;
        let arguments = args.as_deref().map(document).transpose()?.map(templates).transpose()?;
        tools::block_on(async {
            if options.engine.remote(Some(&run), None, &options.tools).await?.is_some() {
                return Err(Failure::usage("only runs of the local engine can be forked"));
            }
            let engine = options.local(false).await?;
            let forked = engine.fork(&run, &step, arguments, Caller::default()).await;
            let forked = forked.inspect(|run| announce(run)).map_err(failed)?;
            options.watch(&engine, &forked).await
        })?
    }
}

impl AnswerQuestion {
    pub(super) fn run(self) -> Result<(), Failure> {
        let answer = match (self.approve, self.reject, self.output) {
            (true, ..) => StepAnswer::Approve,
            (_, Some(reason), _) => StepAnswer::Reject(reason),
            (_, _, Some(output)) => StepAnswer::Output(Arc::new(document(&output)?)),
            _ => return Err(Failure::usage("pass --approve, --reject REASON or --output JSON")),
        };
        let (run, step, item) = (self.run, self.step, self.item);
        self.options.drive(Some(&run), false, async |engine| {
            let answered = engine.answer(&run, &step, item, answer).await;
            answered.map_err(failed)?;
            Ok(run.as_str().into())
        })
    }
}

impl RunOptions {
    /// Runs a plan, after a person has confirmed it if `confirms`. `name` is that of the plan in messages.
    pub(super) fn start(
        self,
        name: &str,
        plan: Plan,
        inputs: &str,
        confirms: bool,
    ) -> Result<(), Failure> {
        let inputs = document(inputs)?;
        if confirms && !self.yes {
            confirm(name, &plan, &self.tools.load(plan.tool_names())?)?;
        }
        let run = NewRun::new(plan, inputs);
        self.drive(None, false, async |engine| match engine.start(run).await {
            Err(PlanRunError::Invalid(errors)) => Err(super::refuse(name, &errors)),
            started => started.inspect(|run| announce(run)).map_err(failed),
        })
    }

    /// Makes the calls of a run, which `start` starts if there is none.
    fn drive(
        self,
        run: Option<&str>,
        changed_tools: bool,
        start: impl AsyncFnOnce(&dyn Engine) -> Result<Arc<str>, Failure>,
    ) -> Result<(), Failure> {
        tools::block_on(async {
            let remote = self.engine.remote(run, self.parallel, &self.tools).await?;
            let engine: Box<dyn Engine> = match remote {
                Some(engine) => engine,
                None => Box::new(self.local(changed_tools).await?),
            };
            self.watch(&*engine, &start(&*engine).await?).await
        })?
    }

    async fn local(&self, changed_tools: bool) -> Result<LocalEngine, Failure> {
        let mut engine = engine(&self.tools, self.yes).await?;
        if let Some(parallel) = self.parallel {
            engine = engine.with_parallel(parallel);
        }
        Ok(if changed_tools { engine.with_changed_tools() } else { engine })
    }

    /// Makes the calls of a run. Questions are asked on the terminal, if there is one.
    async fn watch(&self, engine: &dyn Engine, run: &str) -> Result<(), Failure> {
        let plan = engine.report(run).await.map_err(failed)?.run.plan;
        let flags = self.engine.flags();
        loop {
            let observer = progress::observer(&plan);
            let driven = engine.drive(run, Some(observer)).await;
            let report = driven.map_err(|error| match error {
                PlanRunError::Ended(_) => {
                    failed(error).with_hint(format!("toolwright plan show {run}{flags}"))
                }
                _ => failed(error).with_hint(hint(run, &flags)),
            })?;
            let mut answers = Vec::new();
            for question in &report.questions {
                // The policy of a worker does not know that its calls are approved.
                if self.yes && matches!(question.question, Question::Approval(_)) {
                    answers.push((question, StepAnswer::Approve));
                } else if tools::is_interactive() {
                    answers.push((question, ask(question)?));
                }
            }
            if report.status() != RunStatus::Waiting || answers.is_empty() {
                return print(&report, self.json, &flags);
            }
            for (question, answer) in answers {
                let (step, item) = (question.step.as_str(), question.item);
                let answered = engine.answer(run, step, item, answer).await;
                answered.map_err(failed)?;
            }
        }
    }
}

/// Asks a person on the terminal.
fn ask(question: &StepQuestion) -> Result<StepAnswer, Failure> {
    let answer = match &question.question {
        Question::Approval(approval) => tools::confirm(approval)?,
        other => tools::confirm_text(&question.step, other.reason())?,
    };
    Ok(match answer {
        Answer::Approve => StepAnswer::Approve,
        Answer::Reject(reason) => StepAnswer::Reject(reason),
    })
}

fn status(name: &str) -> Result<RunStatus, &'static str> {
    RunStatus::parse(name).ok_or("use running, waiting, succeeded, failed or cancelled")
}

impl Runs {
    pub(super) fn run(self) -> Result<(), Failure> {
        let filter =
            RunFilter { status: self.status, limit: Some(self.limit), ..RunFilter::default() };
        let runs = tools::block_on(async {
            let local = journal(&self.tools)?.list(&filter).await.map_err(exit::failed)?;
            // A wrong configuration is an error, and not an unreachable server.
            self.temporal.server(&self.tools)?;
            let remote = self.temporal.runs(&self.tools, &filter).await.unwrap_or_else(|failure| {
                failure.warn("its runs are not listed");
                Vec::new()
            });
            let local = local.into_iter().map(|run| ("local", run));
            let mut runs: Vec<(&str, RunSummary)> =
                local.chain(remote.into_iter().map(|run| ("temporal", run))).collect();
            runs.sort_by_key(|(_, run)| std::cmp::Reverse(run.created_ms));
            runs.truncate(self.limit);
            Ok::<_, Failure>(runs)
        })??;
        if self.json {
            let runs = runs.iter().map(|(engine, run)| {
                let mut out = object! {"run": &*run.id, "engine": *engine};
                out.insert("status", run.status.as_str());
                out.insert_some("name", run.name.as_deref());
                out.insert("created_ms", run.created_ms);
                out.insert_some("ended_ms", run.ended_ms);
                out
            });
            return exit::print_json(runs.collect::<Vec<Object>>());
        }
        let rows = runs.iter().map(|(engine, run)| {
            let name = run.name.as_deref().unwrap_or_default();
            [&*run.id, engine, run.status.as_str(), &date::write(run.created_ms / 1000), name]
                .map(str::to_owned)
        });
        let rows: Vec<[String; 5]> = rows.collect();
        exit::print_table(&["RUN", "ENGINE", "STATUS", "STARTED", "NAME"], &rows)
    }
}

impl Show {
    pub(super) fn run(self) -> Result<(), Failure> {
        let report = tools::block_on(async {
            let engine = any_engine(&self.run, &self.engine, &self.tools).await?;
            engine.report(&self.run).await.map_err(failed)
        })??;
        if self.json {
            return exit::print_json(report.to_json());
        }
        let rows: Vec<[String; 5]> = report.steps.iter().map(row).collect();
        exit::print(&format!("{} {}", report.run.id, report.status().as_str()))?;
        exit::print_table(&["STEP", "TOOL", "STATE", "TIME", "WHY"], &rows)?;
        match &report.error {
            Some(error) => exit::print(terminal::without_advice(&error.message)),
            None => Ok(()),
        }
    }
}

/// Returns the report of a run.
pub(super) fn report(tools: &PlanToolOptions, run: &str) -> Result<RunReport, Failure> {
    tools::block_on(async {
        let engine = engine(tools, false).await?;
        engine.report(run).await.map_err(failed)
    })?
}

fn row(step: &toolwright_plan::StepReport) -> [String; 5] {
    let duration = step.status.duration_ms().map(|ms| format!("{ms} ms"));
    [
        step.id.clone(),
        step.tool.clone(),
        step.status.state.as_str().to_owned(),
        duration.unwrap_or_default(),
        terminal::without_advice(step.reason.as_deref().unwrap_or_default()).replace('\n', " "),
    ]
}

impl Cancel {
    pub(super) fn run(self) -> Result<(), Failure> {
        tools::block_on(async {
            let engine = any_engine(&self.run, &self.engine, &self.tools).await?;
            engine.cancel(&self.run).await.map_err(failed)
        })?
    }
}

impl Delete {
    pub(super) fn run(self) -> Result<(), Failure> {
        tools::block_on(async {
            let journal = journal(&self.tools)?;
            let deleted = async {
                let _claim = journal.claim(&self.run).await?;
                journal.delete(&self.run).await
            };
            deleted.await.map_err(exit::failed)
        })?
    }
}

/// Prints the outputs of a run, or its whole report. A run that did not succeed is a failure.
fn print(report: &RunReport, json: bool, flags: &str) -> Result<(), Failure> {
    let id = &report.run.id;
    let document = if json { report.to_json() } else { report.outputs.clone() };
    if json || report.status() == RunStatus::Succeeded {
        exit::print_json(document)?;
    }
    let why = match report.status() {
        RunStatus::Succeeded => return Ok(()),
        RunStatus::Waiting => {
            let steps: Vec<&str> = report.questions.iter().map(|own| own.step.as_str()).collect();
            let failure = Failure::failed(format!("the run {id} waits for: {}", steps.join(", ")));
            let item = report.questions.first().and_then(|own| own.item);
            let item = item.map(|item| format!(" --item {item}")).unwrap_or_default();
            let first = steps.first().unwrap_or(&"STEP");
            let hint = format!("toolwright plan answer {id} {first}{item} --approve{flags}");
            return Err(failure.with_hint(hint));
        }
        status => match &report.error {
            Some(error) => {
                format!("{}: {}", status.as_str(), terminal::without_advice(&error.to_string()))
            }
            None => status.as_str().to_owned(),
        },
    };
    Err(Failure::failed(format!("the run {id} {why}"))
        .with_hint(format!("toolwright plan show {id}{flags}")))
}

/// Prints the id of a new run, so that a person who interrupts the command knows what to resume.
#[allow(clippy::print_stderr)]
fn announce(run: &str) {
    eprintln!("run {run}");
}

fn hint(run: &str, flags: &str) -> String {
    format!(
        "toolwright plan resume {run}{flags} continues the run; what has finished is not repeated"
    )
}

fn failed(error: PlanRunError) -> Failure {
    let failure = Failure::failed(terminal::plain(&error.to_string()));
    match error {
        PlanRunError::ToolsChanged(_) => {
            failure.with_hint("pass --changed-tools to resume nevertheless")
        }
        PlanRunError::Journal(PlanJournalError::UnknownRun(_)) => {
            failure.with_hint("toolwright plan runs lists the runs of the data folder")
        }
        _ => failure,
    }
}

/// Reads JSON from an argument, or from the file that it names.
fn document(text: &str) -> Result<Json, Failure> {
    if let Some(file) = text.strip_prefix('@') {
        return input::json(Some(Path::new(file)));
    }
    Json::parse(text).map_err(|error| Failure::usage(format!("not JSON: {error}")))
}

fn templates(arguments: Json) -> Result<Vec<(String, Template)>, Failure> {
    let Json::Object(arguments) = arguments else {
        return Err(Failure::usage("--args must be an object"));
    };
    let read = |(name, value): (&str, &Json)| {
        let template = Template::from_json(value, &JsonPath::ROOT.key(name));
        let template = template.map_err(|errors| Failure::usage(errors[0].to_string()))?;
        Ok((name.to_owned(), template))
    };
    arguments.iter().map(read).collect()
}

/// Opens the journal of the data folder.
pub(super) fn journal(tools: &PlanToolOptions) -> Result<Arc<SqlitePlanJournal>, Failure> {
    let data = tools.config.data()?;
    toolwright_transport::private_file::create_folder(&data)
        .map_err(exit::io(&data.display().to_string()))?;
    let journal = SqlitePlanJournal::open(data.join(PLAN_FILE));
    Ok(Arc::new(journal.map_err(exit::failed)?))
}

/// Returns the engine of a command that makes no calls.
async fn any_engine(
    run: &str,
    options: &EngineOptions,
    tools: &PlanToolOptions,
) -> Result<Box<dyn Engine>, Failure> {
    Ok(match options.remote(Some(run), None, tools).await? {
        Some(engine) => engine,
        None => Box::new(engine(tools, false).await?),
    })
}

async fn engine(tools: &PlanToolOptions, yes: bool) -> Result<LocalEngine, Failure> {
    let toolbox: Toolbox = tools.toolbox(yes).await?;
    Ok(LocalEngine::new(toolbox).with_journal(journal(tools)?))
}
