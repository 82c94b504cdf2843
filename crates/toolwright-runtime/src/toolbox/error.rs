//! Why a toolbox cannot be created, or its context is incomplete.

use std::sync::Arc;

use toolwright_core::schema::SchemaError;

/// Why a toolbox cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// The schema of a tool's parameters is invalid
    #[error("the parameters of {tool}: {source}")]
    Schema {
        /// The tool
        tool: String,
        /// What is wrong
        source: SchemaError,
    },
    /// The tool is hosted: its vendor runs it
    #[error("{tool} is run by a vendor, and cannot have a handler")]
    Hosted {
        /// The tool
        tool: String,
    },
}

/// The context lacks a type that a tool needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tool} needs a context value of type {needed}; add one with Context::with")]
#[non_exhaustive]
pub struct MissingNeed {
    /// The tool
    pub tool: Arc<str>,
    /// The name of the type
    pub needed: &'static str,
}
