//! Names and paths of Mistral's format.

use toolwright_core::{Dialect, StopReason};

use crate::codec::{Defaults, EmbedFormat, EmbedLimits, Fields, Result};

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Mistral;

/// The path of every request.
pub(super) const PATH: &str = "/v1/chat/completions";

/// Embeddings. 400 "Too many inputs in request, split into more batches" from 257 texts on, and
/// "Too many tokens in batch. Max is 16384", which leaves some for the text that is added to each.
pub(super) const EMBED_FORMAT: EmbedFormat = EmbedFormat::Openai {
    path: "/v1/embeddings",
    dimensions: "output_dimension",
    limits: EmbedLimits::texts(128).with_bytes(16_000),
};

/// The paths of canonical fields, and of extra fields that are not at the origin.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("answers", "n"),
    ("instructions", "messages/0"),
    ("seed", "random_seed"),
    ("parallel", "parallel_tool_calls"),
    ("thinking", "prompt_mode"),
    ("effort", "reasoning_effort"),
    ("format", "response_format"),
    ("format_kind", "response_format"),
    ("arguments", "function/arguments"),
    ("call_id", "tool_call_id"),
    ("reason", "choices/0/finish_reason"),
    ("cache_read", "usage/prompt_tokens_details/cached_tokens"),
    ("ending", "choices/0"),
    ("format_schema", "response_format/json_schema"),
    ("file_name", "document_name"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/safe_prompt", &["false"]),
    ("/metadata", &["{}"]),
    ("/guardrails", &["[]"]),
    ("/prediction/type", &["\"content\""]),
    ("/prediction/content", &["\"\""]),
    ("/messages/prefix", &["false"]),
    ("/messages/tool_calls/index", &[]),
    // In replies: how the vendor served them.
    ("/created", &[]),
    ("/choices/message/content/closed", &["true"]),
];

/// The stop reasons.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "stop"),
    (StopReason::ToolUse, "tool_calls"),
    (StopReason::MaxTokens, "length"),
    (StopReason::ContextWindow, "model_length"),
    (StopReason::Failed, "error"),
    // Encoded only: these reasons have no own word here.
    (StopReason::StopSequence, "stop"),
    (StopReason::Refusal, "stop"),
    (StopReason::Pause, "stop"),
    (StopReason::Filtered, "error"),
    (StopReason::MalformedCall, "error"),
];

/// The placeholder of an absent id: the default of the SDK's `ToolCall` type.
pub(super) const NO_ID: &str = "null";

/// Takes an id; `None` if it is absent or the word `null`.
pub(super) fn take_id(fields: &mut Fields<'_>, key: &str) -> Result<Option<String>> {
    Ok(fields.string(key)?.filter(|id| id != NO_ID))
}
