//! Responses, and the parts of them that streams repeat.

use toolwright_core::event::Start;
use toolwright_core::{Extra, Part, Response, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, Path, object};

use super::part;
use super::wire::{self, DIALECT, STOPS};
use crate::codec::{Fields, ReplyContext, Result, WireReply};

/// Counts that are computed from canonical ones, and stored if they differ.
const COMPUTED: [&str; 3] = ["promptTokenCount", "candidatesTokenCount", "totalTokenCount"];

/// Fields of which a reply, and each chunk of a stream, has at least one.
pub(super) const FIELDS: [&str; 5] =
    ["candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"];

/// Decodes a body. The first candidate is the response; others stay extra under `candidates`.
pub(super) fn decode(wire: WireReply) -> Result<Response> {
    let mut fields = wire::open(wire.body, Path::ROOT)?;
    fields.require_reply(&FIELDS)?;
    let path = Path::ROOT.key("candidates");
    let mut candidates = fields.array("candidates")?.into_iter();
    let usage = decode_usage(&mut fields)?;
    let (parts, stop) = match candidates.next() {
        Some(first) => {
            let Candidate { parts, word, extra } = decode_candidate(first, path.index(0))?;
            (part::assemble(parts), decode_stop(word, extra))
        }
        None => (vec![], decode_block(&fields).unwrap_or_default()),
    };
    let stop = stop.reconciled(&parts);
    if candidates.len() > 0 {
        fields.put_back("candidates", candidates.collect::<Vec<_>>());
    }
    let Start { id, model, extra } = decode_start(fields)?;
    Ok(Response { id, model, parts, stop, usage, extra })
}

/// A candidate, complete or the part of it in a chunk.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) parts: Vec<Part>,
    /// The finish reason
    pub(super) word: Option<String>,
    /// Ratings, citations and similar fields
    pub(super) extra: Extra,
}

/// Decodes a candidate.
pub(super) fn decode_candidate(wire: Json, path: Path<'_>) -> Result<Candidate> {
    let mut fields = wire::open(wire, path)?;
    let mut parts = Vec::new();
    if let Some(content) = fields.take("content") {
        let path = path.key("content");
        let mut content = wire::open(content, path)?;
        parts = part::decode_each(wire::list(&mut content, "parts")?, path.key("parts"))?;
        content.take("role");
        fields.put_back_rest("content", content.into_object());
    }
    if fields.peek("index").and_then(Json::as_u64) == Some(0) {
        fields.take("index");
    }
    let word = wire::word(&mut fields, "finishReason", wire::STOP_NUMBERS)?;
    Ok(Candidate { parts, word, extra: fields.into_extra() })
}

/// Returns the stop for a finish reason and the other fields of the candidate.
pub(super) fn decode_stop(word: Option<String>, extra: Extra) -> Stop {
    let Some(word) = word else { return Stop { extra, ..Stop::default() } };
    let mut stop = Stop { reason: reason(&word), extra, ..Stop::default() };
    if usual(stop.reason) != word {
        stop.extra.insert(DIALECT, "finishReason", word);
    }
    stop
}

fn reason(word: &str) -> StopReason {
    STOPS.iter().find(|(_, own)| *own == word).map(|(reason, _)| *reason).unwrap_or_default()
}

fn usual(reason: StopReason) -> &'static str {
    STOPS.iter().find(|(own, _)| *own == reason).map_or("STOP", |(_, word)| *word)
}

/// Decodes a blocked prompt, which has no candidates.
pub(super) fn decode_block(fields: &Fields<'_>) -> Option<Stop> {
    fields
        .peek("promptFeedback")
        .filter(|own| blocks(own))
        .map(|_| Stop::new(StopReason::Filtered).without_reason_field(DIALECT))
}

/// Whether extra fields mean that the prompt was blocked.
pub(super) fn is_blocked(extra: &Extra) -> bool {
    extra.get(DIALECT, "promptFeedback").is_some_and(blocks)
}

fn blocks(feedback: &Json) -> bool {
    feedback.as_object().is_some_and(|own| wire::member(own, "blockReason").is_some())
}

/// Decodes the fields that a response shares with each chunk of a stream.
pub(super) fn decode_start(mut fields: Fields<'_>) -> Result<Start> {
    Ok(Start {
        id: fields.string("responseId")?,
        model: fields.string("modelVersion")?,
        extra: fields.into_extra(),
    })
}

/// Returns the tokens of hosted tools. They are input, although the prompt's count excludes them.
fn tool_use(usage: &Usage) -> u64 {
    usage.extra.get(DIALECT, "toolUsePromptTokenCount").and_then(Json::as_u64).unwrap_or(0)
}

/// Decodes usage. The prompt includes cached tokens; candidates exclude thoughts.
pub(super) fn decode_usage(fields: &mut Fields<'_>) -> Result<Option<Usage>> {
    let Some(wire) = fields.take("usageMetadata") else { return Ok(None) };
    let mut own = wire::open(wire, Path::ROOT.key("usageMetadata"))?;
    let said = [own.u64(COMPUTED[0])?, own.u64(COMPUTED[1])?, own.u64(COMPUTED[2])?];
    let [prompt, candidates, _] = said;
    let cached = own.u64("cachedContentTokenCount")?;
    let thoughts = own.u64("thoughtsTokenCount")?;
    let mut usage = Usage {
        input: prompt.map(|prompt| prompt.saturating_sub(cached.unwrap_or(0))),
        cache_read: cached,
        output: match (candidates, thoughts) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        },
        reasoning: thoughts,
        extra: own.into_extra(),
        ..Usage::default()
    };
    let tools = tool_use(&usage);
    usage.input = usage.input.map(|input| input.saturating_add(tools));
    let computed = counts(&usage);
    for (key, said) in COMPUTED.into_iter().zip(said) {
        if said.is_some() && computed.get(key).and_then(Json::as_u64) != said {
            usage.extra.insert(DIALECT, key, said);
        }
    }
    Ok(Some(usage))
}

/// Returns the canonical counts in the vendor's fields.
fn counts(usage: &Usage) -> Object {
    let thoughts = usage.reasoning;
    let said = usage.input.or(usage.cache_read).or(usage.cache_write);
    let candidates = usage.output.map(|output| output.saturating_sub(thoughts.unwrap_or(0)));
    let prompt = usage.input_total().saturating_sub(tool_use(usage));
    let mut object = Object::new();
    object.insert_some(COMPUTED[0], said.map(|_| prompt));
    object.insert_some("cachedContentTokenCount", usage.cache_read);
    object.insert_some(COMPUTED[1], candidates.filter(|own| *own > 0 || thoughts.is_none()));
    object.insert_some("thoughtsTokenCount", thoughts);
    object.insert(COMPUTED[2], usage.total());
    object
}

/// Encodes usage.
pub(super) fn encode_usage(usage: &Usage) -> Object {
    let mut object = counts(usage);
    for key in COMPUTED {
        object.insert_some(key, usage.extra.get(DIALECT, key).cloned());
    }
    usage.extra.write_into(DIALECT, &mut object);
    object
}

/// Encodes a body.
pub(super) fn encode(response: Response, reply_context: &ReplyContext) -> Json {
    let mut object = Object::new();
    if !(response.parts.is_empty() && is_blocked(&response.extra)) {
        let parts = part::encode_all(&response.parts);
        let mut candidates = vec![Json::Object(encode_candidate(parts, Some(&response.stop)))];
        if let Some(Json::Array(others)) = response.extra.get(DIALECT, "candidates") {
            candidates.extend(others.iter().cloned());
        }
        object.insert("candidates", candidates);
    }
    object.insert_some("usageMetadata", response.usage.as_ref().map(encode_usage));
    let start = Start { id: response.id, model: response.model, extra: response.extra };
    encode_start(&start, reply_context, &mut object);
    start.extra.write_into(DIALECT, &mut object);
    Json::Object(object)
}

/// Encodes the fields that a response shares with each chunk of a stream.
pub(super) fn encode_start(start: &Start, reply_context: &ReplyContext, object: &mut Object) {
    object.insert_some("modelVersion", start.model.as_deref().or(reply_context.model.as_deref()));
    object.insert_some("responseId", start.id.as_deref());
}

/// Encodes a candidate; one without a stop is a chunk.
pub(super) fn encode_candidate(parts: Vec<Json>, stop: Option<&Stop>) -> Object {
    let mut object = object! {"content": object! {"parts": parts, "role": "model"}};
    if let Some(stop) = stop {
        let own = stop.extra.get(DIALECT, "finishReason").and_then(Json::as_str);
        // An unknown word means an end, or tool use if there are calls.
        let plain = matches!(stop.reason, StopReason::End | StopReason::ToolUse);
        let means =
            |word: &&str| reason(word) == stop.reason || plain && reason(word) == StopReason::End;
        object.insert("finishReason", own.filter(means).unwrap_or(usual(stop.reason)));
        stop.extra.write_into(DIALECT, &mut object);
    }
    if !object.contains_key("index") {
        object.insert("index", 0_u64);
    }
    object
}
