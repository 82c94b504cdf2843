//! Rules for the fields of a reply.

use crate::model::response::StopReason;

/// The fields that a reply in this dialect has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyRule {
    /// An id
    pub id: bool,
    /// Whether clients refer to a response by its id, so that it must be unique to the exchange:
    /// the id of the reply context replaces the vendor's
    pub referable: bool,
    /// The model
    pub model: bool,
    /// Members that repeat the request, or describe how it was served, and are not losses
    pub echoes: &'static [&'static str],
    /// The stop reasons that can be expressed exactly
    pub stops: &'static [StopReason],
    /// Whether call ids must follow the [`IdRule`](super::IdRule), because clients replace all others
    pub legal_call_ids: bool,
    /// Whether a stream sends a call at once, so that its arguments are validated before
    pub whole_calls: bool,
    /// Whether a reply has at most one text
    pub single_text: bool,
    /// The matched stop sequence
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
    /// Whether all counts are required, even if zero
    pub counts_required: bool,
}

impl ReplyRule {
    /// An id, a model and the three common stop reasons.
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
    /// All fields.
    pub const ALL: ReplyRule = ReplyRule {
        stops: &StopReason::ALL,
        stop_sequence: true,
        stop_details: true,
        reasoning: true,
        cache_read: true,
        cache_write: true,
        reasoning_tokens: true,
        ..ReplyRule::PLAIN
    };
}
