//! Whether a call was written to its end. The first question asked of one.

use toolwright_core::args::{Change, Op};

use crate::error::{CallError, CallErrorKind};

/// What the finish of a model's answer says about its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wholeness {
    /// Nothing: arguments run if they are whole by themselves
    #[default]
    Unknown,
    /// The model was done: what looks cut off is only badly written, and may be closed
    Proven,
    /// The model was cut off: a call that may lack its end never runs, however whole it looks
    Truncated,
}

impl Wholeness {
    /// What it means for a call that another one follows: a model writes its calls one after
    /// another, so that only the last can have been cut off.
    pub(crate) fn before_last(self) -> Wholeness {
        match self {
            Wholeness::Truncated => Wholeness::Unknown,
            other => other,
        }
    }

    /// Refuses a call of a model that was cut off.
    pub(crate) fn admit(self, tool: &str) -> Result<(), CallError> {
        match self {
            Wholeness::Truncated => Err(truncated(tool)),
            Wholeness::Unknown | Wholeness::Proven => Ok(()),
        }
    }

    /// Refuses arguments that had to be closed, unless the model is known to have been done.
    pub(crate) fn admit_changes(self, tool: &str, changes: &[Change]) -> Result<(), CallError> {
        let closed = changes.iter().any(|change| change.op == Op::Close);
        if closed && self != Wholeness::Proven { Err(truncated(tool)) } else { Ok(()) }
    }
}

fn truncated(tool: &str) -> CallError {
    let text = format!(
        "The call of {tool} was truncated: your answer ended before its arguments did. It was not \
         run. Send the call again with smaller arguments, or do the work in several calls."
    );
    CallError::new(CallErrorKind::Truncated, text)
}
