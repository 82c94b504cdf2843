//! Usage of vendors whose counts add up differently from OpenAI's, in whole replies and streams.

use toolwright_core::event::join::join;
use toolwright_core::{Json, Usage};
use toolwright_dialects::dialect::{WireReply, lookup};
use toolwright_dialects::frame::Frame;
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

/// The usage in a whole reply and in a stream of a vendor; both must return unchanged.
fn counted(vendor: &str, usage: &str) -> [Usage; 2] {
    let codec = lookup(vendor).unwrap();
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"x","refusal":null}},"logprobs":null,"finish_reason":"stop"}}],"usage":{usage}}}"#
    );
    let whole = fixtures::response(codec, &Json::parse(&body).unwrap()).usage.unwrap();
    let chunk = |choices: &str, usage: &str| {
        Frame::data(format!(
            r#"{{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{choices}],"usage":{usage}}}"#
        ))
    };
    let frames = [
        chunk(
            r#"{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}"#,
            "null",
        ),
        chunk(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "null"),
        chunk("", usage),
        Frame::data("[DONE]"),
    ];
    let streamed = join(fixtures::decoded(codec, frames)).unwrap().usage.unwrap();
    [whole, streamed]
}

#[test]
fn reasoning_that_xai_counts_beside_the_output_is_part_of_it() {
    let usage = r#"{"prompt_tokens":291,"completion_tokens":26,"total_tokens":506,"prompt_tokens_details":{"cached_tokens":290},"completion_tokens_details":{"reasoning_tokens":189}}"#;
    for vendor in ["xai", "openai-chat"] {
        for usage in counted(vendor, usage) {
            assert_eq!((usage.output, usage.reasoning), (Some(215), Some(189)), "{vendor}");
            assert_eq!((usage.input, usage.cache_read, usage.total()), (Some(1), Some(290), 506));
        }
    }
}

#[test]
fn reasoning_that_is_part_of_the_output_is_not_counted_twice() {
    let usage = r#"{"prompt_tokens":15,"completion_tokens":78,"total_tokens":93,"completion_tokens_details":{"reasoning_tokens":64}}"#;
    for usage in counted("openai-chat", usage) {
        assert_eq!((usage.output, usage.total()), (Some(78), 93));
    }
}

#[test]
fn a_cache_larger_than_the_prompt_is_not_part_of_it() {
    let usage = r#"{"prompt_tokens":40,"completion_tokens":5,"total_tokens":45,"prompt_tokens_details":{"cached_tokens":512}}"#;
    for usage in counted("openai-chat", usage) {
        assert_eq!((usage.input, usage.cache_read), (Some(40), Some(512)));
        assert_eq!(usage.input_total(), 552);
    }
}

#[test]
fn openrouter_reports_cache_writes() {
    let usage = r#"{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"cost":0.01,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":60}}"#;
    for usage in counted("openrouter", usage) {
        assert_eq!(
            (usage.input, usage.cache_read, usage.cache_write),
            (Some(30), Some(10), Some(60))
        );
    }
}

#[test]
fn usage_reaches_other_clients_by_their_own_convention() {
    let chat = lookup("openai-chat").unwrap();
    let body = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":291,"completion_tokens":26,"total_tokens":506,"completion_tokens_details":{"reasoning_tokens":189}}}"#;
    let options = toolwright_dialects::translate::Options::default();
    for (to, place) in [
        ("anthropic", "/usage/output_tokens"),
        ("ollama", "/eval_count"),
        ("openai-responses", "/usage/output_tokens"),
    ] {
        let translator =
            toolwright_dialects::translate::Translator::new(chat, lookup(to).unwrap(), &options);
        let reply =
            translator.response(WireReply::ok(Json::parse(body).unwrap())).unwrap().value.body;
        assert_eq!(reply.pointer(place).and_then(Json::as_u64), Some(215), "{to}");
    }
}

/// Replaces every number of a document, except for indexes and times.
fn absurd(document: &mut Json, count: &str) {
    match document {
        Json::Array(items) => items.iter_mut().for_each(|item| absurd(item, count)),
        Json::Object(object) => {
            for (key, value) in object.iter_mut() {
                let key = key.to_lowercase();
                let is_count = key.contains("token") || key.ends_with("_count");
                match value {
                    Json::Number(_) if is_count => *value = Json::parse(count).unwrap(),
                    value => absurd(value, count),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn absurd_counts_saturate_from_every_dialect_to_every_other() {
    for count in ["18446744073709551615", "1e30", "99999999999999999999999"] {
        for from in fixtures::codecs() {
            let mut body = fixtures::json(from.dialect(), "synthetic/matrix_response.json");
            absurd(&mut body, count);
            let usage = from.decode_response(WireReply::ok(body.clone())).unwrap().usage.unwrap();
            assert_eq!(usage.total(), u64::MAX, "{} {count}", from.dialect());
            for to in fixtures::codecs() {
                let options = Options::default();
                let translator = Translator::new(from, to, &options);
                translator.response(WireReply::ok(body.clone())).unwrap();
            }
        }
    }
}
