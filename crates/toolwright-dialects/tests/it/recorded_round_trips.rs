//! Law 2: decoding and encoding returns the same document.

use toolwright_core::Json;
use toolwright_dialects::dialect::{ReplyContext, WireReply, lookup};

use crate::{fixtures, shapes, spelling};

#[test]
fn requests_return_law_2() {
    let mut count = 0;
    for codec in fixtures::codecs() {
        let shapes = shapes::requests(codec.dialect());
        for (name, wire) in fixtures::requests(codec.dialect()).into_iter().chain(shapes) {
            let request = codec
                .decode_request(wire.clone())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = codec.encode_request(request);
            spelling::assert_same(codec.dialect(), &name, &wire.body, &again.body);
            assert!(wire.path.is_empty() || again.path == wire.path, "{name}");
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn replies_return_law_2() {
    let mut count = 0;
    for codec in fixtures::codecs() {
        for (name, wire) in fixtures::replies(codec.dialect()) {
            let response = codec
                .decode_response(wire.clone())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = codec.encode_response(response, &ReplyContext::default());
            spelling::assert_same(codec.dialect(), &name, &wire.body, &again.body);
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn faults_return_law_2() {
    for codec in fixtures::codecs() {
        let keep = |name: &str| {
            name.contains("_error_") && name.ends_with(".json") && !name.contains("parsed")
        };
        for name in fixtures::names(codec.dialect(), "accepted", keep) {
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            let status = digits[..3].parse().unwrap();
            let body = fixtures::json(codec.dialect(), &format!("accepted/{name}"));
            let wire = WireReply { status, headers: vec![], body: body.clone() };
            let fault = codec.decode_fault(wire);
            let again = codec.encode_fault(&fault);
            assert_eq!(again.status, status, "{name}");
            spelling::assert_same(codec.dialect(), &name, &body, &again.body);
        }
    }
}

#[test]
fn faults_return_with_codes_and_statuses_that_are_not_in_the_tables_law_2() {
    for (id, status, body) in [
        ("anthropic", 409, r#"{"type":"error","error":{"type":"conflict_error","message":"m"}}"#),
        ("gemini", 400, r#"{"error":{"code":400,"message":"m","status":"FAILED_PRECONDITION"}}"#),
        ("gemini", 409, r#"{"error":{"code":409,"message":"m","status":"ABORTED"}}"#),
        ("mistral", 422, r#"{"object":"error","message":"m","type":"invalid_request_error"}"#),
        ("mistral", 502, r#"{"object":"error","message":"m","type":"bad_gateway"}"#),
        ("cohere", 499, r#"{"message":"m"}"#),
        ("openai-chat", 409, r#"{"error":{"message":"m","type":"conflict"}}"#),
        ("openai-responses", 409, r#"{"error":{"message":"m","type":"conflict"}}"#),
    ] {
        let codec = lookup(id).unwrap();
        let body = Json::parse(body).unwrap();
        let fault = codec.decode_fault(WireReply { status, headers: vec![], body: body.clone() });
        let again = codec.encode_fault(&fault);
        assert_eq!(again.status, status, "{id}");
        spelling::assert_same(codec.dialect(), id, &body, &again.body);
    }
}
