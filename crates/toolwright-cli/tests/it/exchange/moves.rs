//! Conversations that move from vendor to vendor. The client speaks OpenAI's dialect, which cannot
//! carry reasoning: it sends back only calls and results.

use std::collections::BTreeSet;

use toolwright_core::{Json, object};

use super::fold::{self, Folded};
use crate::gateway::vendor::vendor;
use crate::gateway::{Gateway, Received, Reply, Upstream, at, items_at, table, text_at};

/// A client with its conversation.
struct Talk<'g> {
    gateway: &'g Gateway,
    messages: Vec<Json>,
    tools: Json,
    stream: bool,
}

impl<'g> Talk<'g> {
    fn new(gateway: &'g Gateway, stream: bool) -> Talk<'g> {
        let own = vendor("openai-chat").request(false);
        let tools = at(&Json::parse(&own.body).unwrap(), "/tools");
        let user = object! {"role": "user", "content": "北京天气与航班？"};
        Talk { gateway, messages: vec![Json::Object(user)], tools, stream }
    }

    /// One turn: sends the request, and appends the reply and the results of its calls to the
    /// conversation.
    fn turn(&mut self, model: &str) -> Folded {
        let body = object! {
            "model": model,
            "stream": self.stream,
            "max_completion_tokens": 2048_u64,
            "messages": self.messages.clone(),
            "tools": self.tools.clone(),
        };
        let body = body.compact();
        let answer = self.gateway.ask_json("/v1/chat/completions", &body).ok();
        let folded = fold::chat(&answer);
        self.messages.push(folded.message());
        self.messages.extend(folded.results());
        folded
    }
}

/// The signature in Anthropic's recording.
const SIGNED: &str = "EqQBCgIYAhIkOpaqueSignature==";
const HIDDEN: &str = "EmwKAhgBEgyRedacted==";
/// The signature in Gemini's recording.
const THOUGHT: &str = "b3BhcXVlLXRob3VnaHQtc2lnbmF0dXJl";

/// The blocks of an assistant message in Anthropic's dialect.
fn blocks(received: &Received, message: usize) -> Vec<Json> {
    let message = at(&received.json(), &format!("/messages/{message}"));
    assert_eq!(text_at(&message, "/role"), "assistant", "{}", received.text());
    items_at(&message, "/content")
}

fn kinds(blocks: &[Json]) -> Vec<String> {
    blocks.iter().map(|block| text_at(block, "/type")).collect()
}

/// Anthropic's rules for a conversation: roles alternate, ids have legal characters and are unique,
/// and each call has its result in the next message.
fn is_legal_for_anthropic(received: &Received) {
    let messages = items_at(&received.json(), "/messages");
    let mut due: BTreeSet<String> = BTreeSet::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(text_at(message, "/role"), expected, "{}", received.text());
        let content = at(message, "/content");
        for block in content.as_array().unwrap_or_default() {
            match text_at(block, "/type").as_str() {
                "tool_use" => {
                    let id = text_at(block, "/id");
                    let legal = |own: char| own.is_ascii_alphanumeric() || "_-".contains(own);
                    assert!(id.chars().all(legal), "{id}");
                    assert!(used.insert(id.clone()), "ids are unique: {}", received.text());
                    due.insert(id);
                }
                "tool_result" => {
                    assert!(due.remove(&text_at(block, "/tool_use_id")), "{}", received.text());
                }
                _ => {}
            }
        }
        assert!(expected == "assistant" || due.is_empty(), "{due:?} {}", received.text());
    }
}

#[test]
fn a_conversation_moves_and_every_signature_returns_only_to_its_vendor() {
    let (claude, google) = (vendor("anthropic"), vendor("gemini"));
    for stream in [false, true] {
        let anthropic = Upstream::start([
            claude.reply(stream),
            claude.reply(stream),
            claude.final_reply(stream),
        ]);
        let gemini = Upstream::start([google.reply(stream), google.final_reply(stream)]);
        let tables = table("claude", claude.id, &anthropic) + &table("google", google.id, &gemini);
        let gateway = Gateway::start(&tables);
        let mut talk = Talk::new(&gateway, stream);

        let first = talk.turn("claude/claude-opus-5");
        assert_eq!(first.calls[0].id, "toolu_01A09q90qw90lq917835lq9");
        assert_eq!(first.stop, "tool_calls");

        // To Google: nothing of Anthropic's, and the placeholder that Google documents.
        let second = talk.turn("google/gemini-3.8-flash");
        let received = gemini.last();
        for foreign in [SIGNED, HIDDEN] {
            assert!(!received.text().contains(foreign), "{}", received.text());
        }
        let call = at(&received.json(), "/contents/1/parts");
        let call = call.as_array().unwrap().iter().find(|part| part.get("functionCall").is_some());
        let call = call.unwrap();
        assert_eq!(text_at(call, "/functionCall/name"), "get_weather");
        assert_eq!(text_at(call, "/thoughtSignature"), "skip_thought_signature_validator");
        let roles: Vec<String> = items_at(&received.json(), "/contents")
            .iter()
            .map(|own| text_at(own, "/role"))
            .collect();
        assert_eq!(roles, ["user", "model", "user"]);

        // Back to Anthropic: its reasoning, bit for bit and in its position; nothing of Google's.
        let third = talk.turn("claude/claude-opus-5");
        let received = anthropic.last();
        is_legal_for_anthropic(&received);
        assert!(!received.text().contains(THOUGHT), "{}", received.text());
        let own = blocks(&received, 1);
        assert_eq!(
            kinds(&own),
            ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"],
            "{}",
            received.text()
        );
        assert_eq!(text_at(&own[0], "/signature"), SIGNED);
        assert_eq!(text_at(&own[0], "/thinking"), "用户需要天气与航班。");
        assert_eq!(text_at(&own[1], "/data"), HIDDEN);
        let foreign = blocks(&received, 3);
        assert!(!kinds(&foreign).contains(&"thinking".to_owned()), "{}", received.text());
        assert_eq!(second.calls.len(), 2);

        // The recorded reply repeats its ids; in a conversation with repeated ids each result still
        // belongs to its own call.
        assert_eq!(third.calls.len(), 2);
        talk.turn("google/gemini-3.8-flash");
        talk.turn("claude/claude-opus-5");
        is_legal_for_anthropic(&anthropic.last());
        let received = gemini.last();
        assert!(!received.text().contains(SIGNED), "{}", received.text());
        let parts = at(&received.json(), "/contents/3/parts");
        let signed = parts.as_array().unwrap().iter().find(|part| {
            part.get("functionCall").is_some() && part.get("thoughtSignature").is_some()
        });
        assert_eq!(text_at(signed.unwrap(), "/thoughtSignature"), THOUGHT, "{}", received.text());
        assert_eq!(text_at(signed.unwrap(), "/functionCall/name"), "get_weather");
    }
}

#[test]
fn thinking_that_must_be_echoed_is_echoed_although_the_client_dropped_it() {
    let own = vendor("deepseek");
    for stream in [false, true] {
        let upstream = Upstream::start([own.reply(stream), own.final_reply(stream)]);
        let gateway = Gateway::start(&table("deep", own.id, &upstream));
        let mut talk = Talk::new(&gateway, stream);
        talk.turn("deep/deepseek-v4-flash");
        talk.turn("deep/deepseek-v4-flash");
        let thinking = at(&upstream.last().json(), "/messages/1/reasoning_content");
        let expected =
            at(&Json::parse_bytes(&own.calls()).unwrap(), "/choices/0/message/reasoning_content");
        let whole = expected.as_str().unwrap();
        assert!(whole.starts_with(thinking.as_str().unwrap()) || stream, "{}", thinking.compact());
        assert!(!thinking.as_str().unwrap().is_empty(), "{}", upstream.last().text());
    }
}

#[test]
fn a_client_gets_back_only_its_own_thinking() {
    use toolwright_gateway::key::KeyHash;
    let own = vendor("anthropic");
    let upstream =
        Upstream::start([own.reply(false), own.final_reply(false), own.final_reply(false)]);
    let client =
        |name: &str| format!("[keys.{name}]\nhash = \"{}\"\n", KeyHash::of(&format!("key-{name}")));
    let gateway =
        Gateway::start(&(table("up", own.id, &upstream) + &client("alice") + &client("bob")));
    let ask = |key: &str, messages: &[Json]| {
        let body = object! {"model": "up/m", "messages": messages.to_vec()}.compact();
        let answer =
            gateway.post("/v1/chat/completions", &[("toolwright-key", key)], body.as_bytes());
        fold::chat(&answer.ok())
    };
    let mut messages = vec![Json::Object(object! {"role": "user", "content": "hi"})];
    let first = ask("key-alice", &messages);
    messages.push(first.message());
    messages.extend(first.results());
    ask("key-bob", &messages);
    assert!(!upstream.last().text().contains(SIGNED), "{}", upstream.last().text());
    ask("key-alice", &messages);
    assert!(upstream.last().text().contains(SIGNED), "{}", upstream.last().text());
}

#[test]
fn thinking_returns_to_its_vendor_after_a_restart() {
    for (vendor, signed) in [
        ("anthropic", SIGNED),
        ("gemini", THOUGHT),
        ("openai-responses", "gAAAAABo-ENCRYPTED-opaque=="),
    ] {
        let own = crate::gateway::vendor::vendor(vendor);
        let upstream = Upstream::start([own.reply(false), own.final_reply(false)]);
        let config = table("up", own.id, &upstream);
        let gateway = Gateway::start(&config);
        let mut talk = Talk::new(&gateway, false);
        talk.turn("up/m");
        let messages = std::mem::take(&mut talk.messages);
        let gateway = gateway.restart(&config);
        let mut talk = Talk { messages, ..Talk::new(&gateway, false) };
        talk.turn("up/m");
        assert!(upstream.last().text().contains(signed), "{vendor}: {}", upstream.last().text());
    }
}

#[test]
fn ids_are_legal_for_each_vendor_and_results_stay_with_their_calls() {
    let ids = ["functions.get_weather:0", "call_W8xw01aZ", "a/b c+d=", &"x".repeat(80), "fc-7f3a"];
    for id in ["anthropic", "bedrock", "mistral", "openai-responses", "cohere"] {
        let target = vendor(id);
        let upstream = Upstream::start([target.final_reply(false)]);
        let gateway = Gateway::start(&table("up", id, &upstream));
        let calls = ids.map(|id| fold::Called {
            id: id.to_owned(),
            name: "get_weather".to_owned(),
            arguments: format!("{{\"city\":\"{}\"}}", id.len()),
        });
        let turn = Folded { calls: calls.to_vec(), ..Folded::default() };
        let mut messages = vec![Json::Object(object! {"role": "user", "content": "hi"})];
        messages.push(turn.message());
        for call in &turn.calls {
            messages.push(Json::Object(object! {
                "role": "tool", "tool_call_id": call.id.as_str(), "content": call.arguments.as_str(),
            }));
        }
        let body = object! {"model": "up/m", "messages": messages}.compact();
        gateway.ask_json("/v1/chat/completions", &body).ok();
        let document = upstream.last().json();
        let (called, answered) = pairs(id, &document);
        assert_eq!(called.len(), ids.len(), "{id} {}", document.compact());
        let distinct: BTreeSet<&String> = called.iter().map(|(id, _)| id).collect();
        assert_eq!(distinct.len(), ids.len(), "{id}: {called:?}");
        for (own, city) in &called {
            let (letters, longest) = match id {
                "anthropic" => ("_-", usize::MAX),
                "bedrock" => ("_.:-", 64),
                "mistral" => ("", 9),
                _ => continue,
            };
            let legal = own.chars().all(|one| one.is_ascii_alphanumeric() || letters.contains(one));
            assert!(legal && own.len() <= longest, "{id}: {own}");
            assert!(id != "mistral" || own.len() == 9, "{own}");
            let result = answered.iter().find(|(other, _)| other == own);
            assert!(
                result.is_some_and(|(_, text)| text.contains(city)),
                "{id} {called:?} {answered:?}"
            );
        }
    }
}

/// Ids, each with its content.
type Pairs = Vec<(String, String)>;

/// The ids of calls with their arguments, and of results with their texts, in each vendor's
/// dialect.
fn pairs(id: &str, document: &Json) -> (Pairs, Pairs) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let list = if id == "openai-responses" { "/input" } else { "/messages" };
    for message in items_at(document, list) {
        let text =
            |one: &Json, pointer: &str| (text_at(one, pointer), one.compact().replace('\\', ""));
        if message.get("call_id").is_some() {
            let which = if message.get("output").is_some() { &mut results } else { &mut calls };
            which.push(text(&message, "/call_id"));
        }
        if message.get("tool_call_id").is_some() {
            results.push(text(&message, "/tool_call_id"));
        }
        for call in at(&message, "/tool_calls").as_array().unwrap_or_default() {
            calls.push(text(call, "/id"));
        }
        for block in at(&message, "/content").as_array().unwrap_or_default() {
            if block.get("toolUse").is_some() {
                calls.push(text(block, "/toolUse/toolUseId"));
            } else if block.get("toolResult").is_some() {
                results.push(text(block, "/toolResult/toolUseId"));
            } else if at(block, "/type") == Json::from("tool_use") {
                calls.push(text(block, "/id"));
            } else if at(block, "/type") == Json::from("tool_result") {
                results.push(text(block, "/tool_use_id"));
            }
        }
    }
    let arguments = |(id, text): (String, String)| {
        let start = text.find("{\"city\":").map(|at| &text[at..]).unwrap_or_default().to_owned();
        (id, start.split('}').next().unwrap_or_default().to_owned())
    };
    (calls.into_iter().map(arguments).collect(), results)
}

/// A client that discards call ids, like Ollama's SDK for Python.
struct Nameless<'g> {
    gateway: &'g Gateway,
    messages: Vec<Json>,
    tools: Json,
}

impl<'g> Nameless<'g> {
    fn new(gateway: &'g Gateway, question: &str) -> Nameless<'g> {
        let own = vendor("ollama").request(false);
        let tools = at(&Json::parse(&own.body).unwrap(), "/tools");
        let user = object! {"role": "user", "content": question};
        Nameless { gateway, messages: vec![Json::Object(user)], tools }
    }

    fn turn(&mut self) {
        let body = object! {
            "model": "up/claude-opus-5",
            "stream": false,
            "messages": self.messages.clone(),
            "tools": self.tools.clone(),
        };
        let answer = self.gateway.ask_json("/api/chat", &body.compact()).ok();
        let message = at(&Json::parse_bytes(&answer.body).unwrap(), "/message");
        let calls = at(&message, "/tool_calls");
        let calls: Vec<Json> = calls.as_array().unwrap_or_default().to_vec();
        let bare: Vec<Json> = calls
            .iter()
            .map(|call| {
                let function = object! {
                    "name": at(call, "/function/name"),
                    "arguments": at(call, "/function/arguments"),
                };
                Json::Object(object! {"function": function})
            })
            .collect();
        let said = object! {
            "role": "assistant", "content": at(&message, "/content"), "tool_calls": bare,
        };
        self.messages.push(Json::Object(said));
        for call in &calls {
            let name = at(call, "/function/name");
            let result = object! {"role": "tool", "content": "ok", "tool_name": name};
            self.messages.push(Json::Object(result));
        }
    }
}

#[test]
fn a_client_without_ids_gets_its_thinking_back() {
    let own = vendor("anthropic");
    // The same calls each time, with new ids.
    let reply = |number: usize| {
        let body = String::from_utf8(own.calls()).unwrap();
        Reply::json(200, body.replace("toolu_0", &format!("toolu_{number}")))
    };
    let upstream = Upstream::start([reply(1), reply(2), reply(3), own.final_reply(false)]);
    let gateway = Gateway::start(&table("up", own.id, &upstream));
    let mut talk = Nameless::new(&gateway, "北京天气与航班？");
    talk.turn();
    talk.turn();
    let received = upstream.last();
    is_legal_for_anthropic(&received);
    let first = blocks(&received, 1);
    assert_eq!(text_at(&first[0], "/signature"), SIGNED, "{}", received.text());
    assert_eq!(kinds(&first)[..2], ["thinking", "redacted_thinking"]);
    let id = |block: &Json| at(block, "/id").as_str().map(str::to_owned);
    let ids = |blocks: &[Json]| blocks.iter().filter_map(id).collect::<Vec<_>>();
    // The same calls in another conversation, between two turns of this one.
    let mut other = Nameless::new(&gateway, "Und in Paris?");
    other.turn();
    assert_eq!(blocks_of(&upstream.last()), 0);
    talk.turn();
    let received = upstream.last();
    is_legal_for_anthropic(&received);
    let again = blocks(&received, 1);
    assert_eq!(ids(&again), ids(&first), "made ids are the same in every request");
    assert_eq!(again, first);
    assert_eq!(text_at(&blocks(&received, 3)[0], "/signature"), SIGNED, "{}", received.text());
}

/// The number of assistant messages in a request.
fn blocks_of(received: &Received) -> usize {
    let messages = items_at(&received.json(), "/messages");
    messages.iter().filter(|own| text_at(own, "/role") == "assistant").count()
}
