//! Reasoning inside the text: a leading `<think>…</think>` is reasoning, at any split of the
//! stream.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::event::think::{ThinkFilter, separate};
use toolwright_core::event::{Delta, Event, law};
use toolwright_core::{Arguments, Body, Call, Json, Part, Response, StopReason};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect, WireReply, vendors};
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

/// The text of a reply, its reasoning, and the remaining text.
const CASES: &[(&str, Option<&str>, &str)] = &[
    ("<think>\nFerries, so boats.\n</think>\n\nAt 08:30.", Some("Ferries, so boats."), "At 08:30."),
    (" \n<think>a < b </b></think>c", Some("a < b </b>"), "c"),
    ("<think>a</think>", Some("a"), ""),
    ("<think>\n\n</think>\n\nb", None, "b"),
    ("<think></think>", None, ""),
    // The model was truncated while it was thinking.
    ("<think>a, then b", Some("a, then b"), ""),
    ("<think>a </thi", Some("a </thi"), ""),
    // Only the exact tag at the beginning counts.
    ("a <think>b</think>", None, "a <think>b</think>"),
    ("<thinking>a</thinking>", None, "<thinking>a</thinking>"),
    ("<thin", None, "<thin"),
    ("a</think>b", None, "a</think>b"),
    ("<think>a</think>b<think>c</think>", Some("a"), "b<think>c</think>"),
    ("  a", None, "  a"),
];

fn reply(text: &str) -> Response {
    let call = Call::new("c", "f", Arguments::none());
    Response::new(vec![Part::text(text), Part::call(call)])
}

/// Filters the events of a reply whose text arrives in fragments of this many characters.
fn streamed(response: Response, size: usize) -> Response {
    let mut filter = ThinkFilter::default();
    let mut events = Vec::new();
    for event in split(response) {
        let Event::PartDelta { index, delta: Delta::Text(text) } = event else {
            filter.push(event, &mut events);
            continue;
        };
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            let delta = Delta::Text(piece.iter().collect());
            filter.push(Event::PartDelta { index, delta }, &mut events);
        }
    }
    law::check(&events).unwrap_or_else(|broken| panic!("{broken}\n{events:#?}"));
    join(events).unwrap()
}

#[test]
fn a_leading_tag_is_reasoning_at_any_split_of_the_stream() {
    for (text, reasoning, rest) in CASES {
        let whole = separate(reply(text));
        assert_eq!(whole.reasoning().as_deref(), *reasoning, "{text:?}");
        assert_eq!(whole.text(), *rest, "{text:?}");
        assert_eq!(whole.calls().count(), 1, "{text:?}");
        assert_eq!(whole.stop.reason, StopReason::ToolUse);
        for size in 1..=text.chars().count() {
            assert_eq!(streamed(reply(text), size).parts, whole.parts, "{text:?} by {size}");
        }
    }
}

#[test]
fn text_after_another_part_is_not_filtered() {
    let thinking = Part::new(Body::Reasoning(toolwright_core::part::Reasoning::text("so")));
    let call = Part::call(Call::new("c", "f", Arguments::none()));
    for first in [thinking, call] {
        let response = Response::new(vec![first, Part::text("<think>a</think>b")]);
        assert_eq!(separate(response.clone()), response);
        assert_eq!(streamed(response.clone(), 3).parts, response.parts);
    }
}

#[test]
fn a_stream_that_breaks_off_keeps_what_was_held_back() {
    let fault = toolwright_core::Fault::new(toolwright_core::FaultClass::Internal, "cut off");
    for (text, said) in [("<thi", "<thi"), ("<think>a </thi", "a </thi")] {
        let mut filter = ThinkFilter::default();
        let mut events = Vec::new();
        let mut source = split(Response::new(vec![Part::text(text)]));
        source.truncate(3);
        source.push(Event::Fault(fault.clone()));
        for event in source {
            filter.push(event, &mut events);
        }
        law::check(&events).unwrap();
        let told = events.iter().filter_map(|event| match event {
            Event::PartDelta {
                delta: Delta::Text(text) | Delta::Reasoning { text, .. }, ..
            } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(told.collect::<String>(), said);
    }
}

fn chat_body(text: &str) -> Json {
    let text = Json::from(text).compact();
    Json::parse(&format!(
        r#"{{"id":"x","object":"chat.completion","created":1,"model":"qwen3","choices":[
            {{"index":0,"message":{{"role":"assistant","content":{text}}},"finish_reason":"stop"}}]}}"#
    ))
    .unwrap()
}

fn chat_stream(pieces: &[&str]) -> String {
    let chunks = pieces.iter().map(|piece| {
        let piece = Json::from(*piece).compact();
        format!(
            "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"qwen3\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{piece}}},\"finish_reason\":null}}]}}\n\n"
        )
    });
    let mut text: String = chunks.collect();
    text.push_str(
        "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"qwen3\",\
         \"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    text
}

/// The reply that an Anthropic client receives, whole and streamed.
fn translated(from: &dyn ChatCodec, options: &Options) -> [(Option<String>, String); 2] {
    let to = dialect::codec(Dialect::Anthropic).unwrap();
    let translator = Translator::new(from, to, options);
    let body = chat_body("<think>\nhm\n</think>\n\nyes");
    let whole = translator.response(WireReply::ok(body)).unwrap().value;
    let whole = to.decode_response(whole).unwrap();
    let mut bytes = Vec::new();
    let mut stream = translator.stream();
    let source = chat_stream(&["<thi", "nk>\nh", "m\n</", "think>\n", "\nye", "s"]);
    stream.push(source.as_bytes(), &mut bytes).unwrap();
    stream.finish(&mut bytes).unwrap();
    let streamed = join(fixtures::events(to, &bytes)).unwrap();
    [whole, streamed].map(|response| (response.reasoning(), response.text()))
}

#[test]
fn think_tags_are_reasoning_for_vendors_of_open_models_and_not_for_openai() {
    let separated = (Some("hm".to_owned()), "yes".to_owned());
    let left = (None, "<think>\nhm\n</think>\n\nyes".to_owned());
    for id in ["vllm", "lmstudio", "siliconflow", "qwen", "groq", "together", "fireworks"] {
        let codec = &vendors::find(id).unwrap().codec;
        assert!(codec.has_think_tags(), "{id}");
        let both = translated(codec, &Options::default());
        assert_eq!(both, [separated.clone(), separated.clone()], "{id}");
        let off = Options { think_tags: Some(false), ..Options::default() };
        assert_eq!(translated(codec, &off), [left.clone(), left.clone()], "{id}");
    }
    let openai = dialect::codec(Dialect::OpenaiChat).unwrap();
    assert_eq!(translated(openai, &Options::default()), [left.clone(), left]);
    let on = Options { think_tags: Some(true), ..Options::default() };
    assert_eq!(translated(openai, &on), [separated.clone(), separated]);
    let mut tagged = fixtures::codecs();
    tagged.retain(|codec| codec.has_think_tags());
    let tagged: Vec<Dialect> = tagged.iter().map(|codec| codec.dialect()).collect();
    assert_eq!(tagged, [Dialect::Ollama]);
}

#[test]
fn think_tags_are_reasoning_for_ollama() {
    let body = r#"{"model":"qwen3","created_at":"2026-11-15T00:00:00Z","message":{"role":"assistant",
        "content":"<think>hm</think>yes"},"done":true,"done_reason":"stop"}"#;
    let (from, to) =
        (dialect::codec(Dialect::Ollama).unwrap(), dialect::codec(Dialect::Gemini).unwrap());
    let options = Options::default();
    let body = Json::parse(body).unwrap();
    let translated = Translator::new(from, to, &options).response(WireReply::ok(body)).unwrap();
    let response = to.decode_response(translated.value).unwrap();
    assert_eq!((response.reasoning().as_deref(), response.text().as_str()), (Some("hm"), "yes"));
}
