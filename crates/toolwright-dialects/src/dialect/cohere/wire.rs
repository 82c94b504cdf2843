//! Names and paths of Cohere's format.

use toolwright_core::{Dialect, StopReason, note};

use crate::codec::Defaults;

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Cohere;

/// The path of every request.
pub(super) const PATH: &str = "/v2/chat";

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("strict", "../../../strict_tools"),
    ("arguments", "function/arguments"),
    ("call_id", "tool_call_id"),
    ("media", "image_url"),
    ("+tool_plan", ""),
    ("instructions", "messages/0"),
    ("top_p", "p"),
    ("top_k", "k"),
    ("stop", "stop_sequences"),
    ("budget", "thinking/token_budget"),
    ("format", "response_format"),
    ("format_kind", "response_format"),
    ("reason", "finish_reason"),
    ("cache_read", "usage/cached_tokens"),
    ("ending", ""),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/documents", &["[]"]),
    ("/safety_mode", &["\"CONTEXTUAL\""]),
    ("/raw_prompting", &["false"]),
    ("/priority", &["0"]),
    // In replies: how the vendor billed them.
    ("/usage/billed_units/*", &[]),
    ("/usage/tokens/image_tokens", &["0"]),
];

/// The field of a text that marks it as the plan.
///
/// `tool_plan` is the model's text before its calls, which other vendors put beside the calls as
/// plain text. As reasoning it would not reach a client whose dialect has none (OpenAI Chat), or
/// return as a `thinking` block. So the plan is a text with this field, and is encoded as
/// `tool_plan` again; elsewhere the text stays, and losing the field is a loss.
pub(super) const TOOL_PLAN: &str = "tool_plan";

/// A note on a text: it came as `tool_plan`.
pub(super) const PLAN: &str = note!("tool_plan");

/// The stop reasons.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "COMPLETE"),
    (StopReason::ToolUse, "TOOL_CALL"),
    (StopReason::MaxTokens, "MAX_TOKENS"),
    (StopReason::StopSequence, "STOP_SEQUENCE"),
    (StopReason::Failed, "ERROR"),
    // Encoded only: these reasons have no own word here.
    (StopReason::ContextWindow, "MAX_TOKENS"),
    (StopReason::Refusal, "COMPLETE"),
    (StopReason::Filtered, "ERROR"),
    (StopReason::MalformedCall, "ERROR"),
    (StopReason::Pause, "COMPLETE"),
];

/// A word that shares the reason of `ERROR`.
pub(super) const TIMEOUT: &str = "TIMEOUT";
