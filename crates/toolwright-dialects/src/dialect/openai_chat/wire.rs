//! Names of the Chat Completions format.

use toolwright_core::extra::BESIDE;
use toolwright_core::part::CacheMark;
use toolwright_core::{Extra, Origin, StopReason, note};
use toolwright_json::{Json, Object, Path, object};

use super::Quirks;
use crate::codec::{Defaults, Fields};

/// The paths of canonical fields. The id of a call is beside the object with its name and
/// arguments.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("answers", "n"),
    ("id", "../id"),
    ("cache", "prompt_cache_breakpoint"),
    ("call_id", "tool_call_id"),
    ("output", "output_schema"),
    ("media", "image_url"),
    ("instructions", "messages/0"),
    ("max_tokens", "max_completion_tokens"),
    ("parallel", "parallel_tool_calls"),
    ("effort", "reasoning_effort"),
    ("budget", "thinking/budget_tokens"),
    ("format", "response_format"),
    ("format_kind", "response_format"),
    ("ending", "choices/0"),
    ("reason", "choices/0/finish_reason"),
    ("cache_read", "usage/prompt_tokens_details/cached_tokens"),
    ("cache_write", "usage/prompt_tokens_details/cache_write_tokens"),
    ("reasoning_tokens", "usage/completion_tokens_details/reasoning_tokens"),
    ("format_schema", "response_format/json_schema"),
    ("file_name", "file/filename"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    // The gateway requests usage itself, and returns it to clients that asked for it.
    ("/stream_options", &["{}"]),
    ("/stream_options/include_usage", &[]),
    ("/stream_options/include_obfuscation", &[]),
    ("/usage", &["{}"]),
    ("/usage/include", &[]),
    ("/store", &["false"]),
    ("/service_tier", &["\"auto\"", "\"default\""]),
    ("/modalities", &["[]", "[\"text\"]"]),
    ("/verbosity", &["\"medium\""]),
    ("/logit_bias", &["{}"]),
    ("/metadata", &["{}"]),
    ("/provider", &["{}"]),
    ("/plugins", &["[]"]),
    ("/transforms", &["[]"]),
    ("/include_reasoning", &["true"]),
    ("/messages/prefix", &["false"]),
    ("/messages/annotations", &["[]"]),
    ("/messages/refusal", &["\"\""]),
    ("/messages/tool_calls/index", &[]),
    ("/messages/content/image_url/detail", &["\"auto\""]),
    // In replies: how the vendor served them, and counts that do not affect the totals.
    ("/system_fingerprint", &[]),
    ("/created", &[]),
    ("/request_id", &[]),
    ("/x_groq/id", &[]),
    ("/time_info/*", &[]),
    ("/choices/native_finish_reason", &[]),
    ("/choices/message/annotations", &["[]"]),
    ("/choices/message/tool_calls/index", &[]),
    ("/usage/queue_time", &[]),
    ("/usage/prompt_time", &[]),
    ("/usage/completion_time", &[]),
    ("/usage/total_time", &[]),
    ("/usage/num_sources_used", &["0"]),
    ("/usage/prompt_cache_hit_tokens", &[]),
    ("/usage/prompt_cache_miss_tokens", &[]),
    ("/usage/prompt_tokens_details/text_tokens", &[]),
    ("/usage/prompt_tokens_details/*", &["0", "{}"]),
    ("/usage/completion_tokens_details/text_tokens", &[]),
    ("/usage/completion_tokens_details/*", &["0", "{}"]),
];

/// The stop reasons.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "stop"),
    (StopReason::ToolUse, "tool_calls"),
    (StopReason::MaxTokens, "length"),
    (StopReason::Filtered, "content_filter"),
    // Encoded only: these reasons have no own word here.
    (StopReason::ContextWindow, "length"),
    (StopReason::StopSequence, "stop"),
    (StopReason::Refusal, "stop"),
    (StopReason::MalformedCall, "stop"),
    (StopReason::Pause, "stop"),
    (StopReason::Failed, "stop"),
];

/// Further words, which are encoded again: the legacy one, DeepSeek's, Zhipu's two and
/// OpenRouter's.
pub(super) const OWN_STOPS: &[(StopReason, &str)] = &[
    (StopReason::ToolUse, "function_call"),
    (StopReason::Failed, "insufficient_system_resource"),
    (StopReason::Filtered, "sensitive"),
    (StopReason::Failed, "network_error"),
    (StopReason::Failed, "error"),
];

/// A note: the empty content of a message, if we would write another.
pub(super) const CONTENT: &str = note!("content");
/// A note: the field name from which a value was read.
pub(super) const KEY: &str = note!("key");
/// A note: tools, a choice or a call in the legacy form (`functions`, `function_call`).
pub(super) const LEGACY: &str = note!("legacy");
/// A note: the position of a part that could be elsewhere.
pub(super) const PLACE: &str = note!("place");

/// The keys of a cache breakpoint, of OpenAI and of Anthropic, whose form several vendors accept.
const BREAKPOINT: &str = "prompt_cache_breakpoint";
const CACHE_CONTROL: &str = "cache_control";

/// Takes a cache breakpoint of a part; one of an unknown kind stays extra.
pub(super) fn take_cache(fields: &mut Fields<'_>) -> Option<CacheMark> {
    let own = fields.peek(BREAKPOINT).and_then(|mark| breakpoint(mark, "mode", "explicit"));
    if own.is_some() {
        fields.take(BREAKPOINT);
        return own;
    }
    let mark = breakpoint(fields.peek(CACHE_CONTROL)?, "type", "ephemeral")?;
    fields.take(CACHE_CONTROL);
    Some(CacheMark { origin: Origin::at(&fields.path().key(CACHE_CONTROL)), ..mark })
}

/// Takes a cache breakpoint of a tool, which is always `cache_control`.
pub(super) fn take_tool_cache(tool: &mut Json, path: Path<'_>) -> Option<CacheMark> {
    let mark = breakpoint(tool.get(CACHE_CONTROL)?, "type", "ephemeral")?;
    tool.as_object_mut()?.remove(CACHE_CONTROL);
    Some(CacheMark { origin: Origin::at(&path.key(CACHE_CONTROL)), ..mark })
}

fn breakpoint(mark: &Json, tag: &str, value: &str) -> Option<CacheMark> {
    let mark = mark.as_object()?;
    let known = mark.keys().all(|key| key == tag || key == "ttl");
    if !known || mark.get(tag).and_then(Json::as_str) != Some(value) {
        return None;
    }
    let ttl = match mark.get("ttl") {
        None => None,
        Some(ttl) => Some(ttl.as_str()?.to_owned()),
    };
    Some(CacheMark { ttl, ..CacheMark::default() })
}

/// Encodes a breakpoint of a part.
pub(super) fn put_cache(object: &mut Object, cache: Option<&CacheMark>, quirks: &Quirks) {
    if quirks.cache_control {
        return put_tool_cache(object, cache);
    }
    if let Some(cache) = cache {
        let mut mark = object! {"mode": "explicit"};
        mark.insert_some("ttl", cache.ttl.as_deref());
        object.insert(BREAKPOINT, mark);
    }
}

/// Encodes a breakpoint of a tool.
pub(super) fn put_tool_cache(object: &mut Object, cache: Option<&CacheMark>) {
    if let Some(cache) = cache {
        let mut mark = object! {"type": "ephemeral"};
        mark.insert_some("ttl", cache.ttl.as_deref());
        object.insert(CACHE_CONTROL, mark);
    }
}

/// Adds the fields beside a nested object to its extra fields.
pub(super) fn beside(mut extra: Extra, outer: Fields<'_>, quirks: &Quirks) -> Extra {
    let outer = outer.into_object();
    if !outer.is_empty() {
        extra.insert(quirks.dialect, BESIDE, outer);
    }
    extra
}

/// Inserts a nested object, with extra fields inside and beside it.
pub(super) fn nest(
    mut outer: Object,
    key: &'static str,
    mut inner: Object,
    extra: &Extra,
    quirks: &Quirks,
) -> Object {
    extra.write_into(quirks.dialect, &mut inner);
    let beside = inner.remove(BESIDE);
    outer.insert(key, inner);
    if let Some(Json::Object(beside)) = beside {
        note::merge(&mut outer, &beside);
    }
    outer
}

/// Inserts the fields of a nested object beside its type instead.
pub(super) fn flatten(mut outer: Object, inner: &Object, extra: &Extra, quirks: &Quirks) -> Object {
    note::merge(&mut outer, inner);
    extra.write_into(quirks.dialect, &mut outer);
    if let Some(Json::Object(beside)) = outer.remove(BESIDE) {
        note::merge(&mut outer, &beside);
    }
    outer
}
