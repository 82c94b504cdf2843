//! The tools of a plan: from a file, or those of the configuration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use toolwright_catalog::{Access, FILE, Runtime, SearchOptions, rank_tools, tool_name};
use toolwright_core::args::hidden_names;
use toolwright_gateway::Config;
use toolwright_gateway::catalog::open_catalog;
use toolwright_plan::{PlanTool, PlanTools, plan_tools};
use toolwright_runtime::Toolbox;
use toolwright_runtime::handle::MemoryHandles;

use crate::config::ConfigOptions;
use crate::exit::{self, Failure};
use crate::{input, tool, tools};

/// Maximum number of tools of sources, and of functions of the catalog, that a model is offered for a plan.
const MAX_OFFERED: usize = 50;

/// Arguments that select the tools of a plan.
#[derive(Debug, Args)]
pub(super) struct PlanToolOptions {
    /// Use the tools of this file, a JSON array of definitions in any dialect's shape
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Hide these parameters; `@system` stands for executor,storage
    #[arg(long, value_name = "NAMES", default_value = "", hide_default_value = true)]
    hide: String,
    #[command(flatten)]
    pub(super) config: ConfigOptions,
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
            let tools = tools::block_on(self.configured(&names))??;
            return Ok(tools.with_hidden(&hidden));
        };
        let read = tool::read_all(input::json(Some(file))?);
        let read = read.map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
        Ok(PlanTools::new(read.into_iter().map(|tool| PlanTool::new(tool, hidden.clone()))))
    }

    /// Returns the tools that a model may use for a task: those of the file, or those of the configuration and the
    /// functions of the catalog. Of many, the best are chosen by search.
    pub(super) fn load_for(&self, task: &str) -> Result<PlanTools, Failure> {
        if self.tools.is_some() {
            return self.load(std::iter::empty());
        }
        let tools = tools::block_on(async {
            let toolbox = self.open().await?;
            tools::warn(&toolbox);
            let mut names: BTreeSet<String> = toolbox.names().map(str::to_owned).collect();
            let listed = toolbox.all_names().into_iter().filter(|name| !names.contains(&**name));
            let listed = listed.filter_map(|name| toolbox.definition_of(&name));
            let listed = rank_tools(listed.collect(), task, MAX_OFFERED);
            names.extend(listed.iter().map(|tool| tool.name.clone()));
            names.extend(self.functions_for(task)?);
            Ok::<_, Failure>(plan_tools(&toolbox, names.iter().map(String::as_str)).await)
        })??;
        Ok(tools.with_hidden(&hidden_names(&self.hide)))
    }

    /// Returns the names of the functions of the catalog for a task, without those of the built-in tools.
    fn functions_for(&self, task: &str) -> Result<Vec<String>, Failure> {
        let config = self.load_config()?;
        if !config.data.join(FILE).exists() {
            return Ok(Vec::new());
        }
        let (catalog, warning) =
            open_catalog(&config.data, &config.catalog).map_err(exit::failed)?;
        if let Some(warning) = warning {
            exit::warn(&warning);
        }
        let everything = Access::everything();
        let best = SearchOptions::default().with_limit(MAX_OFFERED);
        let mut all = best.clone();
        all.functions = MAX_OFFERED;
        let mut hits = catalog.search(&everything, "", &all).map_err(exit::failed)?;
        if hits.iter().map(|hit| hit.functions.len()).sum::<usize>() >= MAX_OFFERED {
            hits = catalog.recommend(&everything, task, &best).map_err(exit::failed)?;
        }
        hits.retain(|hit| hit.prefab.manifest.runtime != Runtime::Builtin);
        let names = hits.iter().flat_map(|hit| {
            let id = hit.prefab.manifest.id.as_str();
            hit.functions.iter().map(move |function| tool_name(id, &function.name))
        });
        Ok(names.take(MAX_OFFERED).collect())
    }

    /// Returns the configuration. Without `[tools]`, the built-in tools work in the current folder, as in `toolwright
    /// call`.
    pub(super) fn load_config(&self) -> Result<Config, Failure> {
        let mut config = self.config.load()?;
        config.tools.get_or_insert_default();
        Ok(config)
    }

    /// Returns the tools of the configuration. Calls of built-in tools that change something ask first, unless they are
    /// approved.
    pub(super) async fn toolbox(&self, is_approved: bool) -> Result<Toolbox, Failure> {
        if self.tools.is_some() {
            let message = "--tools has definitions without anything that runs them";
            return Err(Failure::usage(message).with_hint("configure the tools instead"));
        }
        let gateway = tools::open(&self.load_config()?)?;
        let toolbox = gateway.live().tools.for_plans(None);
        toolbox.refresh().await;
        Ok(tools::equip(&gateway, toolbox, is_approved))
    }

    async fn open(&self) -> Result<Toolbox, Failure> {
        let toolbox = tools::inspect(&self.load_config()?)?.live().tools.for_plans(None);
        toolbox.refresh().await;
        Ok(toolbox.with_handles(Arc::new(MemoryHandles::default())))
    }

    /// Returns the named tools of the configuration.
    async fn configured(&self, names: &BTreeSet<&str>) -> Result<PlanTools, Failure> {
        let toolbox = self.open().await?;
        let found = plan_tools(&toolbox, names.iter().copied()).await;
        if names.iter().any(|name| found.get(name).is_none()) {
            tools::warn(&toolbox);
        }
        Ok(found)
    }
}
