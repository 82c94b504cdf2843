//! Responses, and why they stopped.

use toolwright_json::Json;

use crate::model::call::Call;
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::message::{Message, Role};
use crate::model::part::{Body, Part};
use crate::model::usage::Usage;
use crate::note;

/// The key of the losses of a canonical exchange among the extra fields.
pub const LOSSES: &str = note!("losses");

/// A canonical response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The vendor's id of the response
    pub id: Option<String>,
    /// The model that answered
    pub model: Option<String>,
    /// The content, in order
    pub parts: Vec<Part>,
    /// Why it stopped
    pub stop: Stop,
    /// Token usage
    pub usage: Option<Usage>,
    /// Fields without a canonical name
    pub extra: Extra,
}

impl Response {
    /// Creates a response from parts, with the stop reason that follows from them.
    pub fn new(parts: Vec<Part>) -> Response {
        let stop = Stop::default().reconciled(&parts);
        Response { parts, stop, ..Response::default() }
    }

    /// Returns the losses of the request and the response of a canonical exchange: `{"path",
    /// "what", "why", "severity"}` each, with paths in the canonical request.
    pub fn losses(&self) -> impl Iterator<Item = &Json> {
        let extras = [&self.extra, &self.stop.extra].into_iter();
        extras.filter_map(|extra| extra.fields()?.get(LOSSES)?.as_array()).flatten()
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The reasoning, as far as the vendor shows it.
    pub fn reasoning(&self) -> Option<String> {
        let thoughts = self.parts.iter().filter_map(|part| match &part.body {
            Body::Reasoning(reasoning) => Some(reasoning.joined()),
            _ => None,
        });
        let shown: Vec<String> = thoughts.filter(|text| !text.is_empty()).collect();
        (!shown.is_empty()).then(|| shown.join("\n\n"))
    }

    /// The refusal in the words of the model, if it refused.
    pub fn refusal(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match &part.body {
            Body::Refusal(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// The response as a message of the conversation, with every part and its signature.
    pub fn message(&self) -> Message {
        Message::new(Role::Assistant, self.parts.clone())
    }
}

/// Why a model stopped, with what the vendor adds to it.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stop {
    /// The reason
    pub reason: StopReason,
    /// The matched stop sequence, if the vendor reports it
    pub sequence: Option<String>,
    /// The vendor's own word if several share a reason, and its details
    pub extra: Extra,
    /// Details of a refusal
    pub details: Option<Json>,
}

toolwright_json::words! {
    /// The stop reasons.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    #[non_exhaustive]
    pub enum StopReason: name, from_name {
        /// The model finished
        #[default]
        End = "stop",
        /// The model waits for the outcomes of calls
        ToolUse = "tool_calls",
        /// The token limit was reached
        MaxTokens = "length",
        /// The context window was full
        ContextWindow = "context_window",
        /// A stop sequence was matched
        StopSequence = "stop_sequence",
        /// The model refused
        Refusal = "refusal",
        /// A filter cut the response
        Filtered = "content_filter",
        /// The model wrote a call that the vendor could not parse
        MalformedCall = "malformed_call",
        /// The vendor paused; send the conversation again to continue
        Pause = "pause",
        /// The vendor failed
        Failed = "error",
    }
}

/// The note of a stop whose reason the vendor did not send in its own field.
const WITHOUT_REASON_FIELD: &str = note!("without_reason_field");

/// The note of a stop whose reason the vendor did not explain in a further field.
const WITHOUT_EXPLANATION: &str = note!("without_explanation");

impl Stop {
    /// Records that the vendor sent no explanation of the reason.
    pub fn without_explanation(mut self, dialect: Dialect) -> Stop {
        self.extra.insert(dialect, WITHOUT_EXPLANATION, true);
        self
    }

    /// Whether the vendor sent an explanation of the reason, in a dialect that has one.
    pub fn has_explanation(&self) -> bool {
        self.extra.fields().is_none_or(|fields| !fields.contains_key(WITHOUT_EXPLANATION))
    }

    /// Records that the vendor sent no reason in the usual field.
    pub fn without_reason_field(mut self, dialect: Dialect) -> Stop {
        self.extra.insert(dialect, WITHOUT_REASON_FIELD, true);
        self
    }

    /// Whether the vendor sent the reason in the usual field.
    pub fn has_reason_field(&self) -> bool {
        self.extra.fields().is_none_or(|fields| !fields.contains_key(WITHOUT_REASON_FIELD))
    }

    /// Creates a stop with a reason only.
    pub fn new(reason: StopReason) -> Stop {
        Stop { reason, ..Stop::default() }
    }

    /// Corrects the reason by the content, because vendors report it inconsistently: a plain end is
    /// `ToolUse` if there are calls and `Refusal` if the model refused, and `ToolUse` without calls is a
    /// plain end.
    pub fn reconciled(mut self, parts: &[Part]) -> Stop {
        let calls = parts.iter().any(|part| matches!(part.body, Body::Call(_)));
        let refused = parts.iter().any(|part| matches!(part.body, Body::Refusal(_)));
        self.reason = self.reason.reconciled(calls, refused);
        self
    }
}

impl StopReason {
    /// The reason, corrected by the content.
    #[must_use]
    pub fn reconciled(self, calls: bool, refused: bool) -> StopReason {
        match self {
            StopReason::End | StopReason::ToolUse if calls => StopReason::ToolUse,
            StopReason::End | StopReason::ToolUse if refused => StopReason::Refusal,
            StopReason::ToolUse => StopReason::End,
            reason => reason,
        }
    }
}
