//! Words and paths of Ollama's format, each in one place.

use crate::codec::Defaults;
use crate::date;
use crate::model::dialect::Dialect;
use crate::model::response::StopReason;

/// Whose words these are.
pub(super) const DIALECT: Dialect = Dialect::Ollama;

/// The path of every request.
pub(super) const PATH: &str = "/api/chat";

/// Where canonical fields stand on the wire.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("frequency_penalty", "options/frequency_penalty"),
    ("presence_penalty", "options/presence_penalty"),
    ("usage", ""),
    ("ending", ""),
    // Texts and pictures are plain strings: the value is its own origin.
    ("text", ""),
    ("media", ""),
    ("arguments", "function/arguments"),
    ("call_id", "tool_call_id"),
    // Of all names only an outcome's can be missing elsewhere.
    ("name", "tool_name"),
    ("instructions", "messages/0"),
    ("max_tokens", "options/num_predict"),
    ("temperature", "options/temperature"),
    ("top_p", "options/top_p"),
    ("top_k", "options/top_k"),
    ("stop", "options/stop"),
    ("seed", "options/seed"),
    ("thinking", "think"),
    ("effort", "think"),
    ("format_kind", "format"),
    ("reason", "done_reason"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/keep_alive", &["\"5m\"", "\"5m0s\""]),
    ("/format", &["\"\""]),
    ("/truncate", &["true"]),
    ("/shift", &["true"]),
    ("/options", &["{}"]),
    ("/options/num_predict", &["-1"]),
    ("/messages/images", &["[]"]),
    ("/messages/tool_calls/function/index", &[]),
    // Replies: how long the server took.
    ("/created_at", &[]),
    ("/total_duration", &[]),
    ("/load_duration", &[]),
    ("/prompt_eval_duration", &[]),
    ("/eval_duration", &[]),
];

/// The stop reasons, a word each. There is none for calls: what was said decides.
pub(super) const STOPS: &[(StopReason, &str)] =
    &[(StopReason::End, "stop"), (StopReason::MaxTokens, "length")];

/// The word for a reason.
pub(super) fn stop_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        _ => "stop",
    }
}

/// A time in seconds since 1970 by RFC 3339, as `created_at` says it.
pub(super) fn timestamp(seconds: u64) -> String {
    format!("{}Z", date::write(seconds))
}
