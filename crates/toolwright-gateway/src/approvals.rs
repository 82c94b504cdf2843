//! Calls that wait for the approval of a person, who answers over HTTP or on the command line, also after
//! a restart.
//!
//! A run whose call needs approval is saved, and its exchange ends with a reply that names the approval
//! ([`notice`]). The next request of the conversation continues the run with the answer. An approval is
//! an entry of the store, in the name of its tenant.

mod notice;
mod record;
pub mod routes;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright_core::{Fault, FaultClass, Message};
use toolwright_runtime::Caller;
use toolwright_runtime::call::Approval;
use toolwright_runtime::store::StoreError;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Limits, Outcome, Scope};

use crate::conversation::ConversationId;
pub use notice::{after_notice, notice};
pub use record::{ApprovalRecord, Decision, RecordedAnswer, Status, write_time};

/// The kind of the entries in the store.
const KIND: &str = "approval";
/// The prefix of ids.
const PREFIX: &str = "apr_";

/// How long an approval can be answered.
pub const LIFETIME: Duration = Duration::from_hours(24);

/// Limits of the approvals of one tenant. An expired approval is shown for as long again.
const LIMITS: Limits =
    Limits { lifetime: Duration::from_hours(48), bytes: 16 << 20, entries: 10_000 };

/// Maximum number of bytes of all approvals that the command line reads.
const MAX_READ: usize = 256 << 20;

/// Maximum number of bytes of the reason of an answer.
pub const MAX_REASON: usize = 2_000;

/// Maximum number of approvals in messages that are looked up, the latest first.
const MAX_LOOKUPS: usize = 16;

/// The approvals of all tenants.
#[derive(Debug)]
pub struct Approvals {
    store: Arc<ExpiringStore>,
}

/// Why an answer was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is no such approval, for this tenant
    #[error("there is no approval `{0}`")]
    Unknown(String),
    /// Another answer was recorded before
    #[error("the approval was already answered: {}", .0.status(seconds()).word())]
    Answered(Box<ApprovalRecord>),
    /// Nobody answered in time
    #[error("the approval has expired")]
    Expired,
    /// The store failed
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Approvals {
    /// Creates the approvals in a store.
    pub fn new(store: Arc<ExpiringStore>) -> Approvals {
        Approvals { store }
    }

    /// Requests the approval of a call, unless that was done before. Returns the state of the approval.
    pub async fn request(
        &self,
        caller: &Caller,
        conversation: &ConversationId,
        call: &Approval,
    ) -> Result<ApprovalRecord, StoreError> {
        let id = id(call);
        if let Some(known) = self.find(&caller.tenant, &id).await? {
            return Ok(known);
        }
        let created = seconds();
        let record = ApprovalRecord {
            id,
            tool: call.call.name.clone(),
            arguments: call.arguments.clone(),
            reason: call.reason.clone(),
            caller: caller.clone(),
            conversation: conversation.clone(),
            run: call.run.to_string(),
            created,
            expires: created.saturating_add(LIFETIME.as_secs()),
            answer: None,
        };
        let stored = self.store.commit(&scope(&caller.tenant), entry(&record), LIMITS).await?;
        Ok(match stored {
            Outcome::Stored => record,
            Outcome::TooLarge => {
                let reason = "Its arguments are too large to be shown to a person.".to_owned();
                let answer = RecordedAnswer::now(Decision::Reject, Some(reason), "gateway");
                ApprovalRecord { answer: Some(answer), ..record }
            }
        })
    }

    /// Returns an approval of a tenant. One that cannot be read does not exist.
    pub async fn find(&self, tenant: &str, id: &str) -> Result<Option<ApprovalRecord>, StoreError> {
        let value = self.store.peek(&scope(tenant), id).await?;
        Ok(value.as_deref().and_then(ApprovalRecord::read))
    }

    /// Returns the approvals of a tenant, the oldest first.
    pub async fn of_tenant(&self, tenant: &str) -> Result<Vec<ApprovalRecord>, StoreError> {
        Ok(sorted(self.store.values(&scope(tenant)).await?))
    }

    /// Returns the approvals of all tenants, the oldest first.
    pub async fn all(&self) -> Result<Vec<ApprovalRecord>, StoreError> {
        let values = self.store.recent(KIND, MAX_READ).await?;
        Ok(sorted(values.into_iter().map(|(_, value)| value)))
    }

    /// Records an answer. Repeating it is no error. Returns the approval, and whether the answer is new.
    pub async fn answer(
        &self,
        tenant: &str,
        id: &str,
        answer: RecordedAnswer,
    ) -> Result<(ApprovalRecord, bool), AnswerError> {
        loop {
            let expected = self.store.peek(&scope(tenant), id).await?.unwrap_or_default();
            let Some(record) = ApprovalRecord::read(&expected) else {
                return Err(AnswerError::Unknown(id.to_owned()));
            };
            match (&record.answer, record.status(answer.time)) {
                (Some(known), _) if known.decision == answer.decision => {
                    return Ok((record, false));
                }
                (Some(_), _) => return Err(AnswerError::Answered(Box::new(record))),
                (None, Status::Expired) => return Err(AnswerError::Expired),
                (None, _) => {}
            }
            let answered = ApprovalRecord { answer: Some(answer.clone()), ..record };
            let (scope, entry) = (scope(tenant), entry(&answered));
            if self.store.replace(&scope, expected, entry, LIMITS).await? {
                return Ok((answered, true));
            }
        }
    }

    /// Returns the conversation of the latest approval that messages of the assistant name. Only approvals
    /// of the same client count.
    pub async fn conversation(
        &self,
        caller: &Caller,
        messages: &[Message],
    ) -> Option<ConversationId> {
        for id in messages.iter().rev().filter_map(notice::named).take(MAX_LOOKUPS) {
            match self.find(&caller.tenant, id).await {
                Ok(Some(record)) if record.caller == *caller => return Some(record.conversation),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!("approvals cannot be read: {error}");
                    return None;
                }
            }
        }
        None
    }
}

/// Returns the fault for a client if approvals cannot be read or written.
pub fn unavailable(error: &StoreError) -> Fault {
    tracing::warn!("approvals cannot be read or written: {error}");
    let message = "Approvals cannot be read or written now. The gateway's log says why.";
    Fault::new(FaultClass::Internal, message)
}

/// Returns the approvals in stored values, the oldest first.
fn sorted(values: impl IntoIterator<Item = Vec<u8>>) -> Vec<ApprovalRecord> {
    let records = values.into_iter().filter_map(|value| ApprovalRecord::read(&value));
    let mut records: Vec<ApprovalRecord> = records.collect();
    records.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    records
}

/// Whether a text may be the id of an approval of the gateway.
pub fn is_id(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Returns the id of the approval of a call.
pub fn id(call: &Approval) -> String {
    format!("{PREFIX}{}", call.id)
}

fn entry(record: &ApprovalRecord) -> Entry {
    Entry { name: record.id.clone(), aliases: Vec::new(), value: record.write() }
}

fn scope(tenant: &str) -> Scope {
    Scope { owner: tenant.into(), kind: KIND }
}

/// Returns seconds since 1970.
pub fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
