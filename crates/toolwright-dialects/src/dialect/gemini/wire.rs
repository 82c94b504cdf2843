//! Names and paths of Gemini's format.

use std::borrow::Cow;

use toolwright_core::{Dialect, StopReason, percent};
use toolwright_json::{Json, Object, Path};

use crate::codec::{Defaults, Fields, Result};

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Gemini;

/// The default prefix of the model in a path.
const PREFIX: &str = "/v1beta/models/";

/// The paths of canonical fields. The origin of a part is the whole part, because its signature is
/// beside the call. Fields of a candidate and of usage are found by their own name.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("frequency_penalty", "generationConfig/frequencyPenalty"),
    ("presence_penalty", "generationConfig/presencePenalty"),
    ("answers", "generationConfig/candidateCount"),
    ("logprobs", "generationConfig/responseLogprobs"),
    ("top_logprobs", "generationConfig/logprobs"),
    ("parameters", "parametersJsonSchema"),
    ("output", "responseJsonSchema"),
    ("signature", "thoughtSignature"),
    ("arguments", "functionCall/args"),
    ("call_id", "functionResponse/id"),
    ("content", "functionResponse/response"),
    ("error", "functionResponse/response/error"),
    ("media", "inlineData"),
    ("instructions", "systemInstruction"),
    ("tool_choice", "toolConfig/functionCallingConfig"),
    ("max_tokens", "generationConfig/maxOutputTokens"),
    ("temperature", "generationConfig/temperature"),
    ("top_p", "generationConfig/topP"),
    ("top_k", "generationConfig/topK"),
    ("stop", "generationConfig/stopSequences"),
    ("seed", "generationConfig/seed"),
    ("thinking", "generationConfig/thinkingConfig"),
    ("effort", "generationConfig/thinkingConfig/thinkingLevel"),
    ("budget", "generationConfig/thinkingConfig/thinkingBudget"),
    ("id", "responseId"),
    ("model", "modelVersion"),
    ("usage", "usageMetadata"),
    ("cache_read", "usageMetadata/cachedContentTokenCount"),
    ("reasoning_tokens", "usageMetadata/thoughtsTokenCount"),
    ("reason", "candidates/0/finishReason"),
    ("ending", "candidates/0"),
    ("unthought_output", "usageMetadata/candidatesTokenCount"),
    ("+safetyRatings", "candidates/0/safetyRatings"),
    ("+citationMetadata", "candidates/0/citationMetadata"),
    ("+groundingMetadata", "candidates/0/groundingMetadata"),
    ("+urlContextMetadata", "candidates/0/urlContextMetadata"),
    ("+avgLogprobs", "candidates/0/avgLogprobs"),
    ("+logprobsResult", "candidates/0/logprobsResult"),
    ("+tokenCount", "candidates/0/tokenCount"),
    ("+continuationToken", "candidates/0/continuationToken"),
    ("+finishMessage", "candidates/0/finishMessage"),
    ("format", "generationConfig/responseMimeType"),
    ("format_schema", "generationConfig/responseJsonSchema"),
];

/// Members that may be dropped without a loss.
pub(super) const DEFAULTS: Defaults = &[
    ("/systemInstruction/role", &[]),
    ("/safetySettings", &["[]"]),
    ("/cachedContent", &["\"\""]),
    ("/labels", &["{}"]),
    ("/toolConfig", &["{}"]),
    ("/toolConfig/functionCallingConfig", &["{}"]),
    ("/toolConfig/includeServerSideToolInvocations", &["false"]),
    ("/tools/functionDeclarations/behavior", &["\"UNSPECIFIED\"", "\"BLOCKING\""]),
    ("/generationConfig", &["{}"]),
    ("/generationConfig/responseModalities", &["[]", "[\"TEXT\"]", "[\"text\"]"]),
    ("/generationConfig/mediaResolution", &["\"MEDIA_RESOLUTION_UNSPECIFIED\""]),
    ("/generationConfig/enableEnhancedCivicAnswers", &["false"]),
    ("/generationConfig/audioTimestamp", &["false"]),
    ("/generationConfig/thinkingConfig", &["{}"]),
    ("/generationConfig/thinkingConfig/thinkingBudget", &["-1"]),
    ("/generationConfig/thinkingConfig/includeThoughts", &["false"]),
    ("/contents/parts/thought", &["false"]),
    ("/contents/parts/functionResponse/willContinue", &["false"]),
    ("/contents/parts/functionCall/willContinue", &["false"]),
    // In replies: how the vendor served and counted them.
    ("/createTime", &[]),
    ("/candidates/avgLogprobs", &[]),
    ("/candidates/finishMessage", &["\"Model generated function call(s).\""]),
    ("/usageMetadata/trafficType", &[]),
    ("/usageMetadata/serviceTier", &[]),
    ("/usageMetadata/promptTokensDetails", &[]),
    ("/usageMetadata/candidatesTokensDetails", &[]),
    ("/usageMetadata/cacheTokensDetails", &[]),
    ("/usageMetadata/toolUsePromptTokensDetails", &[]),
];

/// The stop reasons with their words, the default word of each first. Tool use is `STOP`.
pub(super) const STOPS: &[(StopReason, &str)] = &[
    (StopReason::End, "STOP"),
    (StopReason::MaxTokens, "MAX_TOKENS"),
    (StopReason::Filtered, "SAFETY"),
    (StopReason::Filtered, "PROHIBITED_CONTENT"),
    (StopReason::Filtered, "BLOCKLIST"),
    (StopReason::Filtered, "SPII"),
    (StopReason::Filtered, "MODEL_ARMOR"),
    (StopReason::Filtered, "RECITATION"),
    (StopReason::Filtered, "IMAGE_SAFETY"),
    (StopReason::Filtered, "IMAGE_PROHIBITED_CONTENT"),
    (StopReason::Filtered, "IMAGE_RECITATION"),
    (StopReason::MalformedCall, "MALFORMED_FUNCTION_CALL"),
    (StopReason::MalformedCall, "UNEXPECTED_TOOL_CALL"),
    (StopReason::MalformedCall, "TOO_MANY_TOOL_CALLS"),
    (StopReason::Pause, "CONTINUATION"),
    (StopReason::Failed, "OTHER"),
    (StopReason::Failed, "MALFORMED_RESPONSE"),
    (StopReason::Failed, "LANGUAGE"),
    (StopReason::Failed, "IMAGE_OTHER"),
    (StopReason::Failed, "NO_IMAGE"),
    // Encoded only: these reasons have no own word here.
    (StopReason::ToolUse, "STOP"),
    (StopReason::StopSequence, "STOP"),
    (StopReason::ContextWindow, "MAX_TOKENS"),
    (StopReason::Refusal, "SAFETY"),
];

/// The finish reasons by their numbers on Vertex AI.
pub(super) const STOP_NUMBERS: &[&str] = &[
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
];

/// The modes of calling by their numbers.
pub(super) const MODE_NUMBERS: &[&str] = &["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"];

/// The types of schemas by their numbers.
pub(super) const TYPE_NUMBERS: &[&str] =
    &["TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

/// Opens an object of the format. It is proto-JSON: each key may be in snake or camel case, and the
/// official SDK mixes them. Not used for schemas, arguments and results.
pub(super) fn open(value: Json, path: Path<'_>) -> Result<Fields<'_>> {
    let value = match value {
        Json::Object(object) => Json::Object(
            object
                .into_iter()
                .map(|(key, value)| match camel(&key) {
                    Cow::Owned(renamed) => (renamed.into(), value),
                    Cow::Borrowed(_) => (key, value),
                })
                .collect(),
        ),
        other => other,
    };
    Fields::new(value, path, DIALECT)
}

/// Takes a list. The service also accepts a single element without the list.
pub(super) fn list(fields: &mut Fields<'_>, key: &str) -> Result<Vec<Json>> {
    match fields.take(key) {
        Some(only @ Json::Object(_)) => Ok(vec![only]),
        Some(Json::Array(items)) => Ok(items),
        None => Ok(Vec::new()),
        Some(_) => Err(fields.expected(key, "an array")),
    }
}

/// Takes a word, which Vertex AI may send as its enumeration number.
pub(super) fn word(
    fields: &mut Fields<'_>,
    key: &str,
    numbered: &[&str],
) -> Result<Option<String>> {
    let number = fields.peek(key).and_then(Json::as_u64);
    if let Some(number) = number.and_then(|number| usize::try_from(number).ok()) {
        fields.take(key);
        // A number beyond the table is an unknown word.
        let word =
            numbered.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned());
        return Ok(Some(word));
    }
    fields.string(key)
}

/// Converts a key to camel case.
pub(super) fn camel(key: &str) -> Cow<'_, str> {
    let snake = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !key.contains('_') || key.starts_with('_') || !key.bytes().all(snake) {
        return key.into();
    }
    let mut words = key.split('_');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out.into()
}

/// Returns a member of an object that was not opened, in either case.
pub(super) fn member<'o>(object: &'o Object, name: &str) -> Option<&'o Json> {
    object.iter().rev().find(|(key, _)| camel(key) == name).map(|(_, value)| value)
}

/// A parsed path: prefix, model and stream flag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address<'p> {
    prefix: &'p str,
    pub(super) model: String,
    pub(super) stream: bool,
}

impl<'p> Address<'p> {
    /// Parses a path without its query; `None` if it is not one of this vendor.
    pub(super) fn read(path: &'p str) -> Option<Address<'p>> {
        let (front, verb) = path.rsplit_once(':')?;
        let stream = match verb {
            "generateContent" => false,
            "streamGenerateContent" => true,
            _ => return None,
        };
        let models = front.find("/models/").map(|at| at + "/models/".len());
        let start = models.or_else(|| front.rfind('/').map(|at| at + 1)).unwrap_or(0);
        let (prefix, model) = front.split_at(start);
        Some(Address { prefix, model: percent::decode(model), stream })
    }

    /// Returns the path of a request. The client's path is kept: completely if it is equivalent,
    /// otherwise its prefix before the model.
    pub(super) fn write(model: &str, stream: bool, kept: Option<&str>) -> String {
        let own = kept.and_then(|path| Some((path, Address::read(path)?)));
        let mut path = match own {
            Some((path, own)) if own.model == model && own.stream == stream => path.to_owned(),
            own => {
                let verb = if stream { "streamGenerateContent" } else { "generateContent" };
                let prefix = own.map_or(PREFIX, |(_, own)| own.prefix);
                format!("{prefix}{}:{verb}", percent::encode(model))
            }
        };
        // Without it a stream is one JSON array.
        if stream {
            path.push_str("?alt=sse");
        }
        path
    }
}
