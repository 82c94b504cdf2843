//! `toolwright plan draw`: a plan as a picture.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use toolwright::plan::{Graph, draw};

use super::tools::PlanToolOptions;
use crate::cli::exit::{self, Failure};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct Draw {
    /// The plan
    file: PathBuf,
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
        self.tools.allow_stdin(&[&self.file])?;
        let plan = super::read(&self.file)?;
        let graph = Graph::new(&plan, &self.tools.load(plan.tool_names())?);
        let picture = match self.format {
            Format::Svg => draw::svg(&plan, &graph, &[]),
            Format::Mermaid => draw::mermaid(&plan, &graph, &[]),
        };
        match &self.output {
            Some(file) => write(file, &picture),
            None => terminal::write(picture.trim_end()).map_err(exit::io("stdout")),
        }
    }
}

/// Writes a file.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| Failure::failed(format!("{}: {error}", file.display())))
}
