//! Words and paths of the Responses format, each in one place.

use crate::dialect::{Defaults, Dialect, Fields};
use crate::extra::{BESIDE, HERE, note};
use crate::json::{Json, Object};
use crate::object;
use crate::part::CacheMark;
use crate::response::StopReason;

/// Whose words these are.
pub(super) const DIALECT: Dialect = Dialect::OpenaiResponses;

/// The path of every request.
pub(super) const PATH: &str = "/v1/responses";

/// An extra field of the first content part of a message item: what stands a step further out, so
/// that the item's own fields (`id`, `status`, `phase`, …) are named by their own place if they are
/// lost.
pub(super) const OUTER: &str = BESIDE;

/// An extra field of a content part of a message item that is never written: whether it belongs to
/// the same item as the one before it. Without it the part does not, so that its place is lost.
pub(super) const JOINED: &str = HERE;

/// A note on a text part: its `type`, where it is not the one of its side.
pub(super) const TYPE: &str = note!("type");

/// A note on an outcome without content that is not an empty text.
pub(super) const EMPTY: &str = note!("output");

/// A note on an outcome: it belongs to a custom tool's call.
pub(super) const CUSTOM: &str = note!("custom");

/// The type of a search for tools; [`crate::tool::qualified_name`] with no namespace is the name of
/// one that the client runs.
pub(super) const SEARCH: &str = "tool_search";

/// The types of its items.
pub(super) const SEARCH_CALL: &str = "tool_search_call";
pub(super) const SEARCH_OUTPUT: &str = "tool_search_output";

/// A note on an outcome: the tools that a search found.
pub(super) const FOUND: &str = note!("tools");

/// A note on a call or an outcome: its namespace is the tool's own name, as the API writes it for a
/// deferred function that a search has loaded.
pub(super) const LOADED: &str = note!("namespace");

/// A note on a message: items before it that define tools.
pub(super) const ADDITIONAL: &str = note!("additional_tools");

/// Where canonical fields stand on the wire.
pub(super) const SPELLING: &[(&str, &str)] = &[
    ("/id", "id"),
    ("ending", ""),
    ("+.", ""),
    ("kind", "type"),
    ("text", ""),
    ("output", "output_schema"),
    ("cache", "prompt_cache_breakpoint"),
    ("signature", "encrypted_content"),
    ("id", "call_id"),
    ("content", "output"),
    ("media", "image_url"),
    ("max_tokens", "max_output_tokens"),
    ("parallel", "parallel_tool_calls"),
    ("thinking", "reasoning"),
    ("effort", "reasoning/effort"),
    ("show", "reasoning/summary"),
    ("format", "text/format"),
    ("reason", "status"),
    ("cause", "incomplete_details/reason"),
    ("failure", "error"),
    ("cache_read", "usage/input_tokens_details/cached_tokens"),
    ("cache_write", "usage/input_tokens_details/cache_write_tokens"),
    ("reasoning_tokens", "usage/output_tokens_details/reasoning_tokens"),
    ("format_schema", "text/format"),
    ("file_name", "filename"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    // Whether OpenAI keeps a response says nothing to a vendor that keeps none.
    ("/store", &[]),
    // The form in which thinking returns; what carries it here stays with the translation.
    ("/include", &["[]", "[\"reasoning.encrypted_content\"]"]),
    ("/stream_options", &["{}"]),
    ("/stream_options/include_obfuscation", &[]),
    ("/truncation", &["\"disabled\""]),
    ("/background", &["false"]),
    ("/service_tier", &["\"auto\"", "\"default\""]),
    ("/top_logprobs", &["0"]),
    ("/metadata", &["{}"]),
    ("/text", &["{}"]),
    ("/text/format", &["{}"]),
    ("/text/format/type", &["\"text\""]),
    ("/text/verbosity", &["\"medium\""]),
    ("/reasoning", &["{}"]),
    ("/tools/defer_loading", &["false"]),
    ("/input/id", &[]),
    ("/input/status", &[]),
    ("/input/content/annotations", &["[]"]),
    ("/input/content/logprobs", &["[]"]),
    ("/input/content/detail", &["\"auto\""]),
    ("/input/output/detail", &["\"auto\""]),
];

/// The stop reasons as `status` and the reason in `incomplete_details`.
pub(super) const STOPS: &[(StopReason, &str, Option<&str>)] = &[
    (StopReason::End, "completed", None),
    (StopReason::MaxTokens, "incomplete", Some("max_output_tokens")),
    (StopReason::Filtered, "incomplete", Some("content_filter")),
    (StopReason::Pause, "incomplete", Some("steered")),
    (StopReason::Failed, "failed", None),
    // Read only: these words have no reason of their own.
    (StopReason::MaxTokens, "incomplete", None),
    (StopReason::Failed, "cancelled", None),
    (StopReason::Pause, "in_progress", None),
    (StopReason::Pause, "queued", None),
    // Written only: calls and refusals tell themselves, the others have no word of their own.
    (StopReason::ToolUse, "completed", None),
    (StopReason::StopSequence, "completed", None),
    (StopReason::Refusal, "completed", None),
    (StopReason::MalformedCall, "completed", None),
    (StopReason::ContextWindow, "incomplete", Some("max_output_tokens")),
];

/// Takes a breakpoint; one of an unknown kind stays where it is. Its lifetime stays extra: the
/// words (`30m`, `12h`) are no one else's.
pub(super) fn take_cache(fields: &mut Fields<'_>) -> Option<CacheMark> {
    let mark = fields.peek("prompt_cache_breakpoint")?.as_object()?;
    if mark.get("mode").and_then(Json::as_str) != Some("explicit") {
        return None;
    }
    let mut rest = mark.clone();
    rest.remove("mode");
    fields.take("prompt_cache_breakpoint");
    keep(fields, "prompt_cache_breakpoint", rest);
    Some(CacheMark::default())
}

/// Writes a breakpoint.
pub(super) fn put_cache(object: &mut Object, cache: Option<&CacheMark>) {
    if cache.is_some() {
        object.insert("prompt_cache_breakpoint", object! {"mode": "explicit"});
    }
}

/// What is left of a nested object stays extra, in its place.
pub(super) fn keep(fields: &mut Fields<'_>, key: &'static str, rest: Object) {
    if !rest.is_empty() {
        fields.put_back(key, rest);
    }
}

/// An id for an item that has none: the same for the same place in the same response.
pub(super) fn made_id(prefix: &str, seed: &str, index: usize) -> String {
    // FNV-1a, which is short and the same everywhere.
    let bytes = seed.bytes().chain(index.to_be_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}_{hash:016x}")
}
