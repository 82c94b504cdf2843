//! Why tools cannot be put into a box, or used in a run.

use std::sync::Arc;

use toolwright_core::schema::SchemaError;

/// Why tools cannot be put into a box.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolboxError {
    /// A tool has no name
    #[error("a tool has no name")]
    Nameless,
    /// Two tools have one name
    #[error("two tools are named {tool}; rename one with Handler::with_name")]
    Duplicate {
        /// The name
        tool: String,
    },
    /// The schema of a tool's parameters cannot be used
    #[error("the parameters of {tool}: {source}")]
    Schema {
        /// The tool
        tool: String,
        /// What is wrong
        source: SchemaError,
    },
    /// A vendor runs the tool itself, so nothing here can
    #[error("{tool} is run by a vendor, and cannot have a handler")]
    Hosted {
        /// The tool
        tool: String,
    },
}

/// A tool needs a type that a context does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tool} needs a context value of type {needed}; add one with Context::with")]
pub struct MissingNeed {
    /// The tool
    pub tool: Arc<str>,
    /// The name of the type
    pub needed: &'static str,
}
