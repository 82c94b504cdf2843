//! Names and paths of Bedrock's format.

use toolwright_core::part::{CacheMark, MediaKind};
use toolwright_core::{Dialect, Origin, StopReason, percent};
use toolwright_json::{Json, Key, Object, Path, object};

use crate::codec::{DecodeError, Defaults, Result};

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Bedrock;

/// The header with the id of a reply.
pub(super) const REQUEST_ID: &str = "x-amzn-requestid";

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("ending", ""),
    ("uncached_input", "usage/inputTokens"),
    ("uncached_total", "usage/totalTokens"),
    ("parameters", "inputSchema/json"),
    ("arguments", "input"),
    ("id", "toolUseId"),
    ("call_id", "toolUseId"),
    ("error", "status"),
    ("media", "source"),
    ("model", "modelId"),
    ("instructions", "system"),
    ("tool_choice", "toolConfig/toolChoice"),
    ("max_tokens", "inferenceConfig/maxTokens"),
    ("temperature", "inferenceConfig/temperature"),
    ("top_p", "inferenceConfig/topP"),
    ("top_k", "additionalModelRequestFields/top_k"),
    ("stop", "inferenceConfig/stopSequences"),
    ("thinking", "additionalModelRequestFields/thinking"),
    ("budget", "additionalModelRequestFields/thinking/budget_tokens"),
    ("show", "additionalModelRequestFields/thinking/display"),
    ("effort", "outputConfig/effort"),
    ("format", "outputConfig/textFormat"),
    ("format_kind", "outputConfig/textFormat"),
    ("reason", "stopReason"),
    ("cache_read", "usage/cacheReadInputTokens"),
    ("cache_write", "usage/cacheWriteInputTokens"),
    ("file_name", "name"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/inferenceConfig", &["{}"]),
    ("/additionalModelRequestFields", &["{}"]),
    ("/additionalModelResponseFieldPaths", &["[]"]),
    ("/requestMetadata", &["{}"]),
    ("/performanceConfig/latency", &["\"standard\""]),
    ("/serviceTier/type", &["\"default\""]),
    ("/messages/content/toolUse/type", &["\"tool_use\""]),
    ("/messages/content/toolResult/type", &["\"tool_result\""]),
    ("/messages/content/citationsConfig/enabled", &["false"]),
    ("/messages/content/document/citations/enabled", &["false"]),
    // In replies: how the vendor served them, and counts under a second name.
    ("/ResponseMetadata/*", &[]),
    ("/metrics/*", &[]),
    ("/additionalModelResponseFields", &["{}"]),
    ("/usage/serverToolUsage", &["{}"]),
    ("/usage/cacheDetails", &["[]"]),
    ("/usage/cacheReadInputTokenCount", &[]),
    ("/usage/cacheWriteInputTokenCount", &[]),
];

/// The stop reasons. The first word of a reason is its default; others are stored as well.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "end_turn"),
    (StopReason::ToolUse, "tool_use"),
    (StopReason::MaxTokens, "max_tokens"),
    (StopReason::ContextWindow, "model_context_window_exceeded"),
    (StopReason::StopSequence, "stop_sequence"),
    (StopReason::Filtered, "content_filtered"),
    (StopReason::Filtered, "guardrail_intervened"),
    (StopReason::MalformedCall, "malformed_tool_use"),
    (StopReason::MalformedCall, "malformed_model_output"),
    // Encoded only: these reasons have no own word here.
    (StopReason::Refusal, "content_filtered"),
    (StopReason::Pause, "end_turn"),
    (StopReason::Failed, "end_turn"),
];

/// The members of the content union with media.
pub(super) const MEDIA: &[(MediaKind, &str)] = &[
    (MediaKind::Image, "image"),
    (MediaKind::Document, "document"),
    (MediaKind::Audio, "audio"),
    (MediaKind::Video, "video"),
];

/// The formats with their media types. If several formats share a type, the first is its default.
const FORMATS: &[(MediaKind, &str, &str)] = &[
    (MediaKind::Image, "png", "image/png"),
    (MediaKind::Image, "jpeg", "image/jpeg"),
    (MediaKind::Image, "gif", "image/gif"),
    (MediaKind::Image, "webp", "image/webp"),
    (MediaKind::Document, "pdf", "application/pdf"),
    (MediaKind::Document, "csv", "text/csv"),
    (MediaKind::Document, "doc", "application/msword"),
    (
        MediaKind::Document,
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (MediaKind::Document, "xls", "application/vnd.ms-excel"),
    (
        MediaKind::Document,
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    (MediaKind::Document, "html", "text/html"),
    (MediaKind::Document, "txt", "text/plain"),
    (MediaKind::Document, "md", "text/markdown"),
    (MediaKind::Audio, "mp3", "audio/mpeg"),
    (MediaKind::Audio, "mpeg", "audio/mpeg"),
    (MediaKind::Audio, "mpga", "audio/mpeg"),
    (MediaKind::Audio, "wav", "audio/wav"),
    (MediaKind::Audio, "opus", "audio/opus"),
    (MediaKind::Audio, "aac", "audio/aac"),
    (MediaKind::Audio, "x-aac", "audio/x-aac"),
    (MediaKind::Audio, "flac", "audio/flac"),
    (MediaKind::Audio, "mp4", "audio/mp4"),
    (MediaKind::Audio, "m4a", "audio/mp4"),
    (MediaKind::Audio, "ogg", "audio/ogg"),
    (MediaKind::Audio, "mka", "audio/x-matroska"),
    (MediaKind::Audio, "mkv", "audio/x-matroska"),
    (MediaKind::Audio, "pcm", "audio/pcm"),
    (MediaKind::Audio, "webm", "audio/webm"),
    (MediaKind::Video, "mp4", "video/mp4"),
    (MediaKind::Video, "mov", "video/quicktime"),
    (MediaKind::Video, "mkv", "video/x-matroska"),
    (MediaKind::Video, "webm", "video/webm"),
    (MediaKind::Video, "flv", "video/x-flv"),
    (MediaKind::Video, "mpeg", "video/mpeg"),
    (MediaKind::Video, "mpg", "video/mpeg"),
    (MediaKind::Video, "wmv", "video/x-ms-wmv"),
    (MediaKind::Video, "three_gp", "video/3gpp"),
];

/// Returns the media type of a format.
pub(super) fn mime_of(kind: MediaKind, format: &str) -> Option<&'static str> {
    let rows = FORMATS.iter().filter(|(own, _, _)| *own == kind);
    rows.into_iter().find(|(_, own, _)| *own == format).map(|(_, _, mime)| *mime)
}

/// Returns the format of a media type. For an unknown type it is the subtype, so that the vendor's
/// error names it.
pub(super) fn format_of(kind: MediaKind, mime: &str) -> &str {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let mut rows = FORMATS.iter().filter(|(own, _, _)| *own == kind);
    match rows.find(|(_, _, own)| *own == mime) {
        Some((_, format, _)) => format,
        None => match mime.rsplit('/').next().unwrap_or_default() {
            "jpg" => "jpeg",
            "x-wav" => "wav",
            other => other,
        },
    }
}

/// Decodes `/model/{modelId}/converse[-stream]`: the model, in which `/` may be escaped or not, and
/// the stream flag. None if there is no path.
pub(super) fn decode_path(path: &str) -> Result<Option<(String, bool)>> {
    if path.is_empty() {
        return Ok(None);
    }
    let path = path.split('?').next().unwrap_or_default();
    let rest = path.split_once("/model/").map(|(_, rest)| rest);
    match rest.and_then(|rest| rest.rsplit_once('/')) {
        Some((model, "converse")) => Ok(Some((percent::decode(model), false))),
        Some((model, "converse-stream")) => Ok(Some((percent::decode(model), true))),
        _ => {
            let what = "a path /model/{modelId}/converse or /converse-stream";
            Err(DecodeError::expected(DIALECT, &Path::ROOT.key("path"), what))
        }
    }
}

/// Encodes the path; empty if there is no model. The model is escaped completely, as in boto3
/// (`bedrock_arn_modelid.json`).
pub(super) fn encode_path(model: Option<&str>, stream: bool) -> String {
    let verb = if stream { "converse-stream" } else { "converse" };
    match model {
        None if !stream => String::new(),
        model => format!("/model/{}/{verb}", percent::encode(model.unwrap_or_default())),
    }
}

/// The known members of the format's unions.
const MEMBERS: &[&str] = &[
    "text",
    "image",
    "document",
    "audio",
    "video",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "reasoningText",
    "redactedContent",
    "signature",
    "citationsContent",
    "citation",
    "json",
    "cachePoint",
    "message",
    "toolSpec",
    "auto",
    "any",
    "tool",
];

/// Opens a union, which is an object with exactly one member. SDKs refuse any other, so no field
/// may be added beside the member; unknown fields are ignored.
pub(super) fn member(wire: Json, path: Path<'_>) -> Result<(Key, Json)> {
    let wrong = || DecodeError::expected(DIALECT, &path, "an object with exactly one member");
    let Json::Object(object) = wire else { return Err(wrong()) };
    let set: Vec<_> = object.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let only = |mut members: Vec<(Key, Json)>| match members.len() {
        1 => members.pop().ok_or_else(wrong),
        _ => Err(wrong()),
    };
    if set.len() == 1 {
        return only(set);
    }
    only(set.into_iter().filter(|(key, _)| MEMBERS.contains(&key.as_ref())).collect())
}

/// Encodes a union.
pub(super) fn union(member: &'static str, value: impl Into<Json>) -> Json {
    Json::Object(Object::from_iter([(Key::Borrowed(member), value.into())]))
}

/// Decodes `cachePoint`, an element after the marked one; `None` for another kind.
pub(super) fn decode_cache(element: &Json, path: Path<'_>) -> Option<CacheMark> {
    let mark = element.get("cachePoint")?.as_object()?;
    let known = mark.iter().all(|(key, value)| match key {
        "type" => value.as_str() == Some("default"),
        "ttl" => value.as_str().is_some(),
        _ => true,
    });
    let ttl = mark.get("ttl").and_then(Json::as_str).map(str::to_owned);
    let origin = Origin::at(&path.key("cachePoint"));
    (known && mark.contains_key("type")).then_some(CacheMark { ttl, origin })
}

/// Encodes `cachePoint`.
pub(super) fn encode_cache(cache: &CacheMark) -> Json {
    let mut mark = object! {"type": "default"};
    mark.insert_some("ttl", cache.ttl.as_deref());
    union("cachePoint", mark)
}
