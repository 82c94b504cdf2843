//! Tools that a model may call.

use toolwright_json::{Json, Object};

use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::part::CacheMark;

/// A tool definition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tool {
    /// The name in calls
    pub name: String,
    /// The description for the model
    pub description: Option<String>,
    /// The kind of input
    pub kind: ToolKind,
    /// Whether the vendor enforces the schema; `None` is the vendor's default
    pub strict: Option<bool>,
    /// A prompt-cache breakpoint after this definition
    pub cache: Option<CacheMark>,
    /// JSON Schema of the result
    pub output: Option<Json>,
    /// Examples of valid arguments
    pub examples: Vec<Json>,
    /// A display name
    pub title: Option<String>,
    /// Behaviour hints, named as in MCP (`readOnlyHint`, …)
    pub annotations: Option<Object>,
    /// The namespace that starts with this tool; following tools belong to it by their names, see
    /// [`qualified_name`]
    pub namespace: Option<Box<Namespace>>,
    /// Whether an item of the conversation defines it, instead of the list of tools
    pub loaded: bool,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Position in the source document
    pub origin: Origin,
    /// Position of its schema, if not in the default field of its dialect
    pub schema_origin: Origin,
}

/// A group of tools. Its name is the first half of each tool's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Namespace {
    /// The description for the model
    pub description: Option<String>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Position in the source document
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

/// Returns the name of a tool for a model without namespaces, as Codex joins it. Two tools may
/// share one.
pub fn flat_name(name: &str) -> String {
    match split_name(name) {
        (None | Some(""), own) => own.to_owned(),
        (Some(namespace), own) if namespace.ends_with('_') || own.starts_with('_') => {
            format!("{namespace}{own}")
        }
        (Some(namespace), own) => format!("{namespace}__{own}"),
    }
}

/// The kind of a tool's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    /// Arguments with a JSON Schema; `None` means no arguments
    Function(Option<Json>),
    /// Free text, with a vendor's `format` (plain or a grammar)
    Custom(Option<Json>),
    /// A hosted tool, which the vendor runs (`web_search`, `web_fetch_20250910`, …): the definition
    /// as it was received
    Hosted(Json),
}

impl Default for ToolKind {
    fn default() -> ToolKind {
        ToolKind::Function(None)
    }
}

impl Tool {
    /// Creates a function tool.
    pub fn function(name: impl Into<String>, parameters: Json) -> Tool {
        Tool { name: name.into(), kind: ToolKind::Function(Some(parameters)), ..Tool::default() }
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Tool {
        self.description = Some(description.into());
        self
    }

    /// Returns the schema of the arguments, if this is a function with arguments.
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
        /// Whether a call is required
        required: bool,
    },
    /// A choice that only its dialect knows, as it was received
    Other(Json),
}
