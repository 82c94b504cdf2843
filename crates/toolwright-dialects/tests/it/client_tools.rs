//! Tools of the Responses API that the client runs and that are not plain functions: namespaces,
//! tool search, free text with a grammar. Any model can call them, and the calls come back in the
//! form that the client expects.

use toolwright_core::event::split::split;
use toolwright_core::loss::Severity;
use toolwright_core::{Arguments, Call, Json, Part, Response};
use toolwright_dialects::dialect::{
    ChatCodec, Dialect, ReplyContext, WireReply, WireRequest, lookup,
};
use toolwright_dialects::translate::{Options, Report, Translator};

use crate::{fixtures, spelling};

fn targets() -> impl Iterator<Item = &'static str> {
    fixtures::other_dialects("openai-responses")
}

fn responses() -> &'static dyn ChatCodec {
    lookup("openai-responses").unwrap()
}

fn body() -> Json {
    let name = "synthetic/client_tools_request.json";
    fixtures::json(Dialect::OpenaiResponses, name).get("body").unwrap().clone()
}

fn translated(to: &str, body: Json) -> (Json, Report) {
    let options = Options::default();
    let wire = WireRequest { body, ..WireRequest::default() };
    let to = lookup(to).unwrap();
    let translated = Translator::new(responses(), to, &options).request(wire).unwrap();
    (translated.value.body, translated.report)
}

/// A model's calls of flattened tools, in the target's dialect.
fn reply(to: &str) -> Response {
    let free = |text: &str| {
        let input = Json::Object(toolwright_core::object! {"input": text});
        if to == "openai-chat" {
            Arguments::Free(text.to_owned())
        } else {
            Arguments::from_json(&input)
        }
    };
    let json = |text: &str| Arguments::from_text(text);
    let calls = [
        ("mcp__docs__read", json(r#"{"page":"lexer"}"#)),
        ("mcp__tracker__find", json(r#"{"text":"bug"}"#)),
        ("mcp__docs__note", free("remember")),
        ("apply_patch", free("*** Begin Patch\nx\n*** End Patch")),
        ("tool_search", json(r#"{"query":"mail"}"#)),
        ("shell", json(r#"{"command":"ls"}"#)),
    ];
    let parts = calls.into_iter().enumerate().map(|(number, (name, arguments))| {
        Part::call(Call::new(format!("call0000{number}"), name, arguments))
    });
    Response::new(parts.collect())
}

/// The calls in a reply of the Responses API: type, namespace, name, and input.
fn calls(output: &[Json]) -> Vec<[String; 4]> {
    let word = |item: &Json, key: &str| {
        item.get(key).map_or(String::new(), |value| {
            value.as_str().map_or_else(|| value.compact(), str::to_owned)
        })
    };
    let row = |item: &Json| {
        let said = if item.get("input").is_some() { "input" } else { "arguments" };
        [word(item, "type"), word(item, "namespace"), word(item, "name"), word(item, said)]
    };
    output.iter().map(row).collect()
}

fn expected() -> Vec<[String; 4]> {
    [
        ["function_call", "mcp__docs", "read", r#"{"page":"lexer"}"#],
        ["function_call", "mcp__tracker", "find", r#"{"text":"bug"}"#],
        ["custom_tool_call", "mcp__docs", "note", "remember"],
        ["custom_tool_call", "", "apply_patch", "*** Begin Patch\nx\n*** End Patch"],
        ["tool_search_call", "", "", r#"{"query":"mail"}"#],
        ["function_call", "", "shell", r#"{"command":"ls"}"#],
    ]
    .map(|row| row.map(str::to_owned))
    .to_vec()
}

#[test]
fn a_request_with_client_tools_returns_as_it_was() {
    let _ = fixtures::request(responses(), &body());
    let mut last = body();
    let additional = r#"{"type":"additional_tools","role":"developer","tools":[]}"#;
    if let Some(Json::Array(items)) = last.as_object_mut().unwrap().get_mut("input") {
        items.push(Json::parse(additional).unwrap());
    }
    let _ = fixtures::request(responses(), &last);
}

#[test]
fn client_tools_reach_every_target_as_functions() {
    for to in targets() {
        let (body, report) = translated(to, body());
        let text = body.compact();
        let names = [
            "mcp__docs__read",
            "mcp__docs__list",
            "mcp__docs__note",
            "mcp__tracker__find",
            "tool_search",
            "apply_patch",
            "shell",
            "late",
        ];
        for name in names {
            assert!(text.contains(&format!(r#""name":"{name}""#)), "{to} lacks {name}: {text}");
        }
        // The history uses the same names.
        for name in ["mcp__docs__read", "tool_search", "apply_patch"] {
            let count = text.matches(&format!(r#""name":"{name}""#)).count();
            assert!(count >= 2, "{to}: {name} {count}");
        }
        assert!(text.contains("Tools that you can call now: mcp__tracker__find"), "{to}: {text}");
        assert!(text.contains("Pages of the manual."), "{to}");
        assert!(text.contains("Begin Patch"), "{to}");
        let major = report.losses.iter().find(|own| own.loss.severity == Severity::Major);
        assert!(major.is_none(), "{to}: {}", major.unwrap());
        let deferred = report.losses.iter().find(|own| own.path.ends_with("defer_loading"));
        assert!(deferred.is_none(), "{to}: {}", deferred.unwrap());
    }
}

#[test]
fn a_grammar_that_cannot_be_enforced_is_described() {
    let (body, report) = translated("anthropic", body());
    let tools = body.get("tools").and_then(Json::as_array).unwrap();
    let patch =
        tools.iter().find(|tool| tool.get("name").and_then(Json::as_str) == Some("apply_patch"));
    let description = patch.unwrap().get("description").and_then(Json::as_str).unwrap();
    assert!(description.starts_with("Edit files.\n\n") && description.contains("start: \"***"));
    let loss = report.losses.iter().find(|own| own.path == "/tools/1/format").unwrap();
    assert_eq!(loss.loss.severity, Severity::Minor);
}

#[test]
fn calls_of_client_tools_come_back_in_their_own_form() {
    for to in targets() {
        let codec = lookup(to).unwrap();
        let (_, report) = translated(to, body());
        let wire = codec.encode_response(reply(to), &ReplyContext::default());
        let options = Options::default();
        let translator =
            Translator::new(codec, responses(), &options).with_aliases(&report.aliases);
        let body = translator.response(wire).unwrap().value.body;
        let output = body.get("output").and_then(Json::as_array).unwrap();
        assert_eq!(calls(output), expected(), "{to}");
        assert_eq!(output[4].get("execution").and_then(Json::as_str), Some("client"), "{to}");
        // The client sends the same items in its next request.
        let again = responses().decode_response(WireReply::ok(body)).unwrap();
        assert_eq!(again.parts.len(), 6, "{to}");
    }
}

#[test]
fn streamed_calls_of_client_tools_come_back_in_their_own_form() {
    for to in targets() {
        let codec = lookup(to).unwrap();
        let (_, report) = translated(to, body());
        let options = Options::default();
        let translator =
            Translator::new(codec, responses(), &options).with_aliases(&report.aliases);
        let mut stream = translator.stream();
        let frames = fixtures::encoded(codec, split(reply(to)), &ReplyContext::default());
        let mut bytes = Vec::new();
        stream.write(fixtures::decoded(codec, frames), &mut bytes);
        let frames = fixtures::frames(responses().framing(), &bytes);
        let frames: Vec<Json> = frames.iter().map(|own| Json::parse(&own.data).unwrap()).collect();
        let kind = |own: &&Json, kind: &str| own.get("type").and_then(Json::as_str) == Some(kind);
        let done: Vec<Json> = frames
            .iter()
            .filter(|own| kind(own, "response.output_item.done"))
            .map(|own| own.get("item").unwrap().clone())
            .collect();
        assert_eq!(calls(&done), expected(), "{to}");
        let last = frames.last().unwrap().get("response").unwrap().get("output").unwrap();
        assert_eq!(calls(last.as_array().unwrap()), expected(), "{to}");
        let deltas = frames.iter().filter(|own| kind(own, "response.function_call_arguments.done"));
        let names: Vec<&str> =
            deltas.map(|own| own.get("name").and_then(Json::as_str).unwrap()).collect();
        assert_eq!(names, ["read", "find", "shell"], "{to}");
        // The decoded stream contains the same calls.
        let joined = fixtures::events(responses(), &bytes);
        let joined = toolwright_core::event::join::join(joined).unwrap();
        assert_eq!(joined.parts.len(), 6, "{to}");
    }
}

#[test]
fn a_flattened_name_that_is_taken_or_too_long_still_comes_back() {
    let long = "n".repeat(60);
    let body = format!(
        r#"{{"input":"x","tools":[
        {{"type":"function","name":"a__b","parameters":null,"strict":null}},
        {{"type":"function","name":"tool_search","parameters":null,"strict":null}},
        {{"type":"tool_search","execution":"client"}},
        {{"type":"namespace","name":"a","description":"d","tools":[{{"type":"function","name":"b"}}]}},
        {{"type":"namespace","name":"{long}","description":"d","tools":[{{"type":"function","name":"tool"}}]}}]}}"#
    );
    let (body, report) = translated("anthropic", Json::parse(&body).unwrap());
    let tools = body.get("tools").and_then(Json::as_array).unwrap();
    let names: Vec<&str> =
        tools.iter().map(|own| own.get("name").unwrap().as_str().unwrap()).collect();
    assert_eq!(names[..2], ["a__b", "tool_search"]);
    assert!(names[2].starts_with("tool_search_") && names[3].starts_with("a__b_"), "{names:?}");
    assert!(names[4].starts_with("nnn") && names[4].len() <= 64, "{names:?}");
    let parts = names.iter().enumerate().map(|(number, name)| {
        Part::call(Call::new(format!("toolu_{number}"), *name, Arguments::none()))
    });
    let anthropic = lookup("anthropic").unwrap();
    let wire = anthropic.encode_response(Response::new(parts.collect()), &ReplyContext::default());
    let options = Options::default();
    let back = Translator::new(anthropic, responses(), &options).with_aliases(&report.aliases);
    let reply = back.response(wire).unwrap();
    let output = reply.value.body.get("output").and_then(Json::as_array).unwrap().to_vec();
    let rows: Vec<[String; 3]> =
        calls(&output).into_iter().map(|[kind, space, name, _]| [kind, space, name]).collect();
    let expected = [
        ["function_call", "", "a__b"],
        ["function_call", "", "tool_search"],
        ["tool_search_call", "", ""],
        ["function_call", "a", "b"],
        ["function_call", long.as_str(), "tool"],
    ];
    assert_eq!(rows, expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn a_choice_of_a_tool_in_a_namespace_finds_it() {
    let tools = r#"[{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"t","parameters":null,"strict":null}]}]"#;
    let body = format!(
        r#"{{"input":"x","tools":{tools},"tool_choice":{{"type":"function","name":"t"}}}}"#
    );
    let body = Json::parse(&body).unwrap();
    let _ = fixtures::request(responses(), &body);
    let (body, _) = translated("anthropic", body);
    let choice = body.get("tool_choice").unwrap().get("name").and_then(Json::as_str);
    assert_eq!(choice, Some("n__t"));
}

#[test]
fn malformed_namespaces_and_grammars_are_refused_with_their_path() {
    let refused = |id: &str, tool: &str| {
        let body = Json::parse(&format!(r#"{{"tools":[{tool}]}}"#)).unwrap();
        let wire = WireRequest { body, ..WireRequest::default() };
        lookup(id).unwrap().decode_request(wire).unwrap_err().to_string()
    };
    for (tool, place) in [
        (
            r#"{"type":"namespace","description":"d","tools":[{"type":"function","name":"t"}]}"#,
            "/tools/0",
        ),
        (
            r#"{"type":"namespace","name":"","tools":[{"type":"function","name":"t"}]}"#,
            "/tools/0/name",
        ),
        (r#"{"type":"namespace","name":"n","tools":{}}"#, "/tools/0/tools"),
        (r#"{"type":"namespace","name":"n"}"#, "/tools/0"),
        (
            r#"{"type":"namespace","name":"n","tools":[{"type":"function","name":"t"},{"type":"web_search"}]}"#,
            "/tools/0/tools/1/type",
        ),
        (r#"{"type":"namespace","name":"n","tools":[{"type":"function"}]}"#, "/tools/0/tools/0"),
        (r#"{"type":"custom","name":"c","format":"lark"}"#, "/tools/0/format"),
        (
            r#"{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark"}}"#,
            "/tools/0/format",
        ),
        (
            r#"{"type":"custom","name":"c","format":{"type":"grammar","syntax":"ebnf","definition":"d"}}"#,
            "/tools/0/format/syntax",
        ),
    ] {
        let error = refused("openai-responses", tool);
        assert!(
            error.contains(&format!("{place}:")) || error.contains(&format!("{place} ")),
            "{error}"
        );
    }
    let nested = r#"{"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{"syntax":"lark","definition":1}}}}"#;
    let error = refused("openai-chat", nested);
    assert!(error.contains("/tools/0/custom/format/grammar/definition"), "{error}");
}

#[test]
fn a_search_that_the_vendor_runs_stays_hosted() {
    let body = r#"{"input":[
        {"type":"tool_search_call","id":"tsc_1","call_id":null,"status":"completed","execution":"server","arguments":{"paths":["crm"]}},
        {"type":"tool_search_output","id":"tso_1","call_id":null,"status":"completed","execution":"server","tools":[]}],
        "tools":[{"type":"tool_search"}]}"#;
    let body = Json::parse(body).unwrap();
    let request = fixtures::request(responses(), &body);
    assert!(matches!(request.tools[0].kind, toolwright_core::ToolKind::Hosted(_)));
    assert!(request.messages.iter().all(|message| message.calls().next().is_none()));
}

#[test]
fn a_free_text_tool_of_chat_comes_back_as_one() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"custom","custom":{"name":"sql","description":"Query.","format":{"type":"grammar","grammar":{"syntax":"regex","definition":"SELECT .+"}}}}]}"#;
    let body = Json::parse(body).unwrap();
    let chat = lookup("openai-chat").unwrap();
    for to in targets().filter(|to| *to != "openai-chat" && *to != "deepseek") {
        let codec = lookup(to).unwrap();
        let options = Options::default();
        let wire = WireRequest { body: body.clone(), ..WireRequest::default() };
        let there = Translator::new(chat, codec, &options).request(wire).unwrap();
        assert!(there.value.body.compact().contains("regular expression"), "{to}");
        let call = Call::new("call00000", "sql", Arguments::from_text(r#"{"input":"SELECT 1"}"#));
        let wire =
            codec.encode_response(Response::new(vec![Part::call(call)]), &ReplyContext::default());
        let back = Translator::new(codec, chat, &options).with_aliases(&there.report.aliases);
        let reply = back.response(wire).unwrap().value.body;
        let expected = r#""custom":{"name":"sql","input":"SELECT 1"}"#;
        assert!(reply.compact().contains(expected), "{to}: {}", reply.compact());
    }
}

#[test]
fn a_request_to_the_same_dialect_is_unchanged() {
    let options = Options { changed: true, ..Options::default() };
    let wire = WireRequest { body: body(), ..WireRequest::default() };
    let same = Translator::new(responses(), responses(), &options).request(wire).unwrap();
    spelling::assert_same(Dialect::OpenaiResponses, "request", &body(), &same.value.body);
    assert!(same.report.aliases.names.is_empty());
}

/// A conversation in which a search loaded a function, and the model called it.
fn loaded() -> Json {
    let text = r#"{"model":"m","input":[
        {"type":"message","role":"user","content":"How deep is the lake?"},
        {"type":"tool_search_call","call_id":"call_1","execution":"client","status":"completed","arguments":{"goal":"depth"}},
        {"type":"tool_search_output","call_id":"call_1","execution":"client","status":"completed",
            "tools":[{"type":"function","name":"get_depth","defer_loading":true,"parameters":{"type":"object","properties":{}},"strict":null}]},
        {"type":"function_call","call_id":"call_2","name":"get_depth","namespace":"get_depth","arguments":"{}"},
        {"type":"function_call_output","call_id":"call_2","output":"12 m"}],
        "tools":[{"type":"tool_search","execution":"client"}]}"#;
    Json::parse(text).unwrap()
}

#[test]
fn a_function_that_a_search_loaded_keeps_its_name() {
    let body = loaded();
    let again = responses().encode_request(
        responses()
            .decode_request(WireRequest { body: body.clone(), ..WireRequest::default() })
            .unwrap(),
    );
    spelling::assert_same(Dialect::OpenaiResponses, "loaded", &body, &again.body);
    let (chat, _) = translated("openai-chat", body);
    let name = "/messages/3/tool_calls/0/function/name";
    assert_eq!(chat.pointer(name), Some(&"get_depth".into()), "{}", chat.pretty());
}

#[test]
fn a_search_that_was_answered_with_text_keeps_it() {
    let text = r#"{"model":"m","input":[
        {"type":"tool_search_call","call_id":"call_1","execution":"client","status":"completed","arguments":{}},
        {"type":"function_call_output","call_id":"call_1","output":"Nothing fits."}],
        "tools":[{"type":"tool_search","execution":"client"}]}"#;
    let body = Json::parse(text).unwrap();
    let wire = WireRequest { body: body.clone(), ..WireRequest::default() };
    let again = responses().encode_request(responses().decode_request(wire).unwrap());
    spelling::assert_same(Dialect::OpenaiResponses, "words", &body, &again.body);
}

#[test]
fn a_streamed_search_has_the_call_id_of_its_end() {
    let item = |status: &str, id: &str, arguments: &str| {
        format!(
            r#"{{"type":"tool_search_call","id":"tsc_1","status":"{status}","call_id":"{id}","execution":"client","arguments":{arguments}}}"#
        )
    };
    let begun = item("in_progress", "call_begun", "{}");
    let done = item("completed", "call_done", r#"{"goal":"tides"}"#);
    let frames = [
        r#"{"type":"response.created","response":{"id":"resp_1"}}"#.to_owned(),
        format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{begun}}}"#),
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{done}}}"#),
        format!(
            r#"{{"type":"response.completed","response":{{"id":"resp_1","status":"completed","output":[{done}]}}}}"#
        ),
    ];
    let frames = frames.iter().map(|data| toolwright_dialects::frame::Frame::data(data.as_str()));
    let events = fixtures::decoded(responses(), frames);
    let response = toolwright_core::event::join::join(events).unwrap();
    let calls: Vec<&Call> = response.parts.iter().filter_map(Part::as_call).collect();
    let found: Vec<_> =
        calls.iter().map(|call| (call.id.as_deref(), call.arguments.as_str())).collect();
    assert_eq!(found, [(Some("call_done"), r#"{"goal":"tides"}"#)]);
}

#[test]
fn a_tool_with_the_name_of_its_namespace_stays_in_it() {
    let mut body = loaded();
    let tools = r#"[{"type":"namespace","name":"get_depth","description":"d","tools":[
        {"type":"function","name":"get_depth","parameters":null,"strict":null}]}]"#;
    body.as_object_mut().unwrap().insert("tools", Json::parse(tools).unwrap());
    let (chat, _) = translated("openai-chat", body);
    let name = "/messages/3/tool_calls/0/function/name";
    assert_eq!(chat.pointer(name), Some(&"get_depth__get_depth".into()), "{}", chat.pretty());
}

#[test]
fn calls_in_a_namespace_reach_other_clients_under_flat_names() {
    for (namespace, flat) in [("get_depth", "get_depth"), ("mcp__lake", "mcp__lake__get_depth")] {
        let item = format!(
            r#"{{"type":"function_call","id":"fc_1","status":"completed","call_id":"call_2",
                "name":"get_depth","namespace":"{namespace}","arguments":"{{}}"}}"#
        );
        let reply = format!(
            r#"{{"id":"resp_1","object":"response","status":"completed","output":[{item}]}}"#
        );
        let options = Options::default();
        let chat = lookup("openai-chat").unwrap();
        let translator = Translator::new(responses(), chat, &options);
        let whole = translator.response(WireReply::ok(Json::parse(&reply).unwrap())).unwrap();
        let name = "/choices/0/message/tool_calls/0/function/name";
        assert_eq!(whole.value.body.pointer(name), Some(&flat.into()));

        let event = |kind: &str, rest: &str| {
            format!("event: response.{kind}\ndata: {{\"type\":\"response.{kind}\",{rest}}}\n\n")
                .replace("\n                ", "")
        };
        let stream = [
            event("created", r#""response":{"id":"resp_1"}"#),
            event("output_item.added", &format!(r#""output_index":0,"item":{item}"#)),
            event("output_item.done", &format!(r#""output_index":0,"item":{item}"#)),
            event("completed", &format!(r#""response":{reply}"#)),
        ];
        let (mut out, mut stream_translator) = (Vec::new(), translator.stream());
        stream_translator.push(stream.concat().as_bytes(), &mut out).unwrap();
        stream_translator.finish(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(&format!(r#""name":"{flat}""#)), "{text}");
    }
}

const SHELLS: &str = r#"{"input":[
    {"type":"message","role":"user","content":"x"},
    {"type":"local_shell_call","id":"lsh_1","call_id":"call_l","status":"completed","action":{"type":"exec","command":["ls","-l"],"env":{}}},
    {"type":"shell_call","id":"sh_1","call_id":"call_s","status":"completed","action":{"commands":["pwd"],"timeout_ms":1000}},
    {"type":"apply_patch_call","id":"apc_1","call_id":"call_a","status":"completed","operation":{"type":"delete_file","path":"a.txt"}},
    {"type":"local_shell_call_output","id":"call_l","output":"{\"stdout\":\"a.txt\"}"},
    {"type":"shell_call_output","call_id":"call_s","output":[{"stdout":"/work","stderr":"","outcome":{"type":"exit","exit_code":0}}]},
    {"type":"apply_patch_call_output","call_id":"call_a","status":"failed","output":"No such file."}],
    "tools":[{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"}]}"#;

#[test]
fn shells_and_patches_of_the_client_reach_every_target() {
    let body = Json::parse(SHELLS).unwrap();
    let _ = fixtures::request(responses(), &body);
    for to in targets() {
        let (body, report) = translated(to, body.clone());
        let text = body.compact();
        for name in ["local_shell", "shell", "apply_patch"] {
            let count = text.matches(&format!(r#""name":"{name}""#)).count();
            assert!(count >= 2, "{to}: {name} {count} {text}");
        }
        assert!(text.contains("/work") && text.contains("No such file."), "{to}: {text}");
        let major = report.losses.iter().find(|own| own.loss.severity == Severity::Major);
        assert!(major.is_none(), "{to}: {}", major.unwrap());
    }
}

#[test]
fn calls_of_shells_and_patches_come_back_in_their_own_form() {
    let (_, report) = translated("anthropic", Json::parse(SHELLS).unwrap());
    let calls = [
        ("local_shell", r#"{"command":["make"]}"#),
        ("shell", r#"{"commands":["make"]}"#),
        ("apply_patch", r#"{"type":"create_file","path":"b","diff":"+b"}"#),
    ];
    let parts = calls.iter().enumerate().map(|(number, (name, arguments))| {
        Part::call(Call::new(format!("toolu_{number}"), *name, Arguments::from_text(*arguments)))
    });
    let response = Response::new(parts.collect());
    let anthropic = lookup("anthropic").unwrap();
    let options = Options::default();
    let translator =
        Translator::new(anthropic, responses(), &options).with_aliases(&report.aliases);
    let wire = anthropic.encode_response(response.clone(), &ReplyContext::default());
    let whole = translator.response(wire).unwrap().value.body;
    let mut bytes = Vec::new();
    translator.stream().write(split(response), &mut bytes);
    let frames = fixtures::frames(responses().framing(), &bytes);
    let last = Json::parse(&frames.last().unwrap().data).unwrap();
    for body in [&whole, last.get("response").unwrap()] {
        let text = body.get("output").unwrap().compact();
        let expected = [
            r#""type":"local_shell_call","status":"completed","call_id":"toolu_0","action":{"command":["make"],"type":"exec","env":{}}"#,
            r#""type":"shell_call","status":"completed","call_id":"toolu_1","action":{"commands":["make"]}"#,
            r#""type":"apply_patch_call","status":"completed","call_id":"toolu_2","operation":{"type":"create_file","path":"b","diff":"+b"}"#,
        ];
        for item in expected {
            assert!(text.contains(item), "{item}\n{text}");
        }
    }
    assert!(!String::from_utf8_lossy(&bytes).contains("function_call_arguments"));
}

#[test]
fn a_shell_in_a_container_stays_hosted() {
    let body = r#"{"input":[
        {"type":"shell_call","id":"sh_1","call_id":"call_1","status":"completed","action":{"commands":["ls"]},"environment":{"type":"container_reference","container_id":"c"}},
        {"type":"shell_call_output","id":"sho_1","call_id":"call_1","status":"completed","output":[],"max_output_length":10}],
        "tools":[{"type":"shell","environment":{"type":"container_auto"}}]}"#;
    let request = fixtures::request(responses(), &Json::parse(body).unwrap());
    assert!(matches!(request.tools[0].kind, toolwright_core::ToolKind::Hosted(_)));
    assert!(request.messages.iter().all(|message| message.calls().next().is_none()));
}
