//! Broken streams, and requests that are unusually large or odd.

use toolwright_core::{Json, json::Object, object};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect, WireReply, WireRequest, lookup};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::frame::{Frame, FrameWriter};
use toolwright_dialects::translate::{Options, Report, Translator};

use toolwright_testing::growth;

use crate::fixtures;

fn codec(id: &str) -> &'static dyn ChatCodec {
    lookup(id).unwrap()
}

fn request(from: &str, to: &str, body: &str) -> (Json, Report) {
    let options = Options::default();
    let body = Json::parse(body).unwrap();
    let wire = WireRequest { path: String::new(), headers: vec![], body };
    let translated = Translator::new(codec(from), codec(to), &options).request(wire).unwrap();
    (translated.value.body, translated.report)
}

/// Translates a stream; returns the output, and whether the stream was complete.
fn stream(from: &str, to: &str, bytes: &[u8]) -> (String, Result<Report, String>) {
    let options = Options::default();
    let mut stream = Translator::new(codec(from), codec(to), &options).stream();
    let mut out = Vec::new();
    let result = stream.push(bytes, &mut out).and_then(|()| stream.finish(&mut out));
    let result = result.map(|()| stream.report()).map_err(|error| error.to_string());
    (String::from_utf8_lossy(&out).into_owned(), result)
}

/// How each dialect reports a failed stream.
const FAILURES: [(&str, &str); 9] = [
    ("openai-chat", r#"data: {"error":"#),
    ("openai-responses", "event: response.failed"),
    ("anthropic", "event: error"),
    ("bedrock", "internalServerException"),
    ("deepseek", r#"data: {"error":"#),
    ("gemini", r#"data: {"error":"#),
    ("ollama", r#"{"error":"#),
    ("mistral", "error"),
    ("cohere", r#""finish_reason":"ERROR""#),
];

#[test]
fn a_damaged_stream_ends_with_a_fault_in_the_clients_dialect() {
    let whole = fixtures::bytes(Dialect::Anthropic, "synthetic/matrix_stream.txt");
    let half = &whole[..whole.len() / 2];
    let aws = fixtures::bytes(Dialect::Bedrock, "synthetic/matrix_stream.bin");
    let mut flipped = aws.clone();
    flipped[aws.len() / 2] ^= 1;
    for (to, failure) in FAILURES {
        for (from, bytes) in
            [("anthropic", half), ("bedrock", &aws[..aws.len() / 2]), ("bedrock", &flipped)]
        {
            let (out, result) = stream(from, to, bytes);
            assert!(result.is_err(), "{from} {to}");
            assert!(out.contains(failure), "{from} {to}: {out}");
            assert!(!out.contains("[DONE]") || to == "mistral" || to == "cohere", "{from} {to}");
        }
    }
}

#[test]
fn a_stream_that_holds_no_reply_is_a_fault_in_every_dialect() {
    for from in fixtures::codecs().into_iter().filter(|own| own.dialect() != Dialect::Bedrock) {
        for body in [r#"{"detail":"Not Found"}"#, r#"{"status":"ok"}"#] {
            let mut bytes = Vec::new();
            FrameWriter::new(from.framing()).write(&Frame::data(body), &mut bytes);
            for (to, failure) in FAILURES {
                let (out, _) = stream(from.dialect().id(), to, &bytes);
                // The Responses API has an event for a response that never began, and one of
                // Mistral's error bodies is a `detail`.
                let others = ["event: error", r#"data: {"detail":"#];
                let is_told =
                    out.contains(failure) || others.iter().any(|own| out.starts_with(own));
                assert!(is_told, "{} {to} {body}: {out}", from.dialect());
            }
        }
    }
}

#[test]
fn damage_after_the_end_is_ignored() {
    let mut bytes = fixtures::bytes(Dialect::Anthropic, "synthetic/matrix_stream.txt");
    bytes.extend_from_slice(b"event: message_delta\ndata: {\n\n");
    let (out, result) = stream("anthropic", "openai-chat", &bytes);
    assert!(result.is_err());
    assert!(out.ends_with("data: [DONE]\n\n") && !out.contains("error"), "{out}");
}

#[test]
fn free_text_streams_to_clients_without_it_as_one_string() {
    let bytes = fixtures::bytes(Dialect::OpenaiChat, "synthetic/custom_call_stream.txt");
    for to in ["anthropic", "cohere", "mistral", "gemini", "ollama", "bedrock", "deepseek"] {
        let (out, result) = stream("openai-chat", to, &bytes);
        let report = result.unwrap();
        let plain = out.replace('\\', "");
        assert!(plain.contains(r#"{"input":""#) && !out.contains("_raw"), "{to}: {out}");
        let what = "free text goes along as 'input'";
        assert!(report.losses.iter().any(|own| own.loss.what == what), "{to}");
    }
}

#[test]
fn a_dropped_grammar_is_reported_with_its_path() {
    let tool = r#"{"type":"custom","custom":{"name":"free","format":{"type":"text"}}}"#;
    let body = format!(r#"{{"model":"m","messages":[],"tools":[{tool}]}}"#);
    let (_, report) = request("openai-chat", "anthropic", &body);
    assert!(report.losses.iter().any(|own| own.path == "/tools/0/custom/format"));
    let flat = r#"{"type":"custom","name":"free","format":{"type":"text"}}"#;
    let body = format!(r#"{{"model":"m","input":"x","tools":[{flat}]}}"#);
    let (_, report) = request("openai-responses", "anthropic", &body);
    assert!(report.losses.iter().any(|own| own.path == "/tools/0/format"));
}

#[test]
fn a_dropped_further_call_is_reported_with_its_path() {
    let mut aliases = Aliases::default();
    aliases.single_call = true;
    let options = Options::default();
    let call =
        |id: &str| format!(r#"{{"toolUse":{{"toolUseId":"{id}","name":"f","input":{{}}}}}}"#);
    let body = format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":[{},{}]}}}},"stopReason":"tool_use","usage":{{"inputTokens":1,"outputTokens":1,"totalTokens":2}},"metrics":{{"latencyMs":1}}}}"#,
        call("a"),
        call("b")
    );
    let reply = WireReply::ok(Json::parse(&body).unwrap());
    let translator =
        Translator::new(codec("bedrock"), codec("anthropic"), &options).with_aliases(&aliases);
    let report = translator.response(reply).unwrap().report;
    assert!(report.losses.iter().any(|own| own.path == "/output/message/content/1"), "{report:?}");
}

#[test]
fn a_chosen_tool_is_kept_within_the_limit_of_tools() {
    let tools = (0..300).map(|at| object! {"name": format!("t{at}"), "input_schema": object! {}});
    let body = Json::Object(object! {
        "model": "m",
        "max_tokens": 9u64,
        "messages": vec![object! {"role": "user", "content": "x"}],
        "tools": tools.collect::<Vec<Object>>(),
        "tool_choice": object! {"type": "tool", "name": "t299"},
    });
    let (out, _) = request("anthropic", "openai-chat", &body.to_string());
    let tools = out.get("tools").and_then(Json::as_array).unwrap();
    assert_eq!(tools.len(), 128);
    let last = tools.last().unwrap().pointer("/function/name").and_then(Json::as_str);
    assert_eq!(last, Some("t299"));
}

#[test]
fn many_names_and_losses_do_not_take_quadratic_time() {
    let (from, to) = (dialect::tool_codec(Dialect::Mcp), dialect::tool_codec(Dialect::Bedrock));
    growth::assert_not_quadratic(20_000, |count| {
        let tools = (0..count).map(|at| {
            object! {
                "name": format!("a.b.{at}"),
                "title": "t",
                "inputSchema": object! {"type": "object", "minProperties": 1u64},
            }
        });
        let wire = Json::Array(tools.map(Json::Object).collect());
        let options = Options::default();
        let report =
            toolwright_dialects::translate::tools(from, to, wire, &options).unwrap().report;
        assert_eq!(report.aliases.names.len(), count);
    });
}

#[test]
fn malformed_aliases_are_refused() {
    let parse = |text: &str| Aliases::from_json(&Json::parse(text).unwrap());
    assert_eq!(parse("{}"), Some(Aliases::default()));
    for wrong in
        [r#"{"single_call":"yes"}"#, r#"{"messages":[]}"#, r#"{"names":{"a":1}}"#, "[]", "null"]
    {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_text_document_keeps_its_text() {
    let document = r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"the words"},"title":"T"}"#;
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{document}]}},{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"f","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{document}]}}]}}],"tools":[{{"name":"f","input_schema":{{"type":"object"}}}}]}}"#
    );
    for to in ["openai-chat", "openai-responses", "deepseek", "gemini", "ollama", "mistral"] {
        let (out, report) = request("anthropic", to, &body);
        assert_eq!(out.to_string().matches("the words").count(), 2, "{to}: {out}");
        for path in ["/messages/0/content/0", "/messages/2/content/0/content/0"] {
            assert!(report.losses.iter().any(|own| own.path == path), "{to} {path}");
        }
    }
}
