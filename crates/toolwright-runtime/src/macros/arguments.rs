//! Binds arguments to the parameters of a function.

use std::fmt::Write;

use toolwright_json::Object;

use crate::define::Parameter;
use crate::error::{CallErrorKind, ToolError};

/// The arguments of a call, and the errors of the parameters taken so far.
pub struct Arguments {
    members: Object,
    wrong: Vec<String>,
}

impl Arguments {
    /// Wraps arguments that the schema accepted.
    pub fn new(members: Object) -> Arguments {
        Arguments { members, wrong: Vec::new() }
    }

    /// Takes the value of a parameter; on failure records the error and returns `None`.
    pub fn take<T>(&mut self, parameter: &Parameter<T>) -> Option<T> {
        let name = parameter.name();
        let Some(value) = self.members.get(name) else {
            let absent = parameter.absent();
            if absent.is_none() {
                self.wrong.push(format!("`{name}` is missing"));
            }
            return absent;
        };
        match parameter.read(value) {
            Ok(value) => Some(value),
            Err(error) => {
                let (path, message) = (error.path(), error.message());
                let place = if path.is_empty() { "" } else { " at " };
                self.wrong.push(format!("`{name}`{place}{path}: {message}"));
                None
            }
        }
    }

    /// Returns the error of the arguments.
    pub fn refused(self) -> ToolError {
        let mut text = String::from("The arguments were refused, and nothing was done:");
        for wrong in &self.wrong {
            let _ = write!(text, "\n- {wrong}");
        }
        text.push_str("\nCall again with these corrected.");
        ToolError::new(text).with_kind(CallErrorKind::InvalidArguments.as_str())
    }
}
