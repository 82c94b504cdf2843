//! Tools that Anthropic defines by a dated type and that the client runs. Any model can call them,
//! and the calls come back under the names that the client knows.

use toolwright_core::event::split::split;
use toolwright_core::loss::Severity;
use toolwright_core::{Arguments, Call, Json, Part, Response, ToolKind};
use toolwright_dialects::dialect::{ChatCodec, Dialect, ReplyContext, WireRequest, lookup};
use toolwright_dialects::translate::{Options, Translated, Translator};

use crate::fixtures;

const NAMES: [&str; 4] = ["bash", "str_replace_based_edit_tool", "memory", "computer"];

fn anthropic() -> &'static dyn ChatCodec {
    lookup("anthropic").unwrap()
}

fn body() -> Json {
    let name = "synthetic/client_tools_request.json";
    fixtures::json(Dialect::Anthropic, name).get("body").unwrap().clone()
}

fn translated(to: &str) -> Translated<WireRequest> {
    let options = Options::default();
    let wire = WireRequest { body: body(), ..WireRequest::default() };
    Translator::new(anthropic(), lookup(to).unwrap(), &options).request(wire).unwrap()
}

/// A reply with a call of each tool.
fn reply() -> Response {
    let inputs = [
        r#"{"command":"ls"}"#,
        r#"{"command":"view","path":"/repo"}"#,
        r#"{"command":"view","path":"/memories"}"#,
        r#"{"action":"left_click","coordinate":[4,2]}"#,
    ];
    let parts = NAMES.into_iter().zip(inputs).enumerate().map(|(number, (name, input))| {
        Part::call(Call::new(format!("call0000{number}"), name, Arguments::from_text(input)))
    });
    Response::new(parts.collect())
}

#[test]
fn a_request_with_client_tools_returns_as_it_was() {
    let _ = fixtures::request(anthropic(), &body());
}

#[test]
fn client_tools_reach_every_target_as_functions() {
    for to in fixtures::other_dialects("anthropic") {
        let there = translated(to);
        let request = lookup(to).unwrap().decode_request(there.value.clone()).unwrap();
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, NAMES, "{to}");
        for tool in &request.tools {
            let schema = tool.parameters().map(Json::compact).unwrap_or_default();
            let key = if tool.name == "computer" { "action" } else { "command" };
            assert!(schema.contains(&format!(r#""{key}":{{"#)), "{to} {}: {schema}", tool.name);
        }
        let screen = request.tools[3].description.as_deref().unwrap();
        assert!(screen.contains("1280 pixels wide and 800 pixels high"), "{to}: {screen}");
        // The history has the same calls, each with its result.
        let parts = || request.messages.iter().flat_map(|message| &message.parts);
        let calls: Vec<&str> =
            parts().filter_map(Part::as_call).map(|call| call.name.as_str()).collect();
        assert_eq!(calls, NAMES[..2], "{to}");
        assert_eq!(parts().filter(|part| part.as_outcome().is_some()).count(), 2, "{to}");
        let major = there.report.losses.iter().find(|own| own.loss.severity == Severity::Major);
        assert!(major.is_none(), "{to}: {}", major.unwrap());
    }
}

#[test]
fn calls_of_client_tools_come_back_under_their_names() {
    for to in fixtures::other_dialects("anthropic") {
        let codec = lookup(to).unwrap();
        let (options, aliases) = (Options::default(), translated(to).report.aliases);
        let translator = Translator::new(codec, anthropic(), &options).with_aliases(&aliases);
        let wire = codec.encode_response(reply(), &ReplyContext::default());
        let whole = translator.response(wire).unwrap().value.body;
        let blocks = whole.get("content").and_then(Json::as_array).unwrap();
        let word = |block: &Json, key| block.get(key).and_then(Json::as_str).map(str::to_owned);
        assert!(blocks.iter().all(|own| word(own, "type").as_deref() == Some("tool_use")), "{to}");
        let names: Vec<String> = blocks.iter().filter_map(|own| word(own, "name")).collect();
        assert_eq!(names, NAMES, "{to}");
        let mut bytes = Vec::new();
        let frames = fixtures::encoded(codec, split(reply()), &ReplyContext::default());
        translator.stream().write(fixtures::decoded(codec, frames), &mut bytes);
        let streamed = toolwright_core::event::join::join(fixtures::events(anthropic(), &bytes));
        let streamed = streamed.unwrap();
        let names: Vec<&str> = streamed.calls().map(|call| call.name.as_str()).collect();
        assert_eq!(names, NAMES, "{to}");
    }
}

#[test]
fn a_tool_without_a_date_or_a_name_stays_hosted() {
    for tool in [
        r#"{"type":"computer_toolset_20260801"}"#,
        r#"{"type":"bash_code_execution","name":"bash"}"#,
        r#"{"type":"bash_20250124"}"#,
        r#"{"type":"web_search_20250305","name":"web_search"}"#,
    ] {
        let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[],"tools":[{tool}]}}"#);
        let request = fixtures::request(anthropic(), &Json::parse(&body).unwrap());
        assert!(matches!(request.tools[0].kind, ToolKind::Hosted(_)), "{tool}");
    }
}

#[test]
fn an_editor_of_an_earlier_date_can_undo() {
    let tool = r#"{"type":"text_editor_20250124","name":"str_replace_editor"}"#;
    let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[],"tools":[{tool}]}}"#);
    let request = fixtures::request(anthropic(), &Json::parse(&body).unwrap());
    let schema = request.tools[0].parameters().unwrap().compact();
    assert!(schema.contains("undo_edit") && !schema.contains("insert_text"), "{schema}");
}
