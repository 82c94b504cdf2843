//! `toolwright plan export`: a plan as an Arazzo document.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use toolwright_core::Json;
use toolwright_plan::arazzo;

use super::draw::write;
use super::read;
use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The plan
    file: PathBuf,
    /// Write arazzo.json and openapi.json, which describes the tools, into this folder
    #[arg(long, value_name = "DIR")]
    arazzo: PathBuf,
    #[command(flatten)]
    tools: PlanToolOptions,
}

impl Export {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.tools.allow_stdin(&[&self.file])?;
        let plan = read(&self.file)?;
        let tools = self.tools.load(plan.tool_names())?;
        let export = arazzo::export(&plan, &tools);
        let folder = &self.arazzo;
        fs::create_dir_all(folder).map_err(exit::io(&folder.display().to_string()))?;
        for (name, document) in
            [("arazzo.json", export.arazzo), (arazzo::OPENAPI_FILE, export.openapi)]
        {
            write(&folder.join(name), &(Json::from(document).pretty() + "\n"))?;
        }
        Ok(())
    }
}
