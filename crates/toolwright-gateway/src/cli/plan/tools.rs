//! The tools of a plan: from a file, or those of the configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use toolwright::Toolbox;
use toolwright::call::Policy;
use toolwright::handle::MemoryHandles;
use toolwright::ledger::MemoryLedger;
use toolwright::plan::{PlanTool, PlanTools, plan_tools};
use toolwright_core::args::hidden_names;

use crate::cli::exit::{self, Failure};
use crate::cli::{input, tool, tools};
use crate::config::{self, Config};
use crate::prefabs::Prefabs;
use crate::tools::{CatalogModels, Tools};

/// Arguments that select the tools of a plan.
#[derive(Debug, Args)]
pub(super) struct PlanToolOptions {
    /// Use the tools of this file, a JSON array of definitions in any dialect's shape
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Hide these parameters; `@system` stands for executor,storage
    #[arg(long, value_name = "NAMES", default_value = "", hide_default_value = true)]
    hide: String,
    /// Read this configuration [default: toolwright.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use the catalog of this data folder [default: that of the configuration]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl PlanToolOptions {
    /// Checks that at most one file is stdin, among these and the one of the tools.
    pub(super) fn allow_stdin(&self, files: &[&PathBuf]) -> Result<(), Failure> {
        let all = files.iter().copied().chain(&self.tools);
        if all.filter(|file| *file == Path::new("-")).count() > 1 {
            return Err(Failure::usage("only one file can be stdin"));
        }
        Ok(())
    }

    /// Returns the named tools.
    pub(super) fn load<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<PlanTools, Failure> {
        let hidden = hidden_names(&self.hide);
        let Some(file) = &self.tools else {
            let names: BTreeSet<&str> = names.collect();
            let tools = tools::runtime()?.block_on(self.configured(&names))?;
            return Ok(tools.with_hidden(&hidden));
        };
        let read = tool::read_all(input::json(Some(file))?);
        let read = read.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
        Ok(PlanTools::new(read.into_iter().map(|tool| PlanTool::new(tool, hidden.clone()))))
    }

    /// Returns all tools: those of the file, or of the configuration without the functions of the catalog.
    pub(super) fn load_all(&self) -> Result<PlanTools, Failure> {
        if self.tools.is_some() {
            return self.load(std::iter::empty());
        }
        let tools = tools::runtime()?.block_on(async {
            let toolbox = self.open().await?;
            let names = toolbox.all_names();
            Ok::<_, Failure>(plan_tools(&toolbox, names.iter().map(|name| &**name)).await)
        })?;
        Ok(tools.with_hidden(&hidden_names(&self.hide)))
    }

    /// Returns the configuration.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let environment = |name: &str| std::env::var(name).ok();
        let mut config = Config::load(self.config.as_deref(), &environment)?;
        if let Some(data) = &self.data {
            config.data.clone_from(data);
        }
        // Without a configuration, the built-in tools work in the current folder, as in `toolwright call`.
        config.tools.get_or_insert_with(|| config::Tools {
            root: PathBuf::from("."),
            allow: Vec::new(),
            limits: config::default_limits(),
        });
        Ok(config)
    }

    /// Returns the tools of the configuration. Calls of built-in tools that change something ask first, unless they are
    /// approved.
    pub(super) async fn toolbox(&self, is_approved: bool) -> Result<Toolbox, Failure> {
        if self.tools.is_some() {
            let message = "--tools has definitions without anything that runs them";
            return Err(Failure::usage(message).with_hint("configure the tools instead"));
        }
        let toolbox = self.open().await?;
        Ok(if is_approved { toolbox.with_policy(Policy::default()) } else { toolbox })
    }

    async fn open(&self) -> Result<Toolbox, Failure> {
        let config = self.config()?;
        let prefabs = Arc::new(Prefabs::new(config.data.clone(), Arc::clone(&config.catalog)));
        let (ledger, models) = (Arc::new(MemoryLedger::default()), CatalogModels::default());
        let tools = Tools::new(&config, ledger, &prefabs, models, &Tools::default())?;
        let toolbox = tools.for_plans(None);
        toolbox.refresh().await;
        Ok(toolbox.with_handles(Arc::new(MemoryHandles::default())))
    }

    /// Returns the named tools of the configuration.
    async fn configured(&self, names: &BTreeSet<&str>) -> Result<PlanTools, Failure> {
        let toolbox = self.open().await?;
        let found = plan_tools(&toolbox, names.iter().copied()).await;
        if names.iter().any(|name| found.get(name).is_none()) {
            for report in toolbox.source_reports() {
                for problem in &report.problems {
                    exit::warn(&format!("the source `{}` {problem}", report.source));
                }
            }
        }
        Ok(found)
    }
}
