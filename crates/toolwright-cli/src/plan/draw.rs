//! `toolwright plan draw`: a plan or a run as a picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use toolwright_plan::{Graph, draw};

use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct Draw {
    /// The plan
    #[arg(required_unless_present = "run", conflicts_with = "run")]
    file: Option<PathBuf>,
    /// Draw the plan of this run, with the states and durations of its steps
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Draw when each step of the run ran
    #[arg(long, conflicts_with = "format")]
    timeline: bool,
    /// Draw in this format
    #[arg(long, value_enum, default_value_t = Format::Svg)]
    format: Format,
    /// Write to this file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    tools: PlanToolOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Mermaid,
}

impl Draw {
    pub(super) fn run(self) -> Result<(), Failure> {
        let (plan, statuses) = match (&self.file, &self.run) {
            (Some(_), _) if self.timeline => {
                return Err(Failure::usage("--timeline needs --run: a plan has no times"));
            }
            (Some(file), _) => {
                self.tools.allow_stdin(&[file])?;
                (Arc::new(super::read(file)?), Vec::new())
            }
            (None, Some(run)) => {
                let report = super::run::report(&self.tools, run)?;
                let statuses = report.steps.iter().map(|step| step.status).collect();
                (report.run.plan, statuses)
            }
            (None, None) => return Err(Failure::usage("either a plan, or --run RUN")),
        };
        let picture = if self.timeline {
            draw::timeline(&plan, &statuses)
        } else {
            let graph = Graph::new(&plan, &self.tools.load(plan.tool_names())?);
            match self.format {
                Format::Svg => draw::svg(&plan, &graph, &statuses),
                Format::Mermaid => draw::mermaid(&plan, &graph, &statuses),
            }
        };
        match &self.output {
            Some(file) => write(file, &picture),
            None => exit::print(picture.trim_end()),
        }
    }
}

/// Writes a file.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(exit::io(&file.display().to_string()))
}
