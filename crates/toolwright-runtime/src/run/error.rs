//! Why a run did not finish.

use toolwright_core::Fault;
use toolwright_core::document::DocumentError;

use super::limit::Limit;
use crate::call::Approval;
use crate::toolbox::MissingNeed;

/// Why a run did not finish. Its messages are a valid conversation, and after a fault, a limit or a
/// question it can continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The agent has no model
    #[error("agent '{0}' has no model; give it one with Agent::with_model")]
    NoModel(String),
    /// The context lacks types that tools need
    #[error("{}", list(.0))]
    MissingContext(Vec<MissingNeed>),
    /// The model returned a fault
    #[error("the model did not answer: {}", .0.message)]
    Model(Box<Fault>),
    /// A limit was reached
    #[error("the run reached its limit of {0}")]
    Limit(Limit),
    /// The model repeated a failing call
    #[error("the model repeated the same failing call of '{tool}' {times} times")]
    Stuck {
        /// The tool
        tool: String,
        /// How often
        times: u32,
    },
    /// Calls wait for approval
    #[error("{} call(s) wait for approval; answer them with Run::answer and continue", .0.len())]
    Waiting(Vec<Approval>),
    /// The run was cancelled
    #[error("the run was cancelled")]
    Cancelled,
    /// No call waits under this id; it may have been answered already
    #[error("no call waits for approval under the id '{0}'")]
    NotWaiting(String),
    /// A saved run cannot be read, or belongs to another agent
    #[error("saved run: {0}")]
    Saved(DocumentError),
    /// The system has no randomness for the id of the run
    #[error("no randomness for the id of the run: {0}")]
    NoRandomness(String),
}

fn list(missing: &[MissingNeed]) -> String {
    let each: Vec<String> = missing.iter().map(ToString::to_string).collect();
    each.join("\n")
}

impl From<Limit> for RunError {
    fn from(limit: Limit) -> RunError {
        RunError::Limit(limit)
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> RunError {
        RunError::Model(Box::new(fault))
    }
}
