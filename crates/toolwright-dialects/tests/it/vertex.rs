//! Gemini: forms that Google's SDKs and Vertex AI use in addition to the documented ones.

use toolwright_core::event::join::join;
use toolwright_core::part::MediaSource;
use toolwright_core::{Body, Json, Part, Request, Response, StopReason, ToolChoice};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect, WireReply, WireRequest};
use toolwright_dialects::frame::Frame;
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;

fn codec() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::Gemini).unwrap()
}

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn decoded(body: &str) -> Request {
    let wire = WireRequest { body: parse(body), ..WireRequest::default() };
    codec().decode_request(wire).unwrap()
}

fn reply(parts: &str, rest: &str) -> Response {
    let body =
        format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":{parts}}}{rest}}}]}}"#);
    codec().decode_response(WireReply::ok(parse(&body))).unwrap()
}

/// Joins chunks with these parts, the last of which has a finish reason.
fn streamed(chunks: &[&str]) -> Response {
    let last = chunks.len() - 1;
    let frames = chunks.iter().enumerate().map(|(at, parts)| {
        let stop = if at == last { r#","finishReason":"STOP""# } else { "" };
        Frame::data(format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":{parts}}}{stop}}}]}}"#
        ))
    });
    join(fixtures::decoded(codec(), frames)).unwrap()
}

#[test]
fn media_in_the_url_alphabet_reach_others_in_the_standard_one() {
    for (url, standard) in [("-_-_", "+/+/"), ("-_8=", "+/8="), ("-_8", "+/8="), ("AAEC", "AAEC")] {
        let body = format!(
            r#"{{"contents":[{{"role":"user","parts":[
                {{"inlineData":{{"mimeType":"image/png","data":"{url}"}}}},{{"text":"what is it?"}}]}}]}}"#
        );
        // It returns to Gemini unchanged.
        let request = fixtures::request(codec(), &parse(&body));
        let Body::Media(media) = &request.messages[0].parts[0].body else { panic!("no media") };
        assert_eq!(media.source, MediaSource::Base64(standard.to_owned()));
        let options = Options { model: Some("m".to_owned()), ..Options::default() };
        for to in ["anthropic", "openai-chat", "bedrock", "ollama"] {
            let to = dialect::codec(to.parse().unwrap()).unwrap();
            let wire = WireRequest { body: parse(&body), ..WireRequest::default() };
            let translated = Translator::new(codec(), to, &options).request(wire).unwrap();
            let text = translated.value.body.compact();
            assert!(text.contains(standard), "{}: {text}", to.dialect());
        }
    }
}

#[test]
fn text_after_the_first_finish_reason_is_kept() {
    let chunk = |text: &str, stop: &str| {
        Frame::data(format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"text":"{text}"}}]}}{stop}}}]}}"#
        ))
    };
    let stop = r#","finishReason":"STOP""#;
    let frames = [chunk("one ", ""), chunk("two ", stop), chunk("three", stop)];
    let joined = join(fixtures::decoded(codec(), frames)).unwrap();
    assert_eq!(joined.text(), "one two three");
    assert_eq!(joined.stop.reason, StopReason::End);
}

#[test]
fn an_element_may_replace_a_list_of_one() {
    let one = decoded(
        r#"{"systemInstruction":{"parts":{"text":"be brief"}},
            "contents":{"role":"user","parts":{"text":"hello"}},
            "tools":{"functionDeclarations":{"name":"f"}}}"#,
    );
    let list = decoded(
        r#"{"systemInstruction":{"parts":[{"text":"be brief"}]},
            "contents":[{"role":"user","parts":[{"text":"hello"}]}],
            "tools":[{"functionDeclarations":[{"name":"f"}]}]}"#,
    );
    assert_eq!(one, list);
    assert_eq!((one.tools.len(), one.messages.len()), (1, 1));
    assert_eq!(reply(r#"{"text":"hi"}"#, "").text(), "hi");
}

#[test]
fn enumerations_may_be_numbers() {
    assert_eq!(
        reply(r#"[{"text":"a"}]"#, r#","finishReason":2"#).stop.reason,
        StopReason::MaxTokens
    );
    assert_eq!(reply("[]", r#","finishReason":3"#).stop.reason, StopReason::Filtered);
    let unknown = reply(r#"[{"text":"a"}]"#, r#","finishReason":99"#);
    assert_eq!((unknown.text().as_str(), unknown.stop.reason), ("a", StopReason::End));
    let frame =
        Frame::data(r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":2}]}"#);
    let joined = join(fixtures::decoded(codec(), [frame])).unwrap();
    assert_eq!(joined.stop.reason, StopReason::MaxTokens);
    let request = decoded(
        r#"{"contents":[],"toolConfig":{"functionCallingConfig":{"mode":2}},
            "tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":6,
                "properties":{"n":{"type":3},"t":{"type":5,"items":{"type":1}}}}}]}]}"#,
    );
    assert_eq!(request.tool_choice, Some(ToolChoice::Required));
    let schema = request.tools[0].parameters().unwrap().compact();
    assert_eq!(
        schema,
        r#"{"type":"object","properties":{"n":{"type":"integer"},"t":{"type":"array","items":{"type":"string"}}}}"#
    );
}

#[test]
fn partial_arguments_are_joined() {
    let chunks = [
        r#"[{"text":"I book."},{"functionCall":{"id":"c1","name":"book","willContinue":true},"thoughtSignature":"c2ln"}]"#,
        r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Ber","willContinue":true}],"willContinue":true}}]"#,
        r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"gen"},
            {"jsonPath":"$.seats[0].row","numberValue":12},{"jsonPath":"$.seats[1]['row no']","numberValue":1.50}],"willContinue":true}}]"#,
        r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.window","boolValue":true},{"jsonPath":"$.note","nullValue":"NULL_VALUE"}],"willContinue":true}}]"#,
        r#"[{"functionCall":{}}]"#,
        r#"[{"functionCall":{"name":"pay","args":{"sum":3}}},{"text":"Done."}]"#,
    ];
    let joined = streamed(&chunks);
    let calls: Vec<_> =
        joined.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(
        calls,
        [
            (
                "book",
                r#"{"city":"Bergen","seats":[{"row":12},{"row no":1.50}],"window":true,"note":null}"#
            ),
            ("pay", r#"{"sum":3}"#)
        ]
    );
    assert_eq!(joined.parts[1].signature.as_ref().unwrap().value, "c2ln");
    assert_eq!(joined.text(), "I book.Done.");
    assert!(joined.parts[1].extra.is_empty(), "{:?}", joined.parts[1].extra);
    // A client may send the parts back unchanged.
    let all = chunks.map(|chunk| &chunk[1..chunk.len() - 1]).join(",");
    let whole = reply(&format!("[{all}]"), r#","finishReason":"STOP""#);
    assert_eq!(whole.parts, joined.parts);
}

#[test]
fn paths_of_partial_arguments_are_bounded() {
    let deep = format!("${}", ".a".repeat(1000));
    for path in ["$.a[4000000000]", "$.a[", "a", "$..a", deep.as_str()] {
        let parts = format!(
            r#"[{{"functionCall":{{"name":"f","partialArgs":[{{"jsonPath":"{path}","stringValue":"x"}}]}}}}]"#
        );
        let joined = streamed(&[&parts]);
        assert_eq!(joined.calls().count(), 1, "{path}");
        assert!(joined.calls().all(|call| !call.arguments.as_str().contains('x')), "{path}");
    }
}

#[test]
fn absent_values_do_not_enable_features() {
    let request = decoded(
        r#"{"contents":[{"role":"model","parts":[{"text":"a","thought":false},
                {"text":"","functionCall":{"name":"f","args":{}},"thought":false}]}],
            "tools":[{"functionDeclarations":[{"name":"f"}],"codeExecution":null},{"googleSearch":null}]}"#,
    );
    assert_eq!(request.tools.len(), 1);
    let parts: &[Part] = &request.messages[0].parts;
    assert_eq!(parts[0], Part::text("a"));
    assert!(parts[1].as_call().is_some() && parts[1].extra.is_empty());
}
