//! Reasoning that a client's dialect cannot carry returns to its vendor bit for bit, and to no
//! other vendor.

use std::sync::Arc;

use toolwright_core::profile::OutcomeCarrier;
use toolwright_core::{
    Body, Call, Event, Fault, FaultClass, Json, Message, Outcome, Part, Request, Response, Role,
    Tool, object,
};
use toolwright_dialects::dialect::ConversationDigest;
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, Target, WireReply, WireRequest, lookup,
};
use toolwright_dialects::fit::alias::is_legal_id;
use toolwright_dialects::reasoning_cache::{CachedReasoning, CallKey};
use toolwright_dialects::translate::{Options, Report, Translator};

use crate::fixtures;

/// The vendors that require reasoning or signatures in the next request.
const VENDORS: [Dialect; 6] = [
    Dialect::Anthropic,
    Dialect::Bedrock,
    Dialect::Gemini,
    Dialect::OpenaiResponses,
    Dialect::Deepseek,
    Dialect::Mistral,
];

fn codec(dialect: Dialect) -> &'static dyn ChatCodec {
    dialect::codec(dialect).unwrap()
}

fn codecs() -> impl Iterator<Item = &'static dyn ChatCodec> {
    fixtures::codecs().into_iter()
}

fn context() -> ReplyContext {
    ReplyContext { id: Some("exchange-1".into()), ..ReplyContext::default() }
}

/// A vendor's whole reply, with a signature where the recorded one has none.
fn reply(vendor: Dialect) -> Json {
    let mut body = fixtures::json(vendor, "synthetic/matrix_response.json");
    if vendor == Dialect::Mistral {
        let text =
            body.compact().replacen(r#""thinking":["#, r#""signature":"bWlz+/==","thinking":["#, 1);
        body = Json::parse(&text).unwrap();
    }
    body
}

/// A vendor's reply as a stream, with a signature where the recorded one has none.
fn stream(vendor: Dialect) -> Vec<u8> {
    let bytes = fixtures::matrix_stream(vendor);
    if vendor != Dialect::Mistral {
        return bytes;
    }
    let text = String::from_utf8(bytes).unwrap();
    // The signature comes with the last text delta.
    let mark = r#"{"type":"thinking","#;
    let (before, after) = text.rsplit_once(mark).unwrap();
    format!(r#"{before}{mark}"signature":"bWlz+/==",{after}"#).into_bytes()
}

/// What a client holds after a reply, and the reasoning that was cached.
struct Received {
    message: Message,
    cached: Option<Arc<CachedReasoning>>,
}

fn received_reply(vendor: &dyn ChatCodec, client: &dyn ChatCodec, body: Json) -> Received {
    let (options, context) = (Options::default(), context());
    let translator = Translator::new(vendor, client, &options).with_reply_context(&context);
    let translated = translator.response(WireReply::ok(body)).unwrap();
    let response = client.decode_response(translated.value).unwrap();
    Received { message: response.message(), cached: translated.report.cached_reasoning }
}

fn received_stream(vendor: &dyn ChatCodec, client: &dyn ChatCodec, bytes: &[u8]) -> Received {
    let (options, context) = (Options::default(), context());
    let translator = Translator::new(vendor, client, &options).with_reply_context(&context);
    let mut translator = translator.stream();
    let mut out = Vec::new();
    translator.push(bytes, &mut out).unwrap();
    translator.finish(&mut out).unwrap();
    let events = fixtures::events(client, &out);
    let message = toolwright_core::event::join::join(events).unwrap().message();
    Received { message, cached: translator.report().cached_reasoning }
}

/// Receives a reply whole and as a stream.
fn received(vendor: Dialect, client: &dyn ChatCodec) -> [Received; 2] {
    let from = codec(vendor);
    [received_reply(from, client, reply(vendor)), received_stream(from, client, &stream(vendor))]
}

/// Whether a client sends back the reasoning that it was shown.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shown {
    Echoed,
    Forgotten,
}

/// The client's next request in its own dialect: the reply that it received, and the outcomes of
/// the calls.
fn next(client: &dyn ChatCodec, received: &Received, shown: Shown) -> WireRequest {
    let mut said = received.message.clone();
    if shown == Shown::Forgotten {
        said.parts.retain(|part| !matches!(part.body, Body::Reasoning(_)));
    }
    let calls: Vec<Call> = said.calls().cloned().collect();
    let profile = client.profile(&Target::default());
    let outcomes: Vec<Part> = calls
        .iter()
        .map(|call| {
            let name = profile.outcome.name.then(|| call.name.clone());
            let content = vec![Part::text("21")];
            let call_id = call.id.clone();
            Part::outcome(Outcome { call_id, name, content, ..Outcome::default() })
        })
        .collect();
    let mut messages = vec![Message::user("Wie warm ist es?"), said];
    match profile.turns.outcomes {
        OutcomeCarrier::UserTurn => messages.push(Message::new(Role::User, outcomes)),
        OutcomeCarrier::OwnMessage => {
            messages.extend(outcomes.into_iter().map(|own| Message::new(Role::Tool, vec![own])));
        }
    }
    let tool = |call: &Call| Tool::function(&call.name, Json::Object(object! {"type": "object"}));
    let tools = calls.iter().map(tool).collect();
    let request = Request { model: Some("m".into()), messages, tools, ..Request::default() };
    client.encode_request(request)
}

fn find(cached: Option<&Arc<CachedReasoning>>) -> impl Fn(&Call) -> Option<Arc<CachedReasoning>> {
    move |call| cached.filter(|own| own.keys().any(|key| Some(key) == CallKey::of(call))).cloned()
}

/// Returns the request that a vendor receives.
fn sent(
    client: &dyn ChatCodec,
    vendor: &dyn ChatCodec,
    wire: WireRequest,
    cached: Option<&Arc<CachedReasoning>>,
) -> (Json, Report) {
    let options = Options::default();
    let translator = Translator::new(client, vendor, &options);
    let mut request = translator.read(wire).unwrap();
    translator.reinject(&mut request, find(cached));
    let translated = translator.send(request).unwrap();
    (translated.value.body, translated.report)
}

/// The reasoning and the signatures of parts, in order, with the calls between them.
fn proofs(parts: &[Part]) -> Vec<(String, Option<String>)> {
    let proof = |part: &Part| {
        let what = match &part.body {
            Body::Reasoning(own) => format!("{own:?}"),
            Body::Call(call) => call.name.clone(),
            _ if part.signature.is_some() => "words".to_owned(),
            _ => return None,
        };
        Some((what, part.signature.as_ref().map(|own| own.value.clone())))
    };
    parts.iter().filter_map(proof).collect()
}

fn turn(vendor: &dyn ChatCodec, body: Json) -> Vec<Part> {
    let wire = WireRequest { body, ..WireRequest::default() };
    let request = vendor.decode_request(wire).unwrap();
    let turns = request.messages.into_iter().filter(|own| own.role == Role::Assistant);
    turns.flat_map(|own| own.parts).collect()
}

fn returns_to(vendor: Dialect) {
    let from = codec(vendor);
    let answer: Response = from.decode_response(WireReply::ok(reply(vendor))).unwrap();
    let made = proofs(&answer.parts);
    let secrets: Vec<&String> = made.iter().filter_map(|(_, own)| own.as_ref()).collect();
    assert_eq!(secrets.is_empty(), vendor == Dialect::Deepseek, "{made:?}");
    for client in codecs().filter(|own| !own.dialect().shares_signatures(vendor)) {
        for (received, shown) in received(vendor, client)
            .iter()
            .flat_map(|received| [(received, Shown::Echoed), (received, Shown::Forgotten)])
        {
            let case = format!("{vendor} for {} ({shown:?})", client.dialect());
            assert!(received.cached.is_some(), "{case}: nothing was cached");
            let wire = next(client, received, shown);
            for secret in &secrets {
                assert!(!wire.body.compact().contains(*secret), "{case}: the client has it");
            }
            let (body, report) = sent(client, from, wire.clone(), received.cached.as_ref());
            assert_eq!(proofs(&turn(from, body.clone())), made, "{case}: {}", body.pretty());
            assert!(!report.to_json().compact().contains("switched off"), "{case}");
            for other in codecs().filter(|own| !own.dialect().shares_signatures(vendor)) {
                let wire = next(client, received, Shown::Forgotten);
                let (with, _) = sent(client, other, wire.clone(), received.cached.as_ref());
                let (without, _) = sent(client, other, wire, None);
                assert_eq!(with, without, "{case}: {} gets it", other.dialect());
            }
        }
    }
}

#[test]
fn gemini_gets_its_signatures_back() {
    returns_to(Dialect::Gemini);
}

#[test]
fn anthropic_gets_its_thinking_back() {
    returns_to(Dialect::Anthropic);
}

#[test]
fn bedrock_gets_its_thinking_back() {
    returns_to(Dialect::Bedrock);
}

#[test]
fn responses_get_their_encrypted_reasoning_back() {
    returns_to(Dialect::OpenaiResponses);
}

#[test]
fn mistral_gets_its_thinking_back() {
    returns_to(Dialect::Mistral);
}

#[test]
fn deepseek_gets_the_thinking_that_a_client_forgot() {
    returns_to(Dialect::Deepseek);
}

/// The request that a vendor receives from a Chat Completions client, after a reply in the vendor's
/// dialect.
fn after(vendor: Dialect, answer: &str) -> Json {
    let client = codec(Dialect::OpenaiChat);
    let received = received_reply(codec(vendor), client, Json::parse(answer).unwrap());
    let wire = next(client, &received, Shown::Echoed);
    sent(client, codec(vendor), wire, received.cached.as_ref()).0
}

#[test]
fn the_signature_is_on_the_first_call() {
    let body = after(
        Dialect::Gemini,
        r#"{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[
            {"text":"Hm.","thought":true},
            {"text":"Moment.","thoughtSignature":"QUE="},
            {"functionCall":{"name":"a","args":{"n":1e400}},"thoughtSignature":"QkI="},
            {"functionCall":{"name":"b","args":{}}},
            {"text":"","thoughtSignature":"Q0M="}]}}]}"#,
    );
    let parts = body.pointer("/contents/1/parts").and_then(Json::as_array).unwrap();
    let seen: Vec<_> = parts.iter().map(|part| part.get("thoughtSignature")?.as_str()).collect();
    assert_eq!(seen, [None, Some("QUE="), Some("QkI="), None, Some("Q0M=")], "{body}");
    assert_eq!(parts[0].get("thought"), Some(&true.into()));
    assert_eq!(parts[2].pointer("/functionCall/name"), Some(&"a".into()));
}

#[test]
fn call_ids_that_mistral_clients_would_replace_are_replaced_and_cached() {
    let client = codec(Dialect::Mistral);
    let rule = client.profile(&Target::default()).ids;
    for vendor in VENDORS.into_iter().filter(|own| *own != Dialect::Mistral) {
        for received in received(vendor, client) {
            let ids: Vec<&str> =
                received.message.calls().filter_map(|call| call.id.as_deref()).collect();
            assert!(!ids.is_empty() && ids.iter().all(|id| is_legal_id(&rule, id)), "{ids:?}");
            let cached = received.cached.unwrap();
            assert_eq!(cached.ids().collect::<Vec<_>>(), ids, "{vendor}");
        }
    }
}

#[test]
fn generated_ids_differ_from_exchange_to_exchange() {
    let body = r#"{"candidates":[{"content":{"role":"model","parts":[
        {"functionCall":{"name":"a","args":{}},"thoughtSignature":"QkI="},
        {"functionCall":{"name":"a","args":{}}}]}}]}"#;
    let ids = |id: &str| {
        let context = ReplyContext { id: Some(id.into()), ..ReplyContext::default() };
        let options = Options::default();
        let (from, to) = (codec(Dialect::Gemini), codec(Dialect::Anthropic));
        let wire = WireReply::ok(Json::parse(body).unwrap());
        let back = Translator::new(from, to, &options).with_reply_context(&context);
        let wire = back.response(wire).unwrap().value;
        let calls = to.decode_response(wire).unwrap().message();
        calls.calls().map(|call| call.id.clone().unwrap()).collect::<Vec<String>>()
    };
    let all = [ids("one"), ids("two")].concat();
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{all:?}");
    assert_eq!(ids("one"), ids("one"));
}

#[test]
fn thinking_is_first_in_its_turn_and_keeps_its_order() {
    let body = after(
        Dialect::Anthropic,
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use",
            "stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1},"content":[
            {"type":"thinking","thinking":"","signature":"AA+/=="},
            {"type":"redacted_thinking","data":"BB=="},
            {"type":"text","text":"Moment."},
            {"type":"tool_use","id":"toolu_1","name":"a","input":{"x":1}},
            {"type":"thinking","thinking":"Weiter.","signature":"CC=="},
            {"type":"tool_use","id":"toolu_2","name":"b","input":{}}]}"#,
    );
    let content = body.pointer("/messages/1/content").unwrap();
    let expected = r#"[{"type":"thinking","thinking":"","signature":"AA+/=="},
        {"type":"redacted_thinking","data":"BB=="},
        {"type":"text","text":"Moment."},
        {"type":"tool_use","id":"toolu_1","name":"a","input":{"x":1}},
        {"type":"thinking","thinking":"Weiter.","signature":"CC=="},
        {"type":"tool_use","id":"toolu_2","name":"b","input":{}}]"#;
    assert!(content.same(&Json::parse(expected).unwrap()), "{}", content.pretty());
}

#[test]
fn reasoning_is_placed_before_the_item_that_it_led_to() {
    let body = after(
        Dialect::OpenaiResponses,
        r#"{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
            {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"AA=="},
            {"type":"function_call","id":"fc_1","call_id":"call_1","name":"a","arguments":"{}"},
            {"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"Hm."}],
             "encrypted_content":"BB=="},
            {"type":"function_call","id":"fc_2","call_id":"call_2","name":"b","arguments":"{}"}]}"#,
    );
    let items = body.get("input").and_then(Json::as_array).unwrap();
    let field = |item: &Json, key: &str| item.get(key).and_then(Json::as_str).map(str::to_owned);
    let ids: Vec<_> = items.iter().filter_map(|item| field(item, "id")).collect();
    assert_eq!(ids, ["rs_1", "fc_1", "rs_2", "fc_2"], "{}", body.pretty());
    let sealed: Vec<_> = items.iter().filter_map(|item| field(item, "encrypted_content")).collect();
    assert_eq!(sealed, ["AA==", "BB=="]);
}

#[test]
fn a_message_restored_by_its_id_has_its_status() {
    let body = after(
        Dialect::OpenaiResponses,
        r#"{"id":"resp_1","object":"response","status":"completed","model":"m","output":[
            {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"AA=="},
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[
             {"type":"output_text","text":"Moment.","annotations":[],"logprobs":[]}]},
            {"type":"function_call","id":"fc_1","call_id":"call_1","name":"a","arguments":"{}"}]}"#,
    );
    let items = body.get("input").and_then(Json::as_array).unwrap();
    let by_id = |id: &str| items.iter().find(|item| item.get("id") == Some(&Json::from(id)));
    let message = by_id("msg_1").unwrap_or_else(|| panic!("{}", body.pretty()));
    assert_eq!(message.get("status"), Some(&Json::from("completed")));
}

#[test]
fn vendors_with_repeating_call_ids_get_the_thinking_of_the_same_conversation() {
    let kimi = lookup("moonshot").unwrap();
    let client = codec(Dialect::Anthropic);
    let answer = |thought: &str, city: &str| {
        let call = object! {"name": "get_weather", "arguments": format!(r#"{{"city":"{city}"}}"#)};
        let call = object! {"id": "functions.get_weather:0", "type": "function", "function": call};
        let message = object! {
            "role": "assistant", "content": "", "reasoning_content": thought,
            "tool_calls": vec![call],
        };
        let choice = object! {"index": 0, "message": message, "finish_reason": "tool_calls"};
        let body = object! {"id": "c", "model": "kimi-k2.6", "choices": vec![choice]};
        received_reply(kimi, client, Json::Object(body))
    };
    let conversations = [answer("Hm, Paris.", "Paris"), answer("Hm, Rom.", "Rome")];
    let options = Options::default();
    let translator = Translator::new(client, kimi, &options);
    for (received, thought) in conversations.iter().zip(["Hm, Paris.", "Hm, Rom."]) {
        let mut request = translator.read(next(client, received, Shown::Forgotten)).unwrap();
        request.model = Some("kimi-k2.6".into());
        translator.reinject(&mut request, |call| {
            conversations.iter().find_map(|received| find(received.cached.as_ref())(call))
        });
        let body = translator.send(request).unwrap().value.body;
        let echoed = body.pointer("/messages/1/reasoning_content");
        assert_eq!(echoed, Some(&thought.into()), "{}", body.pretty());
    }
}

#[test]
fn reasoning_is_not_reinjected_into_a_different_turn() {
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    let received = received_reply(vendor, client, reply(Dialect::Anthropic));
    let wire = next(client, &received, Shown::Forgotten);
    let text = wire.body.compact();
    let calls: Vec<&Call> = received.message.calls().collect();
    let [first, second] = calls.as_slice() else { panic!("{calls:?}") };
    let damages = [
        (first.id.clone().unwrap(), "other".to_owned()),
        (format!(r#""name":"{}""#, second.name), r#""name":"other""#.to_owned()),
    ];
    for (from, to) in damages {
        let other = text.replace(&from, &to);
        assert_ne!(other, text);
        let wire = WireRequest { body: Json::parse(&other).unwrap(), ..wire.clone() };
        // A lookup that ignores part of the key must fail here.
        let cached = received.cached.clone();
        let options = Options::default();
        let translator = Translator::new(client, vendor, &options);
        let mut request = translator.read(wire).unwrap();
        let before = request.clone();
        translator.reinject(&mut request, |_| cached.clone());
        assert_eq!(request, before, "{to}");
    }
}

#[test]
fn thinking_returns_although_the_client_normalised_the_arguments() {
    for vendor in [Dialect::Anthropic, Dialect::Gemini, Dialect::Bedrock] {
        let client = codec(Dialect::OpenaiChat);
        for received in received(vendor, client) {
            let mut wire = next(client, &received, Shown::Forgotten);
            let text = wire.body.compact().replace("Paris", r#"Paris\",\"replace_all\":\"no"#);
            assert_ne!(text, wire.body.compact());
            wire.body = Json::parse(&text).unwrap();
            let options = Options::default();
            let translator = Translator::new(client, codec(vendor), &options);
            let cached = received.cached.clone().unwrap();
            let by_id = |call: &Call| {
                let key = CallKey::without_arguments(call)?;
                cached.keys_without_arguments().any(|own| own == key).then(|| cached.clone())
            };
            let mut request = translator.read(wire).unwrap();
            let before = request.clone();
            translator.reinject(&mut request, by_id);
            assert_ne!(request, before, "{vendor}");
        }
    }
}

#[test]
fn every_call_of_a_reply_must_match_it() {
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    let received = received_reply(vendor, client, reply(Dialect::Anthropic));
    let mut wire = next(client, &received, Shown::Forgotten);
    wire.body = Json::parse(&wire.body.compact().replace("Paris", "Rome")).unwrap();
    let options = Options::default();
    let translator = Translator::new(client, vendor, &options);
    let mut request = translator.read(wire).unwrap();
    let before = request.clone();
    // A lookup that also compares arguments does not find the call, because they differ.
    translator.reinject(&mut request, find(received.cached.as_ref()));
    assert_eq!(request, before);
}

#[test]
fn a_turn_in_several_messages_is_one_turn() {
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    let received = received_reply(vendor, client, reply(Dialect::Anthropic));
    let options = Options::default();
    let translator = Translator::new(client, vendor, &options);
    let mut request = translator.read(next(client, &received, Shown::Forgotten)).unwrap();
    let calls = request.messages[1].parts.split_off(1);
    let hello =
        vec![Message::assistant("Hello."), Message::user("Hi."), Message::assistant("Yes?")];
    request.messages.splice(0..0, hello);
    request.messages.remove(3);
    request.messages.insert(4, Message::new(Role::Assistant, calls));
    translator.reinject(&mut request, find(received.cached.as_ref()));
    let kinds = |message: &Message| {
        let kind = |part: &Part| match &part.body {
            Body::Text(_) => "text",
            Body::Reasoning(_) => "thinking",
            Body::Call(_) => "call",
            _ => "other",
        };
        message.parts.iter().map(kind).collect::<Vec<_>>()
    };
    let turn: Vec<_> = request.messages[2..5].iter().map(kinds).collect();
    assert_eq!(turn, [vec!["text"], vec!["thinking", "text"], vec!["call", "call"]]);
}

#[test]
fn a_signature_sent_by_the_client_stays() {
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    let received = received_reply(vendor, client, reply(Dialect::Anthropic));
    let own = vendor.decode_response(WireReply::ok(reply(Dialect::Anthropic))).unwrap();
    let mut request = Request { messages: vec![own.message()], ..Request::default() };
    let before = request.clone();
    let options = Options::default();
    Translator::new(vendor, vendor, &options)
        .reinject(&mut request, find(received.cached.as_ref()));
    assert_eq!(request, before);
}

#[test]
fn nothing_is_cached_where_nothing_is_lost() {
    let cached = |vendor: Dialect, client: Dialect| {
        received(vendor, codec(client)).map(|received| received.cached.is_some())
    };
    for dialect in fixtures::codecs().iter().map(|own| own.dialect()) {
        assert_eq!(cached(dialect, dialect), [false; 2], "{dialect}");
    }
    assert_eq!(cached(Dialect::Anthropic, Dialect::Bedrock), [false; 2]);
    assert_eq!(cached(Dialect::Bedrock, Dialect::Anthropic), [false; 2]);
    for vendor in [Dialect::OpenaiChat, Dialect::Ollama, Dialect::Cohere] {
        assert_eq!(cached(vendor, Dialect::Anthropic), [false; 2], "{vendor}");
    }
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    for thoughtless in ["accepted/anthropic_final.json", "accepted/anthropic_refusal.json"] {
        let body = fixtures::json(Dialect::Anthropic, thoughtless);
        assert!(received_reply(vendor, client, body).cached.is_none(), "{thoughtless}");
    }
}

#[test]
fn a_broken_reply_is_not_cached() {
    let (options, context) = (Options::default(), context());
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::OpenaiChat));
    let back = Translator::new(vendor, client, &options).with_reply_context(&context);
    let mut translator = back.stream();
    let mut events = fixtures::events(vendor, &stream(Dialect::Anthropic));
    assert_eq!(events.pop(), Some(Event::End));
    let mut out = Vec::new();
    translator.write(events.clone(), &mut out);
    assert!(translator.report().cached_reasoning.is_none());
    events.push(Event::Fault(Fault::new(FaultClass::Internal, "gone")));
    let mut translator = back.stream();
    translator.write(events, &mut out);
    assert!(translator.report().cached_reasoning.is_none());
}

#[test]
fn cached_reasoning_is_not_printed() {
    for vendor in VENDORS {
        let client = codec(Dialect::Cohere);
        let [whole, stream] = received(vendor, client).map(|received| received.cached.unwrap());
        assert!(!format!("{whole:?}").contains("天气"), "{whole:?}");
        assert!(whole.size() > 100 && stream.size() > 100);
    }
}

/// The request that a vendor receives from a client that sends calls back without ids, after a
/// conversation.
fn nameless(before: &[Message], later: &[Message]) -> Json {
    let (vendor, client) = (codec(Dialect::Anthropic), codec(Dialect::Ollama));
    let tool = Tool::function("f", Json::Object(object! {"type": "object"}));
    let request = |messages: &[Message]| Request {
        model: Some("m".into()),
        messages: messages.to_vec(),
        tools: vec![tool.clone()],
        ..Request::default()
    };
    let conversation = Some(ConversationDigest::of(&request(before)));
    let context = ReplyContext { conversation, ..ReplyContext::default() };
    let options = Options::default();
    let back = Translator::new(vendor, client, &options).with_reply_context(&context);
    let cached =
        back.response(WireReply::ok(reply(Dialect::Anthropic))).unwrap().report.cached_reasoning;
    let cached = cached.unwrap();
    let translator = Translator::new(client, vendor, &options);
    let wire = client.encode_request(request(later));
    assert!(!wire.body.compact().contains("toolu"), "{}", wire.body.pretty());
    let mut request = translator.read(wire).unwrap();
    translator.reinject(&mut request, |call| {
        let key = CallKey::of(call)?;
        let known =
            cached.keys_without_ids().any(|(id, own)| call.id.as_ref() == Some(&id) && own == key);
        known.then(|| cached.clone())
    });
    translator.send(request).unwrap().value.body
}

#[test]
fn calls_without_ids_are_identified_by_the_conversation_before_them() {
    let vendor = codec(Dialect::Anthropic);
    let answer = vendor.decode_response(WireReply::ok(reply(Dialect::Anthropic))).unwrap();
    let mut said = answer.message();
    said.parts.retain(|part| !matches!(part.body, Body::Reasoning(_)));
    for part in &mut said.parts {
        if let Body::Call(call) = &mut part.body {
            call.id = None;
        }
    }
    let names: Vec<String> = said.calls().map(|call| call.name.clone()).collect();
    let results = names.iter().map(|name| {
        let content = vec![Part::text("21")];
        Message::tool(Outcome { name: Some(name.clone()), content, ..Outcome::default() })
    });
    let turn: Vec<Message> = [said].into_iter().chain(results).collect();
    let asked = vec![Message::system("now"), Message::user("Wie warm ist es?")];
    let later = |first: &[Message]| [first, &turn].concat();
    let kinds = |body: &Json, at: usize| {
        let content = body.pointer(&format!("/messages/{at}/content")).unwrap();
        let kind = |block: &Json| block.pointer("/type").unwrap().as_str().unwrap().to_owned();
        content.as_array().unwrap().iter().map(kind).collect::<Vec<_>>().join(" ")
    };
    let body = nameless(&asked, &later(&asked));
    assert!(kinds(&body, 1).starts_with("thinking"), "{}", body.pretty());
    // System instructions may change.
    let other = [Message::system("later"), asked[1].clone()];
    assert!(kinds(&nameless(&asked, &later(&other)), 1).starts_with("thinking"));
    // The same calls after a different message belong to another conversation.
    let other = [asked[0].clone(), Message::user("Wie kalt ist es?")];
    let body = nameless(&asked, &later(&other));
    assert!(!kinds(&body, 1).contains("thinking"), "{}", body.pretty());
    // The same calls again, later in the conversation: only one of the two turns matches.
    let twice = [later(&asked), vec![Message::user("And now?")]].concat();
    let body = nameless(&twice, &later(&twice));
    assert!(!kinds(&body, 1).contains("thinking"), "{}", body.pretty());
    assert!(kinds(&body, 3).starts_with("thinking"), "{}", body.pretty());
}
