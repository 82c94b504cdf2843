//! Rules for replies: what the client's dialect can be told of an answer.

use crate::model::response::StopReason;

/// What a reply in this dialect can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyRule {
    /// An id
    pub id: bool,
    /// Whether clients refer to an answer by its id, so that it must be unique to the exchange: the
    /// id of the request's context replaces the vendor's
    pub referable: bool,
    /// The model
    pub model: bool,
    /// Members that repeat the request, or say how it was served: no other client misses them
    pub echoes: &'static [&'static str],
    /// The stop reasons that come back as they went
    pub stops: &'static [StopReason],
    /// Whether call ids must follow the [`IdRule`](super::IdRule), because clients replace all others
    pub legal_call_ids: bool,
    /// Whether a stream tells a call at once, so that its arguments are known to be legal before it
    /// goes out
    pub whole_calls: bool,
    /// Whether a reply has at most one text
    pub single_text: bool,
    /// Which stop text was met
    pub stop_sequence: bool,
    /// Details of a refusal
    pub stop_details: bool,
    /// Thinking, as text
    pub reasoning: bool,
    /// Tokens read from a cache
    pub cache_read: bool,
    /// Tokens written to a cache
    pub cache_write: bool,
    /// Tokens of thinking
    pub reasoning_tokens: bool,
    /// Whether all counts must be said, be they zero
    pub counts_required: bool,
}

impl ReplyRule {
    /// An id, a model and why it stopped, among the three reasons that everybody has.
    pub const PLAIN: ReplyRule = ReplyRule {
        id: true,
        referable: false,
        model: true,
        echoes: &[],
        stops: &[StopReason::End, StopReason::ToolUse, StopReason::MaxTokens],
        legal_call_ids: false,
        whole_calls: false,
        single_text: false,
        stop_sequence: false,
        stop_details: false,
        reasoning: false,
        cache_read: false,
        cache_write: false,
        reasoning_tokens: false,
        counts_required: false,
    };
    /// Everything.
    pub const ALL: ReplyRule = ReplyRule {
        stops: StopReason::ALL,
        stop_sequence: true,
        stop_details: true,
        reasoning: true,
        cache_read: true,
        cache_write: true,
        reasoning_tokens: true,
        ..ReplyRule::PLAIN
    };
}
