//! Bodies that are not replies, and calls without a name or arguments.

use toolwright_core::event::join::join;
use toolwright_core::{Json, Response};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect, WireReply};
use toolwright_dialects::frame::Frame;

use crate::fixtures;

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn a_body_that_is_not_a_reply_is_refused_in_every_dialect() {
    for codec in fixtures::codecs() {
        for body in [
            r#"{"detail":"Not Found"}"#,
            "{}",
            r#""ok""#,
            "[]",
            "null",
            r#"{"status":"ok"}"#,
            r#"{"object":"list","data":[]}"#,
        ] {
            let error = codec.decode_response(WireReply::ok(parse(body)));
            let error = error.expect_err(body);
            assert_eq!(error.pointer, "", "{} {body}", codec.dialect());
        }
        let body = parse(r#"{"error":{"message":"no such model","type":"not_found_error"}}"#);
        let error = codec.decode_response(WireReply::ok(body)).unwrap_err();
        assert_eq!(error.pointer, "/error", "{}", codec.dialect());
        assert!(error.to_string().contains("this is an error"), "{error}");
    }
}

fn chat() -> &'static dyn ChatCodec {
    dialect::codec(Dialect::OpenaiChat).unwrap()
}

fn chat_reply(message: &str) -> Response {
    let body = format!(
        r#"{{"id":"x","object":"chat.completion","model":"m",
            "choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#
    );
    chat().decode_response(WireReply::ok(parse(&body))).unwrap()
}

fn chat_stream(deltas: &[&str]) -> Response {
    let chunk = |delta: &str, stop: &str| {
        Frame::data(format!(
            r#"{{"id":"x","object":"chat.completion.chunk","model":"m",
                "choices":[{{"index":0,"delta":{delta},"finish_reason":{stop}}}]}}"#
        ))
    };
    let mut frames: Vec<Frame> = deltas.iter().map(|delta| chunk(delta, "null")).collect();
    frames.push(chunk("{}", r#""stop""#));
    frames.push(Frame::data("[DONE]"));
    join(fixtures::decoded(chat(), frames)).unwrap()
}

#[test]
fn null_arguments_count_as_none() {
    let call = |text: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[
                {{"id":"c","type":"function","index":0,"function":{{"name":"now","arguments":{text}}}}}]}}"#
        )
    };
    for text in [r#""null""#, r#"" null ""#, r#""""#, "null", r#""{}""#] {
        let whole = chat_reply(&call(text));
        let arguments: Vec<&str> = whole.calls().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, ["{}"], "{text}");
        let streamed = chat_stream(&[&call(text)]);
        let arguments: Vec<&str> = streamed.calls().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, ["{}"], "{text}");
    }
}

#[test]
fn null_in_fragments_never_reaches_a_client() {
    let fragment = |text: &str| {
        format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{text}"}}}}]}}"#)
    };
    let head = r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}"#;
    for (fragments, arguments) in [
        (vec!["n", "ul", "l"], "{}"),
        (vec!["nu", "mber"], "number"),
        (vec!["nul"], "nul"),
        (vec!["{", "}"], "{}"),
        (vec![r#"{\"a\":"#, "null}"], r#"{"a":null}"#),
    ] {
        let fragments: Vec<String> = fragments.into_iter().map(fragment).collect();
        let mut deltas = vec![head];
        deltas.extend(fragments.iter().map(String::as_str));
        let joined = chat_stream(&deltas);
        let said: Vec<&str> = joined.calls().map(|call| call.arguments.as_str()).collect();
        assert_eq!(said, [arguments]);
    }
}

#[test]
fn a_zero_valued_function_call_is_ignored() {
    let zero = r#""function_call":{"name":"","arguments":""}"#;
    let whole = chat_reply(&format!(r#"{{"role":"assistant","content":"hi",{zero}}}"#));
    assert_eq!((whole.calls().count(), whole.text().as_str()), (0, "hi"));
    let listed = r#"{"role":"assistant","content":"hi","tool_calls":[
        {"id":"","type":"","function":{"name":"","arguments":""}}]}"#;
    assert_eq!(chat_reply(listed).calls().count(), 0);
    let streamed = chat_stream(&[
        &format!(r#"{{"role":"assistant","content":"h",{zero}}}"#),
        &format!(r#"{{"content":"i",{zero}}}"#),
    ]);
    assert_eq!((streamed.calls().count(), streamed.text().as_str()), (0, "hi"));
}
