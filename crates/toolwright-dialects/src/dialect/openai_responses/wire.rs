//! Names and paths of the Responses format.

use toolwright_core::extra::{BESIDE, HERE};
use toolwright_core::part::CacheMark;
use toolwright_core::{Dialect, StopReason, note};
use toolwright_json::{Json, Object, object};

use crate::codec::{Defaults, Fields};

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::OpenaiResponses;

/// The path of every request.
pub(super) const PATH: &str = "/v1/responses";

/// An extra field of the first content part of a message item: the item's own fields (`id`,
/// `status`, `phase`, …), so that their losses have the right paths.
pub(super) const OUTER: &str = BESIDE;

/// An extra field of a content part that is never encoded: whether it belongs to the same message
/// item as the previous part. Without it the grouping is lost.
pub(super) const JOINED: &str = HERE;

/// A note on a text part: its `type`, if it is not the default of its side.
pub(super) const TYPE: &str = note!("type");

/// A note on an outcome without content: its form, if it is not an empty text.
pub(super) const EMPTY: &str = note!("output");

/// A note on an outcome: it belongs to a custom tool's call.
pub(super) const CUSTOM: &str = note!("custom");

/// The type of the tool search.
pub(super) const SEARCH: &str = "tool_search";

/// The type of a shell that runs several commands.
pub(super) const SHELL: &str = "shell";

/// A tool that the format defines by its type and that the client runs. Its canonical name is
/// [`toolwright_core::tool::qualified_name`] of its type without a namespace.
#[derive(Debug)]
pub(super) struct ClientTool {
    /// The type of its definition
    pub(super) kind: &'static str,
    /// The type of its calls
    pub(super) call: &'static str,
    /// The type of their outputs
    pub(super) output: &'static str,
    /// The prefix of their ids
    pub(super) prefix: &'static str,
    /// The field of a call with its input
    pub(super) input: &'static str,
    /// Members of that field that the SDK's type requires
    pub(super) usual: Option<fn() -> Object>,
    /// The field of an output with the id of the call
    pub(super) output_id: &'static str,
    /// Whether the status of an output says that the call failed
    pub(super) says_failure: bool,
    /// A description and a schema for the model, if the definition has none
    pub(super) function: Option<fn() -> (&'static str, Object)>,
}

/// All tools of that kind.
pub(super) const CLIENT_TOOLS: [ClientTool; 4] = [
    ClientTool {
        kind: SEARCH,
        call: "tool_search_call",
        output: "tool_search_output",
        prefix: "tsc",
        input: "arguments",
        usual: None,
        output_id: "call_id",
        says_failure: false,
        function: None,
    },
    ClientTool {
        kind: "local_shell",
        call: "local_shell_call",
        output: "local_shell_call_output",
        prefix: "lsh",
        input: "action",
        usual: Some(
            || object! {"type": "exec", "command": Json::Array(vec![]), "env": Object::new()},
        ),
        output_id: "id",
        says_failure: false,
        function: Some(|| {
            let list = object! {"type": "array", "items": object! {"type": "string"}};
            let schema = parameters(
                "command",
                list,
                &[("working_directory", "string"), ("timeout_ms", "integer")],
            );
            ("Runs a command, given as a list of arguments, on the user's machine.", schema)
        }),
    },
    ClientTool {
        kind: SHELL,
        call: "shell_call",
        output: "shell_call_output",
        prefix: "sh",
        input: "action",
        usual: Some(|| object! {"commands": Json::Array(vec![])}),
        output_id: "call_id",
        says_failure: false,
        function: Some(|| {
            let list = object! {"type": "array", "items": object! {"type": "string"}};
            let schema = parameters(
                "commands",
                list,
                &[("timeout_ms", "integer"), ("max_output_length", "integer")],
            );
            ("Runs shell commands, one after another, on the user's machine.", schema)
        }),
    },
    ClientTool {
        kind: "apply_patch",
        call: "apply_patch_call",
        output: "apply_patch_call_output",
        prefix: "apc",
        input: "operation",
        usual: None,
        output_id: "call_id",
        says_failure: true,
        function: Some(|| {
            let kinds = vec!["create_file", "update_file", "delete_file"];
            let kind = object! {"type": "string", "enum": kinds};
            let mut schema = parameters("type", kind, &[("path", "string"), ("diff", "string")]);
            schema.insert("required", vec!["type", "path"]);
            (PATCH, schema)
        }),
    },
];

/// The description of a patch for the model.
const PATCH: &str = "Creates, updates or deletes one file. To create a file, `diff` is its content, with \
    `+` before every line. To update a file, `diff` has hunks that begin with a line `@@`, then lines of \
    context after a space, lines to remove after `-` and lines to add after `+`. To delete a file, \
    leave `diff` out.";

/// Returns a schema with one required parameter and optional ones.
fn parameters(required: &str, schema: Object, others: &[(&str, &str)]) -> Object {
    let mut properties = Object::new();
    properties.insert(required.to_owned(), schema);
    for (name, kind) in others {
        properties.insert((*name).to_owned(), object! {"type": *kind});
    }
    object! {"type": "object", "properties": properties, "required": vec![required]}
}

/// A note on an outcome: the type of the tool that the client ran.
pub(super) const KIND: &str = note!("kind");

/// A note on an outcome: the tools that a search found.
pub(super) const FOUND: &str = note!("tools");

/// A note on a call or an outcome: its namespace is the tool's own name, as the API writes it for a
/// deferred function that a search has loaded.
pub(super) const LOADED: &str = note!("namespace");

/// A note on a message: items before it that define tools.
pub(super) const ADDITIONAL: &str = note!("additional_tools");

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("logprobs", "include"),
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
    ("format_kind", "text/format"),
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
    // Whether OpenAI stores a response is irrelevant for vendors that store none.
    ("/store", &[]),
    // The form in which thinking is returned, which the translation handles.
    ("/include", &["[]", "[\"reasoning.encrypted_content\"]"]),
    ("/stream_options", &["{}"]),
    ("/stream_options/include_obfuscation", &[]),
    ("/truncation", &["\"disabled\""]),
    ("/background", &["false"]),
    ("/service_tier", &["\"auto\"", "\"default\""]),
    ("/metadata", &["{}"]),
    ("/text", &["{}"]),
    ("/text/format", &["{}"]),
    ("/text/format/type", &["\"text\""]),
    ("/text/verbosity", &["\"medium\""]),
    ("/reasoning", &["{}"]),
    ("/tools/defer_loading", &["false"]),
    ("/tools/tools/defer_loading", &["false"]),
    // An item that defines a tool has loaded it.
    ("/input/tools/defer_loading", &[]),
    ("/input/tools/tools/defer_loading", &[]),
    ("/tools/environment/type", &["\"local\""]),
    ("/input/id", &[]),
    ("/input/status", &[]),
    ("/input/content/annotations", &["[]"]),
    ("/input/content/logprobs", &["[]"]),
    ("/input/content/detail", &["\"auto\""]),
    ("/input/output/detail", &["\"auto\""]),
    // In replies: how the vendor served and billed them.
    ("/created_at", &[]),
    ("/completed_at", &[]),
    ("/billing/*", &[]),
    ("/tool_usage/*", &["0", "{}"]),
    ("/output/id", &[]),
    ("/output/status", &[]),
    ("/output/content/annotations", &["[]"]),
    ("/output/content/logprobs", &["[]"]),
    ("/usage/num_sources_used", &["0"]),
    ("/usage/num_server_side_tools_used", &["0"]),
];

/// The stop reasons as `status` and the reason in `incomplete_details`.
pub(super) const STOPS: &[(StopReason, &str, Option<&str>)] = &[
    (StopReason::End, "completed", None),
    (StopReason::MaxTokens, "incomplete", Some("max_output_tokens")),
    (StopReason::Filtered, "incomplete", Some("content_filter")),
    (StopReason::Pause, "incomplete", Some("steered")),
    (StopReason::Failed, "failed", None),
    // Decoded only: these words have no own reason.
    (StopReason::MaxTokens, "incomplete", None),
    (StopReason::Failed, "cancelled", None),
    (StopReason::Pause, "in_progress", None),
    (StopReason::Pause, "queued", None),
    // Encoded only: calls and refusals are detected by content, the others have no own word.
    (StopReason::ToolUse, "completed", None),
    (StopReason::StopSequence, "completed", None),
    (StopReason::Refusal, "completed", None),
    (StopReason::MalformedCall, "completed", None),
    (StopReason::ContextWindow, "incomplete", Some("max_output_tokens")),
];

/// Takes a cache breakpoint; one of an unknown kind stays extra.
pub(super) fn take_cache(fields: &mut Fields<'_>) -> Option<CacheMark> {
    let mark = fields.peek("prompt_cache_breakpoint")?.as_object()?;
    if mark.get("mode").and_then(Json::as_str) != Some("explicit") {
        return None;
    }
    let mut rest = mark.clone();
    rest.remove("mode");
    let ttl = rest.get("ttl").and_then(Json::as_str).map(str::to_owned);
    if ttl.is_some() {
        rest.remove("ttl");
    }
    fields.take("prompt_cache_breakpoint");
    fields.put_back_rest("prompt_cache_breakpoint", rest);
    Some(CacheMark { ttl, ..CacheMark::default() })
}

/// Encodes a breakpoint.
pub(super) fn put_cache(object: &mut Object, cache: Option<&CacheMark>) {
    if let Some(cache) = cache {
        let mut mark = object! {"mode": "explicit"};
        mark.insert_some("ttl", cache.ttl.as_deref());
        object.insert("prompt_cache_breakpoint", mark);
    }
}

/// Creates an id for an item without one: the same for the same position in the same response.
pub(super) fn made_id(prefix: &str, seed: &str, index: usize) -> String {
    // FNV-1a, which is short and stable.
    let bytes = seed.bytes().chain(index.to_be_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}_{hash:016x}")
}
