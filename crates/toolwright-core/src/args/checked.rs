//! A call that passed every check. Only such a call can be executed.

use std::sync::Arc;

use toolwright_json::Object;

use super::{Change, Op, ResolvedArguments};
use crate::model::call::Call;

/// A call with arguments that its tool accepts. It can be created only from arguments that were
/// resolved without an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCall {
    id: Option<String>,
    name: Arc<str>,
    arguments: Object,
    changes: Vec<Change>,
    defaulted: Vec<Arc<str>>,
}

impl CheckedCall {
    /// Creates the call of a tool with resolved arguments; returns them if they are invalid.
    pub fn new(
        call: &Call,
        resolved: ResolvedArguments,
    ) -> Result<CheckedCall, Box<ResolvedArguments>> {
        if !resolved.is_runnable() {
            return Err(Box::new(resolved));
        }
        let (tool, arguments, changes, defaulted) = resolved.into_parts();
        Ok(CheckedCall { id: call.id.clone(), name: tool, arguments, changes, defaulted })
    }

    /// Returns the id of the call, as the dialect sent it.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the completed arguments.
    pub fn arguments(&self) -> &Object {
        &self.arguments
    }

    /// Converts into the arguments.
    pub fn into_arguments(self) -> Object {
        self.arguments
    }

    /// Returns the differences from the model's text.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the parameters that were set to their default.
    pub fn defaulted(&self) -> &[Arc<str>] {
        &self.defaulted
    }

    /// Whether the text was truncated and had to be closed. Such a call runs only if the model is
    /// known to have finished (case 27).
    pub fn is_closed(&self) -> bool {
        self.changes.iter().any(|change| change.op == Op::Close)
    }
}
