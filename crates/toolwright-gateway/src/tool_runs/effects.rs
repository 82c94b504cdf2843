//! Effects of tools in a run, for a reply that fails after them: the fault lists the calls that
//! ran, and the reply asks SDKs not to retry.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use toolwright_core::document::{DocumentError, ObjectReader};
use toolwright_core::{Fault, Json, object};
use toolwright_runtime::CallErrorKind;
use toolwright_runtime::call::{CallResult, ResultSource};

use crate::http::Reply;

/// The header by which the SDKs of OpenAI and Anthropic decide whether to retry.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The effects of a run so far. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Effects(Arc<Mutex<Vec<Effect>>>);

/// A call of a tool with effects that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    tool: String,
    call: String,
    end: End,
}

toolwright_core::json::words! {
    /// How a call ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum End: as_str {
        Done = "done",
        Failed = "failed",
        Unknown = "outcome unknown",
    }
}

impl Effects {
    /// Records a call of a tool with effects.
    pub fn note(&self, done: &CallResult) {
        use CallErrorKind::{Cancelled, Panicked, TimedOut, Uncertain};
        let end = match (done.source, &done.error) {
            (_, Some(error)) if error.kind == Uncertain => End::Unknown,
            (ResultSource::Refused | ResultSource::Duplicate, _) => return,
            (_, None) => End::Done,
            (_, Some(error)) if matches!(error.kind, Cancelled | Panicked | TimedOut) => {
                End::Unknown
            }
            (_, Some(_)) => End::Failed,
        };
        let tool = done.outcome.name.clone().unwrap_or_default();
        let call = done.outcome.call_id.clone().unwrap_or_default();
        self.0.lock().push(Effect { tool, call, end });
    }

    /// Restores the effects of an earlier attempt.
    pub fn restore(&self, earlier: Vec<Effect>) {
        *self.0.lock() = earlier;
    }

    /// Returns all effects.
    pub fn list(&self) -> Vec<Effect> {
        self.0.lock().clone()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Adds the effects to a fault that followed them.
    #[must_use]
    pub fn explain(&self, mut fault: Fault) -> Fault {
        let each: Vec<String> = self.0.lock().iter().map(Effect::describe).collect();
        if !each.is_empty() {
            fault.message = format!(
                "{}. Before this, the gateway ran tools with effects: {}. Only a request with the \
                 same `Idempotency-Key` continues from here; any other may repeat them.",
                fault.message.trim_end_matches('.'),
                each.join(", ")
            );
            fault.retry_after_ms = None;
        }
        fault
    }

    /// Asks SDKs not to retry: with a header, and with a status that none of them retries.
    pub fn forbid_retry(&self, reply: &mut Reply) {
        if self.is_empty() {
            return;
        }
        reply.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        reply.headers_mut().remove(header::RETRY_AFTER);
        if reply.status().is_server_error() || matches!(reply.status().as_u16(), 408 | 409 | 429) {
            *reply.status_mut() = StatusCode::FAILED_DEPENDENCY;
        }
    }
}

impl Effect {
    fn describe(&self) -> String {
        format!("{} ({}: {})", self.tool, self.call, self.end.as_str())
    }

    /// Writes the effect for a saved run.
    pub fn to_json(&self) -> Json {
        object! {
            "tool": self.tool.as_str(),
            "call": self.call.as_str(),
            "end": self.end.as_str(),
        }
        .into()
    }

    /// Reads the effect of a saved run.
    pub fn from_json(document: &Json) -> Result<Effect, DocumentError> {
        let fields = ObjectReader::of(document)?;
        Ok(Effect {
            tool: fields.text("tool")?.to_owned(),
            call: fields.text("call")?.to_owned(),
            end: fields.word("end", "how an effect ended", |word| {
                End::ALL.into_iter().find(|own| own.as_str() == word)
            })?,
        })
    }
}
