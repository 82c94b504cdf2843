//! `toolwright plan publish`: a plan as a function of a prefab.

use std::path::PathBuf;

use clap::Args;
use toolwright_catalog::{
    Access, Catalog, LookupError, Manifest, Package, PublishOptions, Runtime,
};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_plan::{MAX_STEPS, Plan, check};

use super::tools::PlanToolOptions;
use crate::exit::{self, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
The inputs of the plan are the parameters of the function, and its outputs the result. The functions
of the catalog that its steps call are published with their exact versions. A prefab may have several
plans: those of its latest version stay.

Example:
  toolwright plan publish report.json --as report-prefab/make_report --version 1.0.0")]
pub(super) struct Publish {
    /// The plan
    file: PathBuf,
    /// Publish it as this function of this prefab
    #[arg(long = "as", value_name = "PREFAB/FUNCTION")]
    name: String,
    /// Publish this version of the prefab
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// Describe the function [default: the description of the plan, or its name]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Say how a call changes something, which decides whether it may be repeated
    #[arg(long, default_value = "once", value_parser = ["read-only", "idempotent", "once"])]
    effect: String,
    #[command(flatten)]
    tools: PlanToolOptions,
}

impl Publish {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.tools.allow_stdin(&[&self.file])?;
        let Some((prefab, function)) = self.name.split_once('/') else {
            return Err(Failure::usage("--as must be PREFAB/FUNCTION"));
        };
        let mut plan = super::read_to_run(&self.file, &self.tools)?;
        let mut tools = self.tools.load(plan.tool_names())?;
        let errors = check(&plan, &tools, MAX_STEPS).errors;
        if !errors.is_empty() {
            return Err(super::refuse(&self.file, &errors));
        }
        tools.pin(&mut plan);
        let data = self.tools.config.data()?;
        let catalog = Catalog::open(&data).map_err(exit::failed)?;
        let mut manifest = base(&catalog, prefab, &plan)?;
        let mut functions =
            manifest.get("functions").and_then(Json::as_array).unwrap_or_default().to_vec();
        functions.retain(|own| own.get("name").and_then(Json::as_str) != Some(function));
        functions.push(self.function(function, &plan).into());
        manifest.insert("version", self.version.as_str());
        manifest.insert("functions", functions);
        let manifest = Manifest::parse(&manifest.into()).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Failure::failed(format!("the prefab is not valid: {}", faults.join("; ")))
        })?;
        let published = catalog.publish(Package::new(manifest), PublishOptions::default());
        published.map_err(exit::failed)?;
        let line = format!("published {prefab}@{}: {function}", self.version);
        exit::print(&line)
    }

    fn function(&self, name: &str, plan: &Plan) -> Object {
        let description = self.description.clone().or_else(|| plan.description.clone());
        let description = description.unwrap_or_else(|| summary(name, plan));
        object! {
            "name": name,
            "description": description,
            "effect": self.effect.as_str(),
            "plan": plan.to_json(),
        }
    }
}

/// Returns the manifest of the latest version, or a new one.
fn base(catalog: &Catalog, prefab: &str, plan: &Plan) -> Result<Object, Failure> {
    match catalog.version(&Access::everything(), prefab, None) {
        Ok(latest) if latest.manifest.runtime == Runtime::Plan => {
            Ok(latest.manifest.document.as_object().cloned().unwrap_or_default())
        }
        Ok(_) => {
            Err(Failure::failed(format!("the functions of the prefab `{prefab}` are not plans"))
                .with_hint("publish the plan in another prefab"))
        }
        Err(LookupError::Unavailable(error)) => Err(exit::failed(error)),
        Err(_) => Ok(object! {
            "id": prefab,
            "version": "",
            "name": plan.name.as_deref().unwrap_or(prefab),
            "description": plan.description.clone().unwrap_or_else(|| summary(prefab, plan)),
            "runtime": object! {"plan": Object::new()},
        }),
    }
}

/// Describes a plan that does not describe itself.
fn summary(name: &str, plan: &Plan) -> String {
    format!("Runs the plan '{}'.", plan.name.as_deref().unwrap_or(name))
}
