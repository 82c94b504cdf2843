//! A call that passed every step: the only thing that can be executed.

use std::sync::Arc;

use super::{Change, Op, ResolvedArguments};
use crate::json::Object;
use crate::model::call::Call;

/// A call with arguments that its tool accepts. There is no other way to make one than to resolve
/// arguments without an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCall {
    id: Option<String>,
    name: Arc<str>,
    arguments: Object,
    changes: Vec<Change>,
    defaulted: Vec<Arc<str>>,
}

impl CheckedCall {
    /// The call of a tool with resolved arguments; returns them if they are not valid.
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

    /// The call's id, as the dialect sent it.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arguments, completed.
    pub fn arguments(&self) -> &Object {
        &self.arguments
    }

    /// The arguments, for the tool.
    pub fn into_arguments(self) -> Object {
        self.arguments
    }

    /// What differs from what the model wrote.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The parameters that were given their default.
    pub fn defaulted(&self) -> &[Arc<str>] {
        &self.defaulted
    }

    /// Whether the text was cut off and had to be closed. Such a call runs only if the model is
    /// known to have been done (case 27).
    pub fn is_closed(&self) -> bool {
        self.changes.iter().any(|change| change.op == Op::Close)
    }
}
