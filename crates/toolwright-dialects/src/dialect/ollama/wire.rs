//! Names and paths of Ollama's format.

use toolwright_core::{Dialect, StopReason, date};

use crate::codec::Defaults;

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Ollama;

/// The path of every request.
pub(super) const PATH: &str = "/api/chat";

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("frequency_penalty", "options/frequency_penalty"),
    ("presence_penalty", "options/presence_penalty"),
    ("usage", ""),
    ("ending", ""),
    // Texts and images are plain strings, which are their own origin.
    ("text", ""),
    ("media", ""),
    ("arguments", "function/arguments"),
    ("call_id", "tool_call_id"),
    // Only the name of an outcome can be missing elsewhere.
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
    // In replies: how long the server took.
    ("/created_at", &[]),
    ("/total_duration", &[]),
    ("/load_duration", &[]),
    ("/prompt_eval_duration", &[]),
    ("/eval_duration", &[]),
];

/// The stop reasons. Calls have none: the content decides.
pub(super) const STOPS: &[(StopReason, &str)] =
    &[(StopReason::End, "stop"), (StopReason::MaxTokens, "length")];

/// Returns the word of a stop reason.
pub(super) fn stop_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        _ => "stop",
    }
}

/// Formats a time in seconds since 1970 as RFC 3339, for `created_at`.
pub(super) fn timestamp(seconds: u64) -> String {
    format!("{}Z", date::write(seconds))
}
