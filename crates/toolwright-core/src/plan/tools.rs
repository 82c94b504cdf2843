//! The tools of a plan, as far as checks, order and views depend on them.

use std::collections::BTreeMap;

use super::error::{PlanError, PlanErrorKind};
use crate::args::Parameters;
use crate::json::Json;
use crate::model::tool::{Tool, ToolKind};

/// A tool of a plan.
#[derive(Debug, Clone, Default)]
pub struct PlanTool {
    /// The definition, with hidden parameters
    pub tool: Tool,
    /// The names of the hidden parameters
    pub hidden: Vec<String>,
    /// The digest, if the host has one
    pub digest: Option<String>,
    /// Values that its calls share with calls of other tools
    pub uses: Vec<ResourceUse>,
}

impl PlanTool {
    /// Creates a tool that hides some parameters.
    pub fn new(tool: Tool, hidden: Vec<String>) -> PlanTool {
        PlanTool { tool, hidden, ..PlanTool::default() }
    }

    /// Compiles the parameters. An error has the given path.
    pub(super) fn parameters(&self, path: &str) -> Result<Parameters, PlanError> {
        Parameters::compile(&self.tool, &self.hidden).map_err(|error| {
            let message = format!("the tool '{}' has an invalid schema: {error}", self.tool.name);
            PlanError::new(PlanErrorKind::Unavailable, path, message)
        })
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

    /// Adds names of tools that exist but are not loaded, for suggestions.
    #[must_use]
    pub fn with_names(mut self, names: impl IntoIterator<Item = String>) -> PlanTools {
        self.names.extend(names);
        self
    }

    /// Returns a tool.
    pub fn get(&self, name: &str) -> Option<&PlanTool> {
        self.tools.get(name)
    }

    /// Returns a tool. The error has the given path: the tool does not exist, or cannot be loaded.
    pub(super) fn find(&self, name: &str, path: &str) -> Result<&PlanTool, PlanError> {
        if let Some(tool) = self.get(name) {
            return Ok(tool);
        }
        if self.unavailable.iter().any(|own| own == name) {
            let message = format!(
                "the tool '{name}' cannot be used: its source cannot be reached, or defines it incorrectly"
            );
            return Err(PlanError::new(PlanErrorKind::Unavailable, path, message));
        }
        let message = format!("there is no tool '{name}'");
        let names = self.tools.keys().chain(&self.names).map(String::as_str);
        Err(PlanError::new(PlanErrorKind::UnknownTool, path, message).suggesting(name, names))
    }
}
