//! The replies: a sentence and two calls, as a whole and as a stream of fifty events, in both
//! dialects. All bytes are prepared; only the piece with the nonce is copied for each request.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::nonce::Nonce;

/// The text of the reply, with a placeholder nonce.
pub(crate) const TEXT: &str = "Ticket nonce-0000000000000000 is about two late parcels. I will look \
    up both orders and what the carrier last reported about them before I promise a date.";
/// The arguments of the two calls.
pub(crate) const ARGUMENTS: [&str; 2] = [
    r#"{"customer":"C-104233","status":["open","delayed"],"since":"2025-03-01","limit":25,"fields":["id","items","carrier","promised_date"],"currency":"EUR"}"#,
    r#"{"tracking":["1Z999AA10123456784","JD0002234567890123"],"language":"en","details":true,"notify":{"email":"sofia@example.com","on":["delay","delivery"]}}"#,
];
const NAMES: [&str; 2] = ["search_orders", "track_parcels"];
const CALLS: [&str; 2] = ["call_8tq2Zr5W0kQyVb1n", "call_Jx47dLmC9sUeHf3p"];
const USES: [&str; 2] = ["toolu_01T1x1fJ34qAmk2tNTrN7Up6", "toolu_01Gq9vYh2cWbXoEzR5sKd8Lm"];

/// The dialects that the mock speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    /// openai-chat
    OpenAi,
    /// anthropic
    Anthropic,
}

/// A text with a position for a nonce.
struct Form {
    bytes: Bytes,
    place: usize,
}

impl Form {
    fn new(bytes: Vec<u8>) -> Form {
        Form { place: Nonce::place(&bytes).unwrap_or_default(), bytes: bytes.into() }
    }

    fn fill(&self, nonce: Option<Nonce>) -> Bytes {
        let Some(nonce) = nonce else { return self.bytes.clone() };
        let mut bytes = self.bytes.to_vec();
        bytes[self.place..self.place + 16].copy_from_slice(nonce.digits());
        bytes.into()
    }
}

struct Answer {
    whole: Form,
    events: Arc<[Bytes]>,
    /// The event that carries the nonce
    opening: (usize, Form),
}

impl Answer {
    fn new(whole: &Value, events: Vec<Vec<u8>>) -> Answer {
        let whole = Form::new(whole.to_string().into_bytes());
        let place = events.iter().position(|event| Nonce::find(event).is_some());
        let index = place.unwrap_or_default();
        let opening = (index, Form::new(events[index].clone()));
        Answer { whole, events: events.into_iter().map(Bytes::from).collect(), opening }
    }
}

/// All replies of the mock.
pub(crate) struct Answers {
    openai: Answer,
    anthropic: Answer,
}

impl Answers {
    /// Prepares all bytes.
    pub(crate) fn new() -> Answers {
        Answers {
            openai: Answer::new(&openai_whole(), openai_events()),
            anthropic: Answer::new(&anthropic_whole(), anthropic_events()),
        }
    }

    fn of(&self, speech: Speech) -> &Answer {
        match speech {
            Speech::OpenAi => &self.openai,
            Speech::Anthropic => &self.anthropic,
        }
    }

    /// The whole reply with a nonce.
    pub(crate) fn whole(&self, speech: Speech, nonce: Option<Nonce>) -> Bytes {
        self.of(speech).whole.fill(nonce)
    }

    /// The prepared events.
    pub(crate) fn events(&self, speech: Speech) -> Arc<[Bytes]> {
        self.of(speech).events.clone()
    }

    /// The event with the nonce, and its index.
    pub(crate) fn opening(&self, speech: Speech, nonce: Option<Nonce>) -> (usize, Bytes) {
        let (index, form) = &self.of(speech).opening;
        (*index, form.fill(nonce))
    }
}

/// The body of a 500.
pub(crate) fn fails(speech: Speech) -> Bytes {
    error(speech, "server_error", "api_error", "The server had an error.")
}

/// The body of a 429.
pub(crate) fn busy(speech: Speech) -> Bytes {
    error(speech, "rate_limit_exceeded", "rate_limit_error", "Rate limit reached.")
}

/// The HTML page of a failing proxy.
pub(crate) fn html() -> Bytes {
    Bytes::from_static(b"<!doctype html><title>502 Bad Gateway</title><h1>Bad Gateway</h1>")
}

fn error(speech: Speech, openai: &str, anthropic: &str, message: &str) -> Bytes {
    let body = match speech {
        Speech::OpenAi => {
            json!({"error": {"message": message, "type": openai, "param": null, "code": openai}})
        }
        Speech::Anthropic => {
            json!({"type": "error", "error": {"type": anthropic, "message": message}})
        }
    };
    body.to_string().into()
}

fn openai_whole() -> Value {
    let calls: Vec<Value> = (0..2)
        .map(|index| {
            json!({"id": CALLS[index], "type": "function",
                "function": {"name": NAMES[index], "arguments": ARGUMENTS[index]}})
        })
        .collect();
    json!({"id": "chatcmpl-BxR2vQe5", "object": "chat.completion", "created": 1_741_569_952,
        "model": "mock", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": TEXT, "tool_calls": calls, "refusal": null},
            "logprobs": null, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 912, "completion_tokens": 148, "total_tokens": 1060},
        "service_tier": "default", "system_fingerprint": "fp_50906f2aac"})
}

fn openai_events() -> Vec<Vec<u8>> {
    let chunk = |choices: Value, usage: Value| {
        let value = json!({"id": "chatcmpl-BxR2vQe5", "object": "chat.completion.chunk",
            "created": 1_741_569_952, "model": "mock", "service_tier": "default",
            "system_fingerprint": "fp_50906f2aac", "choices": choices, "usage": usage});
        format!("data: {value}\n\n").into_bytes()
    };
    let delta = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
        chunk(json!([choice]), Value::Null)
    };
    let mut events = vec![delta(json!({"role": "assistant", "content": "", "refusal": null}))];
    events.extend(pieces(TEXT, 11).map(|piece| delta(json!({"content": piece}))));
    for index in 0..2 {
        events.push(delta(json!({"tool_calls": [{"index": index, "id": CALLS[index],
            "type": "function", "function": {"name": NAMES[index], "arguments": ""}}]})));
        events.extend(pieces(ARGUMENTS[index], 17).map(|piece| {
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        }));
    }
    let end = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": "tool_calls"}]);
    events.push(chunk(end, Value::Null));
    let usage = json!({"prompt_tokens": 912, "completion_tokens": 148, "total_tokens": 1060});
    events.push(chunk(json!([]), usage));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

fn anthropic_whole() -> Value {
    let uses = (0..2).map(|index| {
        let input: Value = serde_json::from_str(ARGUMENTS[index]).unwrap_or_default();
        json!({"type": "tool_use", "id": USES[index], "name": NAMES[index], "input": input})
    });
    let content: Vec<Value> =
        std::iter::once(json!({"type": "text", "text": TEXT})).chain(uses).collect();
    json!({"id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message", "role": "assistant",
        "model": "mock", "content": content, "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 912, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": 148, "service_tier": "standard"}})
}

fn anthropic_events() -> Vec<Vec<u8>> {
    let event = |value: Value| {
        let kind = value["type"].as_str().unwrap_or_default();
        format!("event: {kind}\ndata: {value}\n\n").into_bytes()
    };
    let start = |index: usize, block: Value| {
        event(json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta = |index: usize, delta: Value| {
        event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let stop = |index: usize| event(json!({"type": "content_block_stop", "index": index}));
    let mut events = vec![
        event(json!({"type": "message_start", "message": {"id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message", "role": "assistant", "model": "mock", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 912,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": 2, "service_tier": "standard"}}})),
        start(0, json!({"type": "text", "text": ""})),
    ];
    let text = |piece| delta(0, json!({"type": "text_delta", "text": piece}));
    events.extend(pieces(TEXT, 11).map(text));
    events.push(stop(0));
    for call in 0..2 {
        let index = call + 1;
        let name = NAMES[call];
        let block = json!({"type": "tool_use", "id": USES[call], "name": name, "input": {}});
        events.push(start(index, block));
        events.extend(
            pieces(ARGUMENTS[call], 15).map(|piece| {
                delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
            }),
        );
        events.push(stop(index));
    }
    events.push(event(json!({"type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": null},
        "usage": {"output_tokens": 148}})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

/// Splits an ASCII text into this many pieces, the first of them long enough for the nonce.
fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let first = if text == TEXT { 30 } else { text.len() / count };
    let (head, rest) = text.split_at(first);
    let count = count - 1;
    let cut = move |index: usize| index * rest.len() / count;
    std::iter::once(head).chain((0..count).map(move |index| &rest[cut(index)..cut(index + 1)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_fifty_events_and_one_nonce() {
        let answers = Answers::new();
        // The closing `[DONE]` of openai-chat does not count as an event.
        for (speech, closing) in [(Speech::OpenAi, 1), (Speech::Anthropic, 0)] {
            let events = answers.events(speech);
            assert_eq!(events.len(), 50 + closing, "{speech:?}");
            let (index, opening) = answers.opening(speech, Some(Nonce::new(0xabc)));
            assert_eq!(Nonce::find(&opening), Some(Nonce::new(0xabc)));
            assert_eq!(opening.len(), events[index].len());
            let whole = answers.whole(speech, Some(Nonce::new(7)));
            assert_eq!(Nonce::find(&whole), Some(Nonce::new(7)));
        }
    }

    #[test]
    fn pieces_join_to_the_text() {
        for text in [TEXT, ARGUMENTS[0]] {
            assert_eq!(pieces(text, 11).collect::<String>(), text);
            assert_eq!(pieces(text, 11).count(), 11);
        }
    }
}
