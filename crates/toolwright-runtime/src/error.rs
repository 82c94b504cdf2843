//! Errors of a call: [`ToolError`] comes from a tool, [`CallError`] goes to the model.

use std::fmt;

/// What the message of a call says whose answer is lost.
pub const IN_DOUBT: &str =
    "It is not known whether the call had its effect; check before you repeat it";

/// The error of a tool. Any error converts to it with `?`.
///
/// It does not implement [`std::error::Error`], because that would rule out the conversion from
/// every error.
#[must_use]
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolError {
    /// The message for the model
    pub message: String,
    /// The kind of error in one word, such as the name of the error type
    pub kind: String,
    /// Whether the same call may succeed later, because it had no effect
    pub retryable: bool,
    /// The kind of failure of the call, if it is another than that of a failed tool
    pub(crate) call_kind: Option<CallErrorKind>,
}

impl ToolError {
    /// Creates an error with a message.
    pub fn new(message: impl Into<String>) -> ToolError {
        ToolError {
            message: message.into(),
            kind: "ToolError".to_owned(),
            retryable: false,
            call_kind: None,
        }
    }

    /// Sets the kind.
    pub fn with_kind(mut self, kind: impl Into<String>) -> ToolError {
        self.kind = kind.into();
        self
    }

    /// Sets the kind of failure of the call, if it is another than that of a failed tool.
    pub fn with_call_kind(mut self, kind: CallErrorKind) -> ToolError {
        self.call_kind = Some(kind);
        self
    }

    /// Marks the error as transient: the call had no effect and may be repeated.
    pub fn retryable(mut self) -> ToolError {
        self.retryable = true;
        self
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> ToolError {
        let name = std::any::type_name::<E>();
        let name = name.split('<').next().unwrap_or(name);
        let kind = name.rsplit("::").next().unwrap_or(name);
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            message = format!("{message}: {inner}");
            cause = inner.source();
        }
        ToolError::new(message).with_kind(kind)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.message)
    }
}

/// Why a call has no result, as a message for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct CallError {
    /// The kind of failure
    pub kind: CallErrorKind,
    /// The text that the model reads: what happened, what is accepted, and the remedy
    pub text: String,
    /// The tool's own name of the error, if a tool returned it
    pub tool_kind: Option<String>,
    /// Whether the same call may succeed later
    pub retryable: bool,
}

impl CallError {
    /// Creates an error.
    pub fn new(kind: CallErrorKind, text: impl Into<String>) -> CallError {
        CallError { kind, text: text.into(), tool_kind: None, retryable: false }
    }

    /// Marks the error as transient.
    #[must_use]
    pub fn retryable(mut self) -> CallError {
        self.retryable = true;
        self
    }

    /// Returns the value of `error_type`: the tool's own name of the error, or else the kind.
    pub fn error_type(&self) -> &str {
        self.tool_kind.as_deref().unwrap_or(self.kind.as_str())
    }
}

toolwright_json::words! {
    /// The kinds of failure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum CallErrorKind: as_str, from_name {
        /// No tool has this name
        UnknownTool = "unknown_tool",
        /// The policy denies this call
        NotAllowed = "not_allowed",
        /// A person rejected the call
        Rejected = "rejected",
        /// The arguments could not be parsed
        InvalidJson = "invalid_json",
        /// The arguments violate the tool's schema
        InvalidArguments = "invalid_arguments",
        /// The model was cut off while it wrote the call
        Truncated = "truncated",
        /// The handle is unknown, expired or belongs to another owner
        BadHandle = "bad_handle",
        /// A slot that the tool needs has no value, or an earlier call that uses it waits for approval
        EmptySlot = "empty_slot",
        /// The run has no context of the type that the tool needs
        MissingContext = "missing_context",
        /// The tool returned an error
        Failed = "failed",
        /// The tool crashed
        Panicked = "panicked",
        /// The deadline passed
        TimedOut = "timed_out",
        /// The run was cancelled
        Cancelled = "cancelled",
        /// Too many calls are running
        Busy = "busy",
        /// An earlier attempt may have had its effect; it was not repeated
        Uncertain = "uncertain",
        /// The source of the tool cannot be reached, or defines the tool incorrectly
        Unavailable = "unavailable",
        /// The journal could not be written, so nothing was done
        Unrecorded = "unrecorded",
        /// The caller has made too many calls in a minute
        RateLimited = "rate_limited",
        /// A call within it waits for a person
        Waiting = "waiting",
    }
}
