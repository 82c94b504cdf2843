//! Errors of a plan, for its author.

use std::fmt;

use toolwright_core::document::{self, DocumentFault};
use toolwright_core::suggest;
use toolwright_json::Object;
use toolwright_json::object;

/// An error in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanError {
    /// JSON Pointer into the plan; empty for the plan as a whole
    pub path: String,
    /// The kind of error
    pub kind: PlanErrorKind,
    /// The problem and what is accepted, as a sentence
    pub message: String,
    /// The name that was probably meant
    pub suggestion: Option<String>,
}

toolwright_json::words! {
    /// The kinds of errors, in the order of the checks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum PlanErrorKind: as_str {
        /// The document has not the shape of a plan.
        Shape = "shape",
        /// A limit is exceeded.
        Limit = "limit",
        /// The id of a step is invalid or repeated.
        Id = "id",
        /// A reference does not lead to a value, or leads to a later step.
        Reference = "reference",
        /// Steps wait for each other.
        Cycle = "cycle",
        /// There is no such tool.
        UnknownTool = "unknown_tool",
        /// The tool cannot be loaded from its source.
        Unavailable = "unavailable",
        /// The tool differs from the pinned one.
        ToolChanged = "tool_changed",
        /// The tool has no such parameter, or it is hidden.
        UnknownParameter = "unknown_parameter",
        /// A required parameter has no value.
        MissingParameter = "missing_parameter",
        /// A literal argument violates the schema of the tool.
        Argument = "argument",
        /// The output of a step cannot be the value that an edge feeds.
        Edge = "edge",
        /// A document of another format has something that plans cannot express.
        Unsupported = "unsupported",
    }
}

/// A value of a plan or a view.
pub(super) type Node<'j> = document::Node<'j, PlanError>;
/// An object of a plan or a view.
pub(super) type Fields<'j> = document::Fields<'j, PlanError>;

impl From<DocumentFault> for PlanError {
    fn from(fault: DocumentFault) -> PlanError {
        let DocumentFault { pointer: path, problem: message, suggestion, .. } = fault;
        PlanError { path, kind: PlanErrorKind::Shape, message, suggestion }
    }
}

impl PlanError {
    /// Creates an error at a JSON Pointer into the plan.
    pub fn new(
        kind: PlanErrorKind,
        path: impl fmt::Display,
        message: impl Into<String>,
    ) -> PlanError {
        PlanError { path: path.to_string(), kind, message: message.into(), suggestion: None }
    }

    /// Adds the most similar of some names.
    #[must_use]
    pub(super) fn suggesting<'n>(
        mut self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> PlanError {
        self.suggestion = suggest(name, names).map(str::to_owned);
        self
    }

    /// Returns the JSON form: `{path, kind, message, suggestion}`.
    pub fn to_json(&self) -> Object {
        let mut out = object! {
            "path": self.path.as_str(),
            "kind": self.kind.as_str(),
            "message": self.message.as_str(),
        };
        out.insert_some("suggestion", self.suggestion.clone());
        out
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the plan" } else { &self.path };
        write!(formatter, "{path}: {}", self.message)?;
        match &self.suggestion {
            Some(name) => write!(formatter, "; did you mean '{name}'?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PlanError {}
