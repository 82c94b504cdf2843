//! Names and paths of Anthropic's format.

use toolwright_core::part::CacheMark;
use toolwright_core::{Dialect, StopReason, note};
use toolwright_json::{Json, Object, object};

use crate::codec::{Defaults, Fields};

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Anthropic;

/// The path of every request.
pub(super) const PATH: &str = "/v1/messages";

/// A note on a tool: it is defined by its type, and the client runs it.
pub(super) const CLIENT: &str = note!("client");

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("user", "metadata/user_id"),
    ("parameters", "input_schema"),
    ("cache", "cache_control"),
    ("examples", "input_examples"),
    ("arguments", "input"),
    ("call_id", "tool_use_id"),
    ("error", "is_error"),
    ("media", "source"),
    ("instructions", "system"),
    ("stop", "stop_sequences"),
    ("parallel", "tool_choice/disable_parallel_tool_use"),
    ("effort", "output_config/effort"),
    ("budget", "thinking/budget_tokens"),
    ("show", "thinking/display"),
    ("format", "output_config/format"),
    ("format_kind", "output_config/format"),
    ("reason", "stop_reason"),
    ("sequence", "stop_sequence"),
    ("details", "stop_details"),
    ("ending", ""),
    ("uncached_input", "usage/input_tokens"),
    ("cache_read", "usage/cache_read_input_tokens"),
    ("cache_write", "usage/cache_creation_input_tokens"),
    ("reasoning_tokens", "usage/output_tokens_details/thinking_tokens"),
    ("file_name", "title"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/service_tier", &["\"auto\"", "\"standard_only\""]),
    ("/speed", &["\"standard\""]),
    ("/metadata", &["{}"]),
    ("/mcp_servers", &["[]"]),
    ("/context_management", &["{}"]),
    ("/tools/type", &["\"custom\""]),
    ("/tools/defer_loading", &["false"]),
    ("/tools/eager_input_streaming", &["false"]),
    ("/tools/allowed_callers", &["[\"direct\"]"]),
    ("/messages/content/citations", &["[]", "{}"]),
    ("/messages/content/citations/enabled", &["false"]),
    ("/messages/content/caller/type", &["\"direct\""]),
    // In replies: how the vendor served and billed them.
    ("/content/caller/type", &["\"direct\""]),
    ("/content/citations", &["[]"]),
    ("/context_management/applied_edits", &["[]"]),
    ("/usage/server_tool_use/*", &["0", "{}"]),
    ("/usage/service_tier", &[]),
    ("/usage/inference_geo", &[]),
    ("/usage/cache_creation", &["{}"]),
    ("/usage/cache_creation/ephemeral_5m_input_tokens", &[]),
    ("/usage/cache_creation/ephemeral_1h_input_tokens", &[]),
];

/// The stop reasons.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "end_turn"),
    (StopReason::ToolUse, "tool_use"),
    (StopReason::MaxTokens, "max_tokens"),
    (StopReason::ContextWindow, "model_context_window_exceeded"),
    (StopReason::StopSequence, "stop_sequence"),
    (StopReason::Refusal, "refusal"),
    (StopReason::Pause, "pause_turn"),
    // Encoded only: these reasons have no own word here.
    (StopReason::Filtered, "refusal"),
    (StopReason::MalformedCall, "end_turn"),
    (StopReason::Failed, "end_turn"),
];

/// Takes a cache breakpoint; one of an unknown kind stays extra.
pub(super) fn take_cache(fields: &mut Fields<'_>) -> Option<CacheMark> {
    let mark = fields.peek("cache_control")?.as_object()?;
    let known = mark.keys().all(|key| matches!(key, "type" | "ttl"));
    if !known || mark.get("type").and_then(Json::as_str) != Some("ephemeral") {
        return None;
    }
    let ttl = mark.get("ttl").and_then(Json::as_str).map(str::to_owned);
    fields.take("cache_control");
    Some(CacheMark { ttl, ..CacheMark::default() })
}

/// Adds a cache breakpoint.
pub(super) fn put_cache(object: &mut Object, cache: Option<&CacheMark>) {
    if let Some(cache) = cache {
        let mut mark = object! {"type": "ephemeral"};
        mark.insert_some("ttl", cache.ttl.as_deref());
        object.insert("cache_control", mark);
    }
}
