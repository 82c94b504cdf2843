//! Whether the model finished writing a call.

use toolwright_core::args::{Change, Op};

use crate::error::{CallError, CallErrorKind};

/// Whether the model finished writing a call, as far as its stop reason says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Completeness {
    /// The stop reason is unknown: the call runs if its arguments are complete JSON
    #[default]
    Unknown,
    /// The model finished: arguments that lack closing brackets are repaired
    Complete,
    /// The model was cut off: the call does not run, even if its arguments look complete
    Truncated,
}

impl Completeness {
    /// The completeness of a call that another one follows. A model writes its calls in order, so only
    /// the last one can be truncated.
    pub(crate) fn before_last(self) -> Completeness {
        match self {
            Completeness::Truncated => Completeness::Unknown,
            other => other,
        }
    }

    /// Refuses a truncated call.
    pub(crate) fn check_call(self, tool: &str) -> Result<(), CallError> {
        match self {
            Completeness::Truncated => Err(truncated(tool)),
            Completeness::Unknown | Completeness::Complete => Ok(()),
        }
    }

    /// Refuses arguments whose brackets were closed by a repair, unless the model finished the call.
    pub(crate) fn check_changes(self, tool: &str, changes: &[Change]) -> Result<(), CallError> {
        let closed = changes.iter().any(|change| change.op == Op::Close);
        if closed && self != Completeness::Complete { Err(truncated(tool)) } else { Ok(()) }
    }
}

fn truncated(tool: &str) -> CallError {
    let text = format!(
        "The call of {tool} was truncated: its arguments end before they are complete. It was not \
         run. Send the call again with smaller arguments, or do the work in several calls."
    );
    CallError::new(CallErrorKind::Truncated, text)
}
