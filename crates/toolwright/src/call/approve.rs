//! A call that waits for a person. The question can be written down and answered later, by another
//! process as well; nothing but the call itself is needed to go on.

use std::sync::Arc;

use toolwright_core::json::Object;
use toolwright_core::{Arguments, Call, Json, object};

use super::bind::{self, Place};
use super::wholeness::Wholeness;
use crate::error::{CallError, CallErrorKind};
use crate::session::Session;

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

/// Why a document is no approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an approval: {0} is missing or wrong")]
pub struct NotAnApproval(pub &'static str);

impl Approval {
    /// The document.
    pub fn to_json(&self) -> Json {
        let (form, text) = (form(&self.call.arguments), self.call.arguments.as_str());
        let mut call = object! {"name": self.call.name.as_str(), "form": form, "arguments": text};
        call.insert_some("id", self.call.id.as_deref());
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
            "call": call,
        }
        .into()
    }

    /// Reads the document.
    pub fn from_json(document: &Json) -> Result<Approval, NotAnApproval> {
        let text = |name: &'static str| {
            document.get(name).and_then(Json::as_str).ok_or(NotAnApproval(name))
        };
        let count = |name: &'static str| {
            document.get(name).and_then(Json::as_u64).ok_or(NotAnApproval(name))
        };
        let size = |name| usize::try_from(count(name)?).map_err(|_| NotAnApproval(name));
        let call = document.get("call").ok_or(NotAnApproval("call"))?;
        let whole = document.get("whole").and_then(Json::as_bool).ok_or(NotAnApproval("whole"))?;
        let arguments = document.get("arguments").and_then(Json::as_object);
        Ok(Approval {
            id: text("id")?.to_owned(),
            tenant: text("tenant")?.into(),
            run: text("run")?.into(),
            turn: count("turn")?,
            call: read_call(call)?,
            arguments: arguments.ok_or(NotAnApproval("arguments"))?.clone(),
            reason: text("reason")?.to_owned(),
            key: text("key")?.into(),
            digest: text("digest")?.to_owned(),
            place: Place { position: size("position")?, repeats: size("repeats")? },
            wholeness: if whole { Wholeness::Proven } else { Wholeness::Unknown },
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

fn read_call(call: &Json) -> Result<Call, NotAnApproval> {
    let text = |name: &str| call.get(name).and_then(Json::as_str).ok_or(NotAnApproval("the call"));
    let arguments = of_form(text("form")?, text("arguments")?).ok_or(NotAnApproval("the call"))?;
    let id = call.get("id").and_then(Json::as_str).map(str::to_owned);
    Ok(Call { id, name: text("name")?.to_owned(), arguments })
}

/// The word by which a document says what the text of arguments is.
pub(crate) fn form(arguments: &Arguments) -> &'static str {
    match arguments {
        Arguments::Json(_) => "json",
        Arguments::Malformed(_) => "malformed",
        Arguments::Free(_) => "free",
    }
}

/// Arguments by that word and their text, if they go together.
pub(crate) fn of_form(form: &str, text: &str) -> Option<Arguments> {
    match form {
        "json" => Some(Arguments::from_text(text)).filter(|own| matches!(own, Arguments::Json(_))),
        "malformed" => Some(Arguments::Malformed(text.to_owned())),
        "free" => Some(Arguments::Free(text.to_owned())),
        _ => None,
    }
}

/// What tells arguments apart that a person must not see.
pub(crate) fn digest(canonical: &str) -> String {
    bind::digest(&[canonical]).to_hex().to_string()
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
