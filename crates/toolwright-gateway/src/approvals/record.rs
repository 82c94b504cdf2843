//! An approval and its stored form, version 1:
//!
//! ```json
//! {"v": 1, "id": "apr_…", "tool": "write_file", "arguments": {…}, "reason": "It changes something.",
//!  "tenant": "acme", "client": "alice", "conversation": "conv_…", "run": "req_…",
//!  "created_at": "2026-11-16T10:00:00Z", "expires_at": "2026-11-17T10:00:00Z",
//!  "answer": {"answer": "approve", "reason": null, "by": "bob", "at": "2026-11-16T10:05:00Z"}}
//! ```

use std::time::SystemTime;

use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::json::Object;
use toolwright_core::{Json, date, object};
use toolwright_runtime::Caller;
use toolwright_runtime::call::Answer;
use toolwright_runtime::ledger::ApprovalEntry;

use super::seconds;
use crate::conversation::ConversationId;

/// The version of the stored form.
const VERSION: u64 = 1;

/// A call that waits for approval, or waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// The id
    pub id: String,
    /// The tool
    pub tool: String,
    /// The checked arguments, with secrets redacted
    pub arguments: Object,
    /// Why the call needs approval
    pub reason: String,
    /// The client that made the request, and its tenant
    pub caller: Caller,
    /// The conversation of the request
    pub conversation: ConversationId,
    /// The run of the call
    pub run: String,
    /// When it was requested, in seconds since 1970
    pub created: u64,
    /// When it can no longer be answered, in seconds since 1970
    pub expires: u64,
    /// The answer
    pub answer: Option<RecordedAnswer>,
}

/// The answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// Whether the call may run
    pub decision: Decision,
    /// The reason for the model
    pub reason: Option<String>,
    /// Who answered
    pub by: String,
    /// When, in seconds since 1970
    pub time: u64,
}

toolwright_core::json::words! {
    /// Whether a call may run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Decision: word, from_word {
        /// It may
        Approve = "approve",
        /// It may not
        Reject = "reject",
    }
}

toolwright_core::json::words! {
    /// The state of an approval.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Status: word {
        /// It can be answered
        Pending = "pending",
        /// The call may run
        Approved = "approved",
        /// The call may not run
        Rejected = "rejected",
        /// Nobody answered in time
        Expired = "expired",
    }
}

impl ApprovalRecord {
    /// Returns the state at a time.
    pub fn status(&self, now: u64) -> Status {
        match &self.answer {
            Some(RecordedAnswer { decision: Decision::Approve, .. }) => Status::Approved,
            Some(RecordedAnswer { decision: Decision::Reject, .. }) => Status::Rejected,
            None if now >= self.expires => Status::Expired,
            None => Status::Pending,
        }
    }

    /// Returns the answer for the run, if it need not wait any longer.
    pub fn outcome(&self, now: u64) -> Option<Answer> {
        match (self.status(now), &self.answer) {
            (Status::Pending, _) => None,
            (Status::Approved, _) => Some(Answer::Approve),
            (Status::Rejected, answer) => {
                let reason = answer.as_ref().and_then(|answer| answer.reason.clone());
                Some(Answer::Reject(reason.unwrap_or_default()))
            }
            (Status::Expired, _) => Some(Answer::Reject("Nobody answered in time.".to_owned())),
        }
    }

    /// Returns the document for clients.
    pub fn to_json(&self) -> Object {
        let mut document = object! {
            "id": self.id.as_str(),
            "object": "approval",
            "status": self.status(seconds()).word(),
        };
        document.merge(&self.fields());
        document
    }

    /// Returns the entry of the ledger for its answer, which was given now.
    pub fn ledger_entry(&self, by: Caller) -> Option<ApprovalEntry> {
        let answer = self.answer.as_ref()?;
        Some(ApprovalEntry {
            time: SystemTime::now(),
            run: self.run.as_str().into(),
            caller: by,
            approval: self.id.as_str().into(),
            tool: self.tool.as_str().into(),
            conversation: Some(self.conversation.shared()),
            approved: answer.decision == Decision::Approve,
        })
    }

    fn fields(&self) -> Object {
        let answer = self.answer.as_ref().map(|answer| {
            object! {
                "answer": answer.decision.word(),
                "reason": answer.reason.as_deref(),
                "by": answer.by.as_str(),
                "at": write_time(answer.time),
            }
        });
        object! {
            "id": self.id.as_str(),
            "tool": self.tool.as_str(),
            "arguments": self.arguments.clone(),
            "reason": self.reason.as_str(),
            "tenant": &*self.caller.tenant,
            "client": &*self.caller.id,
            "conversation": self.conversation.as_str(),
            "run": self.run.as_str(),
            "created_at": write_time(self.created),
            "expires_at": write_time(self.expires),
            "answer": answer,
        }
    }

    /// Encodes the approval.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut document = object! {"v": VERSION};
        document.merge(&self.fields());
        document.compact().into_bytes()
    }

    /// Decodes a stored approval; `None` if it is damaged or of a later version.
    pub(super) fn read(bytes: &[u8]) -> Option<ApprovalRecord> {
        let document = Json::parse_bytes(bytes).ok()?;
        let record = ApprovalRecord::read_fields(&document);
        if record.is_err() {
            tracing::warn!("a stored approval has a form that this version does not read");
        }
        record.ok()
    }

    fn read_fields(document: &Json) -> Result<ApprovalRecord, DocumentError> {
        let fields = ObjectReader::of(document)?;
        if fields.count::<u64>("v")? != VERSION {
            return Err(DocumentError::new("version 1").within("v"));
        }
        let text = |key| fields.text(key).map(str::to_owned);
        let time = |fields: ObjectReader<'_>, key| fields.word(key, "a time", read_time);
        let conversation = |name: &str| ConversationId::parse(name).ok();
        Ok(ApprovalRecord {
            id: text("id")?,
            tool: text("tool")?,
            arguments: fields.object("arguments")?.as_object().clone(),
            reason: text("reason")?,
            caller: Caller::new(fields.text("client")?).with_tenant(fields.text("tenant")?),
            conversation: fields.word("conversation", "a conversation", conversation)?,
            run: text("run")?,
            created: time(fields, "created_at")?,
            expires: time(fields, "expires_at")?,
            answer: fields.optional("answer", |answer| {
                let fields = ObjectReader::of(answer)?;
                Ok(RecordedAnswer {
                    decision: fields.word("answer", "approve or reject", Decision::from_word)?,
                    reason: fields.owned("reason")?,
                    by: fields.text("by")?.to_owned(),
                    time: time(fields, "at")?,
                })
            })?,
        })
    }
}

impl RecordedAnswer {
    /// Creates an answer at the current time.
    pub fn now(decision: Decision, reason: Option<String>, by: impl Into<String>) -> Self {
        RecordedAnswer { decision, reason, by: by.into(), time: seconds() }
    }
}

/// Writes a time as RFC 3339.
pub fn write_time(seconds: u64) -> String {
    date::write(seconds) + "Z"
}

fn read_time(text: &str) -> Option<u64> {
    date::read(text.strip_suffix('Z')?)
}
