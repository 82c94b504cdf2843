//! `toolwright plan`: the schema of plans, their check, their view, the import of workflows, plans of calls and by
//! models, runs, pictures, and Arazzo documents.

mod arazzo;
mod confirm;
mod draw;
mod engine;
mod make;
mod progress;
mod publish;
pub(super) mod record;
mod run;
mod tools;
#[cfg(feature = "temporal")]
mod worker;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use toolwright_core::Json;
use toolwright_gateway::terminal::{self, counted};
use toolwright_plan::arazzo::import as import_arazzo;
use toolwright_plan::{
    MAX_STEPS, Plan as Document, PlanError, View, check, import_view, import_workflow,
};

#[cfg(not(feature = "temporal"))]
pub(super) use self::engine::Worker;
use self::tools::PlanToolOptions;
#[cfg(feature = "temporal")]
pub(super) use self::worker::Worker;
use super::exit::{self, Failure, Result};
use super::input;

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a JSON document with calls of tools as steps. An argument {\"$from\": \"STEP/POINTER\"} is the
output of an earlier step, or a part of it. FILE is `-` for stdin.

The tools are those of --tools: a JSON array of definitions in any dialect's shape. By default they
are the built-in tools, those of the tables [mcp.NAME] of the configuration, and the functions of
the catalog, by the names PREFAB/FUNCTION.

Examples:
  toolwright plan schema
  toolwright plan check plan.json
  toolwright plan check plan.json --tools tools.json --hide @system --json
  toolwright plan view plan.json > view.json
  toolwright plan import --view view.json --base plan.json
  toolwright plan import workflow.json --tools tools.json
  toolwright plan record RUN -o plan.json
  toolwright plan record --calls response.json
  toolwright plan make \"read a.csv and drop incomplete rows\" --model gpt-4o -o plan.json
  toolwright plan run plan.json --inputs '{\"city\": \"北京\"}'
  toolwright plan runs
  toolwright plan resume RUN
  toolwright plan draw plan.json -o plan.svg
  toolwright plan draw --run RUN --timeline -o run.svg
  toolwright plan publish plan.json --as report-prefab/make --version 1.0.0
  toolwright plan export plan.json --arazzo folder
  toolwright plan import folder/arazzo.json")]
pub(crate) struct Plan {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the JSON Schema of plans
    Schema,
    /// Report everything that is wrong with a plan
    Check(Check),
    /// Show every parameter of every step: nodes and edges, with values to complete and confirm
    View(ViewPlan),
    /// Make a plan of the calls of a run, or of a response
    Record(record::Record),
    /// Let a model write a plan
    Make(make::Make),
    /// Run a plan
    Run(run::Run),
    /// Continue a run: calls with a recorded result are not made again
    Resume(run::Resume),
    /// List the runs of every engine, the newest first
    Runs(run::Runs),
    /// Show the steps of a run
    Show(run::Show),
    /// Answer a question of a run, and continue it
    Answer(run::AnswerQuestion),
    /// Cancel a run
    Cancel(run::Cancel),
    /// Repeat a run from a step on
    Fork(run::Fork),
    /// Delete a run with its outputs
    Delete(run::Delete),
    /// Print the plan of an Arazzo document, of a workflow, or of an edited view and the plan that it came from
    Import(Import),
    /// Draw a plan or a run as SVG or as a Mermaid flowchart, or when the steps of a run ran
    Draw(draw::Draw),
    /// Publish a plan as a function of a prefab
    Publish(publish::Publish),
    /// Write a plan as an Arazzo document, with an OpenAPI document of its tools
    Export(arazzo::Export),
}

#[derive(Debug, Args)]
struct Check {
    /// The plan
    file: PathBuf,
    #[command(flatten)]
    tools: PlanToolOptions,
    /// Print the report as JSON: {\"valid\", \"errors\", \"edges\"}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ViewPlan {
    /// The plan
    file: PathBuf,
    #[command(flatten)]
    tools: PlanToolOptions,
}

#[derive(Debug, Args)]
struct Import {
    /// The Arazzo document or the workflow, as JSON
    #[arg(required_unless_present = "view", conflicts_with_all = ["view", "base"])]
    file: Option<PathBuf>,
    /// Import this workflow of the Arazzo document, if it has several
    #[arg(long, value_name = "ID", requires = "file")]
    workflow: Option<String>,
    /// Read the edited view from this file
    #[arg(long, value_name = "FILE", requires = "base")]
    view: Option<PathBuf>,
    /// Read the plan that the view came from
    #[arg(long, value_name = "PLAN", requires = "view")]
    base: Option<PathBuf>,
    #[command(flatten)]
    tools: PlanToolOptions,
}

impl Plan {
    /// Runs the action.
    pub(crate) fn run(self) -> Result<()> {
        match self.action {
            Action::Schema => exit::print_json(Document::schema()),
            Action::Check(check) => check.run(),
            Action::View(view) => view.run(),
            Action::Import(import) => import.run(),
            Action::Record(record) => record.run(),
            Action::Make(make) => make.run(),
            Action::Run(run) => run.run(),
            Action::Resume(resume) => resume.run(),
            Action::Runs(runs) => runs.run(),
            Action::Show(show) => show.run(),
            Action::Answer(answer) => answer.run(),
            Action::Cancel(cancel) => cancel.run(),
            Action::Fork(fork) => fork.run(),
            Action::Delete(delete) => delete.run(),
            Action::Draw(draw) => draw.run(),
            Action::Export(export) => export.run(),
            Action::Publish(publish) => publish.run(),
        }
    }
}

impl Check {
    fn run(self) -> Result<()> {
        self.tools.allow_stdin(&[&self.file])?;
        let document = input::json(Some(&self.file))?;
        let (plan, shape) = Document::parse_partly(&document);
        let tools = self.tools.load(plan.tool_names())?;
        let report = check(&plan, &tools, MAX_STEPS).with_shape_errors(shape);
        if self.json {
            exit::print_json(report.to_json())?;
        }
        if !report.is_valid() {
            if !self.json {
                show(&report.errors);
            }
            return Err(invalid(&self.file, report.errors.len()));
        }
        if self.json {
            return Ok(());
        }
        let steps = counted(plan.steps.len(), "step", "steps");
        let edges = counted(report.edges.len(), "edge", "edges");
        exit::print(&format!("plan is valid: {steps}, {edges}"))
    }
}

impl ViewPlan {
    fn run(self) -> Result<()> {
        self.tools.allow_stdin(&[&self.file])?;
        let plan = read(&self.file)?;
        let tools = self.tools.load(plan.tool_names())?;
        let view = View::new(&plan, &tools);
        exit::print_json(view.map_err(|errors| refuse(&self.file, &errors))?.to_json())
    }
}

impl Import {
    fn run(self) -> Result<()> {
        let (file, base) = match (&self.file, &self.view, &self.base) {
            (Some(file), ..) => (file, None),
            (None, Some(view), Some(base)) => (view, Some(base)),
            _ => return Err(Failure::usage("pass either a file, or --view and --base")),
        };
        let files: Vec<&PathBuf> = base.into_iter().chain([file]).collect();
        self.tools.allow_stdin(&files)?;
        let base = base.map(|base| read(base)).transpose()?;
        let document = input::json(Some(file))?;
        let refused = |errors: Vec<PlanError>| refuse(file, &errors);
        if base.is_none() && document.get("nodes").is_none() {
            let plan = import_arazzo(&document, self.workflow.as_deref()).map_err(refused)?;
            return exit::print_json(plan.to_json());
        }
        let nodes = document.get("nodes").and_then(Json::as_array).unwrap_or_default();
        let names = nodes.iter().filter_map(|node| node.get("tool_name")?.as_str());
        let names = names.chain(base.iter().flat_map(Document::tool_names));
        let tools = self.tools.load(names)?;
        let (plan, is_reordered) = match &base {
            Some(base) => (import_view(&document, base, &tools).map_err(refused)?, false),
            None => import_workflow(&document, &tools).map_err(refused)?,
        };
        let errors = check(&plan, &tools, MAX_STEPS).errors;
        if !errors.is_empty() {
            return Err(refused(errors));
        }
        if is_reordered {
            let order: Vec<&str> = plan.steps.iter().map(|step| &*step.id).collect();
            let order = order.join(", ");
            exit::warn(&format!("the nodes are not in the order of their edges; sorted: {order}"));
        }
        exit::print_json(plan.to_json())
    }
}

/// Reads a plan that is to be run. If its shape is wrong, the rest of it is checked as well.
fn read_to_run(file: &Path, tools: &PlanToolOptions) -> Result<Document> {
    let (plan, shape) = Document::parse_partly(&input::json(Some(file))?);
    if shape.is_empty() {
        return Ok(plan);
    }
    let tools = tools.load(plan.tool_names())?;
    let errors = check(&plan, &tools, MAX_STEPS).with_shape_errors(shape).errors;
    Err(refuse(file, &errors))
}

/// Reads a plan.
fn read(file: &Path) -> Result<Document> {
    let document = input::json(Some(file))?;
    Document::parse(&document).map_err(|errors| refuse(file, &errors))
}

/// Writes a document to a file, or to stdout.
fn save(document: impl Into<Json>, file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return exit::print_json(document) };
    draw::write(file, &(document.into().pretty() + "\n"))
}

/// Prints errors, one on a line.
#[allow(clippy::print_stderr)]
fn show(errors: &[PlanError]) {
    for error in errors {
        eprintln!("{}", terminal::plain(&error.to_string()));
    }
}

/// Prints errors, and returns the failure.
fn refuse(file: impl AsRef<Path>, errors: &[PlanError]) -> Failure {
    show(errors);
    invalid(file.as_ref(), errors.len())
}

fn invalid(file: &Path, errors: usize) -> Failure {
    let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    Failure::failed(format!("{name}: {}", counted(errors, "error", "errors")))
}
