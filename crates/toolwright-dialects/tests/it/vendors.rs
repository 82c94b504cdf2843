//! DeepSeek and the vendor presets on OpenAI Chat.

use toolwright_core::event::split::split;
use toolwright_core::request::Thinking;
use toolwright_core::{Arguments, Body, Call, Json, Message, Part, Request, Response, Role};
use toolwright_dialects::dialect::vendors::{PRESETS, find};
use toolwright_dialects::dialect::{
    self, ChatCodec, Dialect, ReplyContext, Target, ToolCodec, WireReply, WireRequest, is_same,
    lookup,
};
use toolwright_dialects::translate::{self, Options, Translator};

use crate::{fixtures, spelling};

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// Decodes a request with a preset and asserts that it returns.
fn request(codec: &dyn ChatCodec, text: &str) -> Request {
    fixtures::request(codec, &json(text))
}

#[test]
fn codecs_are_distinct() {
    let dialects =
        Dialect::ALL.into_iter().filter(|each| dialect::codec(*each).is_some()).map(Dialect::id);
    let ids: Vec<&str> = dialects.chain(PRESETS.iter().map(|vendor| vendor.id)).collect();
    for one in &ids {
        for other in &ids {
            let same = is_same(lookup(one).unwrap(), lookup(other).unwrap());
            assert_eq!(same, one == other, "{one} and {other}");
        }
    }
}

#[test]
fn ids_of_dialects_and_vendors_are_looked_up() {
    for id in [
        "moonshot",
        "zhipu",
        "qwen",
        "groq",
        "openrouter",
        "xai",
        "vllm",
        "lmstudio",
        "openai-flat",
    ] {
        assert_eq!(lookup(id).unwrap().dialect(), Dialect::OpenaiChat, "{id}");
    }
    assert_eq!(lookup("deepseek").unwrap().dialect(), Dialect::Deepseek);
    assert_eq!(lookup("anthropic").unwrap().dialect(), Dialect::Anthropic);
    assert!(lookup("mcp").is_none());
    assert!(lookup("nobody").is_none());
}

#[test]
fn every_vendor_preset_is_complete() {
    let mut ids: Vec<&str> = PRESETS.iter().map(|vendor| vendor.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), PRESETS.len());
    for vendor in PRESETS {
        assert!(vendor.id.parse::<Dialect>().is_err(), "{}", vendor.id);
        let wire = vendor.codec.encode_request(Request::default());
        assert!(wire.path.ends_with("/chat/completions"), "{}", vendor.id);
        if let Some(base) = vendor.base_url {
            assert!(base.starts_with("http") && !base.ends_with("/v1"), "{}", vendor.id);
            assert_eq!(vendor.key_env.is_none(), base.starts_with("http://localhost"));
        }
        // Reasoning returns in the field of each preset, whole and streamed.
        let profile = vendor.codec.profile(&Target::default());
        assert!(profile.reasoning.replay && profile.reply.reasoning, "{}", vendor.id);
        let field = vendor.codec.quirks().reasoning;
        let reply = json(&format!(
            r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","{field}":"hm","content":"x"}},"finish_reason":"stop"}}]}}"#
        ));
        let response = vendor.codec.decode_response(WireReply::ok(reply.clone())).unwrap();
        assert!(matches!(response.parts[0].body, Body::Reasoning(_)), "{}", vendor.id);
        let again = vendor.codec.encode_response(response.clone(), &ReplyContext::default());
        spelling::assert_same(Dialect::OpenaiChat, vendor.id, &reply, &again.body);
        let mut encoder = vendor.codec.stream_encoder(&ReplyContext::default());
        let mut frames = Vec::new();
        for event in split(response) {
            encoder.encode(event, &mut frames);
        }
        let field = format!(r#""{field}":"hm""#);
        assert!(frames.iter().any(|frame| frame.data.contains(&field)), "{}", vendor.id);
    }
}

#[test]
fn thinking_is_switched_by_each_vendors_field() {
    let thinking = |enabled, effort: Option<&str>, budget: Option<u64>| {
        Some(Thinking {
            enabled,
            effort: effort.map(str::to_owned),
            budget: budget.map(Into::into),
            show: None,
        })
    };
    for (id, body, expected) in [
        (
            "deepseek",
            r#"{"messages":[],"thinking":{"type":"enabled"},"reasoning_effort":"max"}"#,
            thinking(Some(true), Some("max"), None),
        ),
        (
            "zhipu",
            r#"{"messages":[],"thinking":{"type":"disabled","clear_thinking":true}}"#,
            thinking(Some(false), None, None),
        ),
        ("moonshot", r#"{"messages":[],"thinking":{"type":"adaptive"}}"#, None),
        (
            "qwen",
            r#"{"messages":[],"enable_thinking":true,"thinking_budget":99}"#,
            thinking(Some(true), None, Some(99)),
        ),
        (
            "openrouter",
            r#"{"messages":[],"reasoning":{"effort":"high","max_tokens":9,"exclude":true}}"#,
            thinking(None, Some("high"), Some(9)),
        ),
        ("openai-chat", r#"{"messages":[],"thinking":{"type":"enabled"}}"#, None),
    ] {
        assert_eq!(request(lookup(id).unwrap(), body).thinking, expected, "{id}");
    }
}

#[test]
fn deepseek_gets_its_thinking_back() {
    let codec = dialect::codec(Dialect::Deepseek).unwrap();
    let rule = |model| codec.profile(&Target { model: Some(model), version: None }).reasoning;
    assert!(rule("deepseek-v4-flash").replay && rule("deepseek-v4-flash").must_echo);
    assert!(!rule("deepseek-reasoner").replay);
    let request = request(
        codec,
        r#"{"messages":[{"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"1"}]}"#,
    );
    assert!(matches!(request.messages[0].parts[0].body, Body::Reasoning(_)));
    // OpenAI itself has no field for reasoning, but its clients can read one.
    let openai = dialect::codec(Dialect::OpenaiChat).unwrap().profile(&Target::default());
    assert!(!openai.reasoning.replay && openai.reply.reasoning);
}

#[test]
fn deepseek_writes_an_empty_text_beside_calls_and_openai_writes_null() {
    let turn =
        Message::new(Role::Assistant, vec![Part::call(Call::new("a", "f", Arguments::none()))]);
    let request = Request { messages: vec![turn.clone()], ..Request::default() };
    let content = |dialect: Dialect| {
        let codec = dialect::codec(dialect).unwrap();
        let asked = codec.encode_request(request.clone()).body;
        let response = Response { parts: turn.parts.clone(), ..Response::default() };
        let answered = codec.encode_response(response, &ReplyContext::default()).body;
        let content = asked.pointer("/messages/0/content").unwrap().clone();
        assert_eq!(Some(&content), answered.pointer("/choices/0/message/content"));
        content
    };
    assert_eq!(content(Dialect::Deepseek), "".into());
    assert_eq!(content(Dialect::OpenaiChat), Json::Null);
}

/// Definitions as small projects write them by hand.
const GIT_STATUS: &str = r#"{"name":"git_status","description":"获取Git仓库状态","parameters":{"path":{"type":"string","description":"仓库路径，默认为当前目录","required":false}}}"#;

fn flat(definition: &str) -> Json {
    let codec = find("openai-flat").unwrap().codec;
    codec.encode_tool(&codec.decode_tool(json(definition)).unwrap())
}

#[test]
fn test_openai_tool_format_generation() {
    let expected = r#"{"type":"function","name":"git_status","description":"获取Git仓库状态","parameters":{"type":"object","properties":{"path":{"type":"string","description":"仓库路径，默认为当前目录"}},"required":[]}}"#;
    assert_eq!(flat(GIT_STATUS).to_string(), expected);
    // Flat tools beside chat messages, including the choice, decode to the same request.
    let codec = lookup("openai-flat").unwrap();
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],"tools":[{expected}],"tool_choice":{{"type":"function","name":"git_status"}}}}"#
    );
    let _ = request(codec, &body);
    // OpenAI's own format is nested, and accepts the flat one.
    let openai = dialect::codec(Dialect::OpenaiChat).unwrap();
    let nested = openai.encode_tool(&openai.decode_tool(json(expected)).unwrap());
    assert_eq!(nested.pointer("/function/name"), Some(&"git_status".into()));
    assert_eq!(nested.get("name"), None);
}

#[test]
fn test_openai_tool_parameter_type_mapping() {
    for kind in ["string", "array", "number", "integer", "boolean", "object"] {
        let definition =
            format!(r#"{{"name":"f","description":"F","parameters":{{"p":{{"type":"{kind}"}}}}}}"#);
        let tool = flat(&definition);
        // An integer stays an integer: only a profile may require less, and `fit` lowers it then.
        assert_eq!(tool.pointer("/parameters/properties/p/type"), Some(&kind.into()));
    }
    let asks = |id: &str| lookup(id).unwrap().profile(&Target::default()).schema.integer_as_number;
    assert!(asks("openai-flat"));
    assert!(!asks("openai-chat") && !asks("deepseek") && !asks("vllm"));
    let definition = json(r#"{"name":"f","parameters":{"p":{"type":"integer"}}}"#);
    let fitted = |to: &str| {
        let (from, to) = (lookup("openai-chat").unwrap(), lookup(to).unwrap());
        translate::tools(from, to, definition.clone(), &Options::default()).unwrap()
    };
    let narrowed = fitted("openai-flat");
    assert_eq!(narrowed.value.pointer("/0/parameters/properties/p/type"), Some(&"number".into()));
    assert_eq!(narrowed.report.losses.len(), 1, "the change is reported");
    let kept = fitted("vllm");
    assert_eq!(
        kept.value.pointer("/0/function/parameters/properties/p/type"),
        Some(&"integer".into())
    );
    assert!(kept.report.losses.is_empty());
}

#[test]
fn test_openai_tool_required_parameters() {
    let tool = flat(
        r#"{"name":"git_commit","description":"提交","parameters":{"message":{"type":"string","required":true},"files":{"type":"array","required":false},"amend":{"type":"boolean"}}}"#,
    );
    assert_eq!(tool.pointer("/parameters/required"), Some(&json(r#"["message"]"#)));
    assert_eq!(flat(GIT_STATUS).pointer("/parameters/required"), Some(&json("[]")));
    let properties = tool.pointer("/parameters/properties").and_then(Json::as_object).unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["message", "files", "amend"]);
    assert!(properties.iter().all(|(_, property)| property.get("required").is_none()));
}

#[test]
fn moonshot_rules_depend_on_the_family() {
    let codec = lookup("moonshot").unwrap();
    let ask = |model: &str| {
        let body = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"x"}}],"tools":[{{"type":"function","function":{{"name":"f"}}}}],"tool_choice":{{"type":"function","function":{{"name":"f"}}}},"temperature":0.3,"max_completion_tokens":9,"reasoning_effort":"medium"}}"#
        );
        let wire = WireRequest { body: json(&body), ..WireRequest::default() };
        let from = dialect::codec(Dialect::OpenaiChat).unwrap();
        let options = Options { model: Some(model.to_owned()), ..Options::default() };
        Translator::new(from, codec, &options).request(wire).unwrap().value.body
    };
    let second = ask("kimi-k2.6");
    assert_eq!(second.pointer("/thinking/type").and_then(Json::as_str), Some("disabled"));
    assert!(second.pointer("/tool_choice/function").is_some());
    assert!(second.get("temperature").is_none() && second.get("reasoning_effort").is_none());
    assert!(second.get("max_completion_tokens").is_some());
    let third = ask("kimi-k3");
    assert_eq!(third.get("tool_choice").and_then(Json::as_str), Some("required"));
    assert_eq!(third.get("reasoning_effort").and_then(Json::as_str), Some("low"));
    assert!(third.get("thinking").is_none());
    assert!(ask("moonshot-v1-8k").get("temperature").is_some());
    let profile = codec.profile(&Target { model: Some("kimi-k2.6"), version: None });
    assert!(profile.reasoning.must_echo);
}

#[test]
fn a_cache_hit_beside_the_other_counts_is_read() {
    let wire = json(
        r#"{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"cached_tokens":4}}"#,
    );
    let codec = lookup("moonshot").unwrap();
    let response = codec.decode_response(WireReply::ok(wire.clone())).unwrap();
    let usage = response.usage.clone().unwrap();
    assert_eq!((usage.input, usage.cache_read), (Some(5), Some(4)));
    let again = codec.encode_response(response, &ReplyContext::default()).body;
    assert!(again.get("usage").unwrap().same(wire.get("usage").unwrap()));
}

#[test]
fn deepseek_gets_thinking_under_its_own_name() {
    let body = r#"{"model":"m","messages":[{"role":"assistant","content":"x","reasoning":"t"}]}"#;
    let wire = WireRequest { body: json(body), ..WireRequest::default() };
    let (from, to) = (lookup("openai-chat").unwrap(), lookup("deepseek").unwrap());
    let there = Translator::new(from, to, &Options::default()).request(wire).unwrap().value.body;
    let said = there.pointer("/messages/0/reasoning_content").and_then(Json::as_str);
    assert_eq!(said, Some("t"));
    assert!(there.pointer("/messages/0/reasoning").is_none());
}
