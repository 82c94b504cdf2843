//! The tools of a plan, as far as checks, order and views depend on them.

use std::collections::BTreeMap;

use toolwright_core::args::Parameters;
use toolwright_core::tool::{Tool, ToolKind};
use toolwright_json::object;
use toolwright_json::{Json, Object};

use super::document::Plan;
use super::error::{PlanError, PlanErrorKind};

/// A tool of a plan.
#[derive(Debug, Clone, Default)]
pub struct PlanTool {
    /// The definition, with hidden parameters
    pub tool: Tool,
    /// The names of the hidden parameters
    pub hidden: Vec<String>,
    /// The digest, if the host has one
    pub digest: Option<String>,
    /// The name of exactly this version, if the tool has versions
    pub exact_name: Option<String>,
    /// Values that its calls share with calls of other tools
    pub uses: Vec<ResourceUse>,
    /// Whether its calls change nothing
    pub is_read_only: bool,
}

impl PlanTool {
    /// Creates a tool that hides some parameters. It is read-only if its annotations say so.
    pub fn new(tool: Tool, hidden: Vec<String>) -> PlanTool {
        let hint = tool.annotations.as_ref().and_then(|hints| hints.get("readOnlyHint"));
        let is_read_only = hint.and_then(Json::as_bool).unwrap_or(false);
        PlanTool { tool, hidden, is_read_only, ..PlanTool::default() }
    }

    /// Compiles the parameters. An error has the given path.
    pub(super) fn parameters(&self, path: &str) -> Result<Parameters, PlanError> {
        Parameters::compile(&self.tool, &self.hidden).map_err(|error| {
            let message = format!("the tool '{}' has an invalid schema: {error}", self.tool.name);
            PlanError::new(PlanErrorKind::Unavailable, path, message)
        })
    }

    /// Returns the definition for those who write plans: `{name, description, parameters, returns}`, without hidden
    /// parameters.
    pub fn definition(&self) -> Object {
        let mut out = object! {"name": self.tool.name.as_str()};
        out.insert_some("description", self.tool.description.as_deref());
        let parameters = self.parameters("").ok();
        out.insert_some("parameters", parameters.map(|own| own.check().schema().clone()));
        out.insert_some("returns", self.tool.output.clone());
        out
    }

    /// Whether the tool declares that it takes parameters that it does not name.
    pub(super) fn accepts_any_name(&self) -> bool {
        match &self.tool.kind {
            ToolKind::Function(Some(schema)) => {
                let others = schema.get("additionalProperties");
                others.is_some_and(|others| *others != Json::Bool(false))
                    || schema.get("patternProperties").is_some()
            }
            ToolKind::Function(None) => true,
            _ => false,
        }
    }
}

/// A value that calls of different tools share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A slot of the conversation
    Slot(String),
    /// A value of the context, by its type
    Context(String),
}

/// A tool reads or writes a shared value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUse {
    /// The value
    pub resource: Resource,
    /// Whether the tool changes it
    pub writes: bool,
}

/// The tools that a plan may use.
#[derive(Debug, Clone, Default)]
pub struct PlanTools {
    tools: BTreeMap<String, PlanTool>,
    unavailable: Vec<String>,
    /// Why there is no tool of a name, if that is known
    missing: BTreeMap<String, String>,
    names: Vec<String>,
}

impl PlanTools {
    /// Creates a set of tools.
    pub fn new(tools: impl IntoIterator<Item = PlanTool>) -> PlanTools {
        let tools = tools.into_iter().map(|tool| (tool.tool.name.clone(), tool));
        PlanTools { tools: tools.collect(), ..PlanTools::default() }
    }

    /// Hides parameters of all tools, in addition to those that they hide.
    #[must_use]
    pub fn with_hidden(mut self, names: &[String]) -> PlanTools {
        for tool in self.tools.values_mut() {
            tool.hidden.extend(names.iter().cloned());
        }
        self
    }

    /// Adds names of tools that exist but cannot be loaded: their source fails, or defines them incorrectly.
    #[must_use]
    pub fn with_unavailable(mut self, names: impl IntoIterator<Item = String>) -> PlanTools {
        self.unavailable.extend(names);
        self
    }

    /// Adds the reason why there is no tool of a name.
    #[must_use]
    pub fn with_missing(mut self, name: impl Into<String>, reason: impl Into<String>) -> PlanTools {
        self.missing.insert(name.into(), reason.into());
        self
    }

    /// Adds names of tools that exist but are not loaded, for suggestions.
    #[must_use]
    pub fn with_names(mut self, names: impl IntoIterator<Item = String>) -> PlanTools {
        self.names.extend(names);
        self
    }

    /// Returns all tools, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &PlanTool> {
        self.tools.values()
    }

    /// Returns a tool.
    pub fn get(&self, name: &str) -> Option<&PlanTool> {
        self.tools.get(name)
    }

    /// Names the exact versions of the tools in a plan, so that a later version does not replace them.
    pub fn pin(&mut self, plan: &mut Plan) {
        for step in &mut plan.steps {
            let tool = self.tools.get(&step.tool);
            let Some((name, tool)) = tool.and_then(|tool| Some((tool.exact_name.clone()?, tool)))
            else {
                continue;
            };
            self.tools.insert(name.clone(), tool.clone());
            step.tool = name;
        }
    }

    /// Returns a tool. The error has the given path: the tool does not exist, or cannot be loaded.
    pub fn find(&self, name: &str, path: &str) -> Result<&PlanTool, PlanError> {
        if let Some(tool) = self.get(name) {
            return Ok(tool);
        }
        if self.unavailable.iter().any(|own| own == name) {
            let message = format!(
                "the tool '{name}' cannot be used: its source cannot be reached, or defines it incorrectly"
            );
            return Err(PlanError::new(PlanErrorKind::Unavailable, path, message));
        }
        let reason = self.missing.get(name).map(|reason| format!(": {reason}"));
        let message = format!("there is no tool '{name}'{}", reason.unwrap_or_default());
        let names = self.tools.keys().chain(&self.names).map(String::as_str);
        Err(PlanError::new(PlanErrorKind::UnknownTool, path, message).suggesting(name, names))
    }
}
