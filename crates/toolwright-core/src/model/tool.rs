//! What a model may call.

use crate::json::{Json, Object};
use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::part::CacheMark;

/// A tool as it is shown to a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// The name that calls carry
    pub name: String,
    /// What the tool does, for the model
    pub description: Option<String>,
    /// How it takes its input
    pub kind: ToolKind,
    /// Whether the vendor shall hold the model to the schema; `None` leaves it to the vendor
    pub strict: Option<bool>,
    /// A prompt-cache breakpoint after this definition
    pub cache: Option<CacheMark>,
    /// JSON Schema of the result
    pub output: Option<Json>,
    /// Examples of valid arguments
    pub examples: Vec<Json>,
    /// A name for people
    pub title: Option<String>,
    /// Behaviour hints in MCP's words (`readOnlyHint`, …)
    pub annotations: Option<Object>,
    /// The namespace that starts with this tool; tools that follow belong to it by their names, see
    /// [`qualified_name`]
    pub namespace: Option<Box<Namespace>>,
    /// Whether an item of the conversation defines it, instead of the list of tools
    pub loaded: bool,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Where it was read
    pub origin: Origin,
    /// Where its schema was read, if not in the field where its dialect usually has it
    pub schema_origin: Origin,
}

/// A group of tools. Its name is the first half of each tool's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Namespace {
    /// What its tools are for, for the model
    pub description: Option<String>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Where it was read
    pub origin: Origin,
}

/// Separates a namespace from the name of a tool in it. No vendor allows this character in a name.
const SEPARATOR: char = '\u{1f}';

/// Joins a namespace and the name of a tool in it. The result identifies the tool in a request; for
/// targets without namespaces, the alias pass replaces it with a legal name. An empty namespace
/// marks a tool that the dialect defines by its type and the client runs, such as `tool_search`.
pub fn qualified_name(namespace: &str, name: &str) -> String {
    format!("{namespace}{SEPARATOR}{name}")
}

/// Splits a name into its namespace, if it has one, and the tool's own name.
pub fn split_name(name: &str) -> (Option<&str>, &str) {
    match name.split_once(SEPARATOR) {
        Some((namespace, own)) => (Some(namespace), own),
        None => (None, name),
    }
}

/// The name of a tool for a model without namespaces, as Codex joins it. Two tools may share one.
pub fn flat_name(name: &str) -> String {
    match split_name(name) {
        (None | Some(""), own) => own.to_owned(),
        (Some(namespace), own) if namespace.ends_with('_') || own.starts_with('_') => {
            format!("{namespace}{own}")
        }
        (Some(namespace), own) => format!("{namespace}__{own}"),
    }
}

/// How a tool takes its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    /// Arguments by a JSON Schema; `None` means that it takes none
    Function(Option<Json>),
    /// Free text, by a vendor's `format` (plain or a grammar)
    Custom(Option<Json>),
    /// Run by the vendor itself (`web_search`, `web_fetch_20250910`, …): the definition as it was sent
    Hosted(Json),
}

impl Default for ToolKind {
    fn default() -> ToolKind {
        ToolKind::Function(None)
    }
}

impl Tool {
    /// A function tool.
    pub fn function(name: impl Into<String>, parameters: Json) -> Tool {
        Tool { name: name.into(), kind: ToolKind::Function(Some(parameters)), ..Tool::default() }
    }

    /// With a description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Tool {
        self.description = Some(description.into());
        self
    }

    /// The schema of the arguments, for a function that takes some.
    pub fn parameters(&self) -> Option<&Json> {
        match &self.kind {
            ToolKind::Function(parameters) => parameters.as_ref(),
            _ => None,
        }
    }
}

/// Which tools the model may, must or must not call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides
    Auto,
    /// No call
    None,
    /// At least one call, of any tool
    Required,
    /// A call of this tool
    Tool(String),
    /// Only these tools; at least one call if `required`
    Allowed {
        /// The names
        names: Vec<String>,
        /// Whether a call must be made
        required: bool,
    },
    /// A choice that only its own dialect knows, as it was sent
    Other(Json),
}
