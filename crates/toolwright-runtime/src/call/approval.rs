//! A call that waits for approval. The question can be stored as JSON and answered later, also by another
//! process.

use std::sync::Arc;

use toolwright_core::document::{DocumentError, ObjectReader, read_call, write_call};
use toolwright_core::{Call, Json, object};
use toolwright_json::Object;

use super::completeness::Completeness;
use super::key::{self, CallPosition};
use crate::error::{CallError, CallErrorKind};
use crate::handler::ToolDigest;
use crate::session::Session;

/// A call that waits for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// The id of the question, unique in the run
    pub id: String,
    /// The tenant of the run
    pub tenant: Arc<str>,
    /// The run of the call
    pub run: Arc<str>,
    /// The turn of the run
    pub turn: u64,
    /// The call as the model wrote it; it may contain secrets
    pub call: Call,
    /// The checked arguments for display: secrets redacted, handles in place of their values
    pub arguments: Object,
    /// Why the call needs approval
    pub reason: String,
    /// The idempotency key of the call
    pub key: Arc<str>,
    /// The hash of the tool and of the unredacted arguments, to detect that one of them changed
    pub(crate) digest: String,
    pub(crate) position: CallPosition,
    pub(crate) completeness: Completeness,
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Run the call
    Approve,
    /// Do not run the call; the model reads the reason
    Reject(String),
}

impl Approval {
    /// Writes the approval as JSON.
    pub fn to_json(&self) -> Json {
        object! {
            "id": self.id.as_str(),
            "tenant": &*self.tenant,
            "run": &*self.run,
            "turn": self.turn,
            "position": self.position.index,
            "repeats": self.position.repeats,
            "whole": self.completeness == Completeness::Complete,
            "key": &*self.key,
            "digest": self.digest.as_str(),
            "reason": self.reason.as_str(),
            "arguments": self.arguments.clone(),
            "call": write_call(&self.call),
        }
        .into()
    }

    /// Reads an approval from JSON.
    pub fn from_json(document: &Json) -> Result<Approval, DocumentError> {
        let fields = ObjectReader::of(document)?;
        let is_whole = fields.flag("whole")?;
        Ok(Approval {
            id: fields.text("id")?.to_owned(),
            tenant: fields.text("tenant")?.into(),
            run: fields.text("run")?.into(),
            turn: fields.count("turn")?,
            call: fields.required("call", read_call)?,
            arguments: fields.object("arguments")?.as_object().clone(),
            reason: fields.text("reason")?.to_owned(),
            key: fields.text("key")?.into(),
            digest: fields.text("digest")?.to_owned(),
            position: CallPosition {
                index: fields.count("position")?,
                repeats: fields.count("repeats")?,
            },
            completeness: if is_whole { Completeness::Complete } else { Completeness::Unknown },
        })
    }

    /// Whether the tool and the arguments are those that the person was asked about.
    pub(crate) fn covers(&self, tool: ToolDigest, canonical: &str) -> bool {
        self.digest == digest(tool, canonical)
    }

    /// Whether a session belongs to the run of the question.
    pub(crate) fn belongs_to(&self, session: &Session) -> bool {
        self.run == session.run && self.tenant == session.caller.tenant
    }
}

/// The hash of a tool and canonical arguments.
pub(crate) fn digest(tool: ToolDigest, canonical: &str) -> String {
    key::digest(&[&tool.to_string(), canonical]).to_hex().to_string()
}

/// The error of a call that a person rejected.
pub(crate) fn rejected(tool: &str, reason: &str) -> CallError {
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!(" The reason given: {reason}"),
    };
    let text = format!(
        "{tool} needs the approval of a person to run with these arguments, and did not get \
         it.{reason} Nothing was done. Do not make the same call again; ask what to do instead, or \
         continue without it."
    );
    CallError::new(CallErrorKind::Rejected, text)
}

/// The error of an answer to a question of another run.
pub(crate) fn foreign(tool: &str) -> CallError {
    let text = format!("The approval of {tool} belongs to another run. Nothing was done.");
    CallError::new(CallErrorKind::NotAllowed, text)
}
