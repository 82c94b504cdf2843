//! A call that waits for a person. The question can be written down and answered later, by another
//! process as well; nothing but the call itself is needed to go on.

use std::sync::Arc;

use toolwright_core::json::Object;
use toolwright_core::{Call, Json, object};

use super::completeness::Wholeness;
use super::key::{self, Place};
use crate::error::{CallError, CallErrorKind};
use crate::session::Session;
use toolwright_core::document::{DocumentError, Fields, read_call, write_call};

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its name, different for every call of a run
    pub id: String,
    /// The tenant whose run it is
    pub tenant: Arc<str>,
    /// The run that the call belongs to
    pub run: Arc<str>,
    /// The turn of the run
    pub turn: u64,
    /// The call as the model made it, which may hold secrets
    pub call: Call,
    /// The arguments that it would run with, as a person may see them: no secrets, and handles in
    /// place of what they stand for
    pub arguments: Object,
    /// Why a person is asked
    pub reason: String,
    /// The idempotency key that it would run with
    pub key: Arc<str>,
    /// Of the arguments before redaction: whether they are still the same
    pub(crate) digest: String,
    pub(crate) place: Place,
    pub(crate) wholeness: Wholeness,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Run it
    Approve,
    /// Do not run it, for this reason, which the model will read
    Reject(String),
}

impl Approval {
    /// The document.
    pub fn to_json(&self) -> Json {
        object! {
            "id": self.id.as_str(),
            "tenant": &*self.tenant,
            "run": &*self.run,
            "turn": self.turn,
            "position": self.place.position,
            "repeats": self.place.repeats,
            "whole": self.wholeness == Wholeness::Proven,
            "key": &*self.key,
            "digest": self.digest.as_str(),
            "reason": self.reason.as_str(),
            "arguments": self.arguments.clone(),
            "call": write_call(&self.call),
        }
        .into()
    }

    /// Reads the document.
    pub fn from_json(document: &Json) -> Result<Approval, DocumentError> {
        let fields = Fields::of(document)?;
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
            place: Place { position: fields.count("position")?, repeats: fields.count("repeats")? },
            wholeness: if is_whole { Wholeness::Proven } else { Wholeness::Unknown },
        })
    }

    /// Whether what would run now is what the person was asked about.
    pub(crate) fn covers(&self, canonical: &str) -> bool {
        self.digest == digest(canonical)
    }

    /// Whether a session is of the run in which the question arose.
    pub(crate) fn belongs_to(&self, session: &Session) -> bool {
        self.run == session.run && self.tenant == session.caller.tenant
    }
}

/// What tells arguments apart that a person must not see.
pub(crate) fn digest(canonical: &str) -> String {
    key::digest(&[canonical]).to_hex().to_string()
}

/// What a model is told whose call a person refused.
pub(crate) fn rejected(tool: &str, reason: &str) -> CallError {
    let reason = match reason.trim() {
        "" => String::new(),
        reason => format!(" The reason given: {reason}"),
    };
    let text = format!(
        "{tool} needs a person's word to run with these arguments, and did not get it.{reason} \
         Nothing was done. Do not make the same call again; ask what to do instead, or go on \
         without it."
    );
    CallError::new(CallErrorKind::Rejected, text)
}

/// What the host is told that answers in another run.
pub(crate) fn foreign(tool: &str) -> CallError {
    let text = format!("The question about {tool} belongs to another run. Nothing was done.");
    CallError::new(CallErrorKind::NotAllowed, text)
}
