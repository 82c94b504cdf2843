//! Anthropic: the response that its recorded stream joins to.

use toolwright_core::event::join::join;
use toolwright_dialects::dialect::{self, Dialect, ReplyContext, WireReply};

use crate::fixtures;

#[test]
fn the_stream_joins_to_the_whole_reply_law_3() {
    let codec = dialect::codec(Dialect::Anthropic).unwrap();
    let events = fixtures::events(
        codec,
        &fixtures::bytes(Dialect::Anthropic, "accepted/anthropic_stream.txt"),
    );
    let whole = fixtures::json(Dialect::Anthropic, "accepted/anthropic_tools.json");
    let whole = codec.decode_response(WireReply::ok(whole)).unwrap();
    assert_eq!(join(events).unwrap(), whole);
}

#[test]
fn a_stream_reports_the_container_with_its_stop_law_3() {
    let codec = dialect::codec(Dialect::Anthropic).unwrap();
    let container = r#""container":{"id":"c1","expires_at":"2026-11-15T00:00:00Z"}"#;
    let head = r#""id":"m","type":"message","role":"assistant","model":"x","content":[]"#;
    let usage = r#""usage":{"input_tokens":1,"output_tokens":2}"#;
    let stream = format!(
        "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{{head},\"stop_reason\":null,\"stop_details\":null,\"container\":null,{usage}}}}}\n\n\
         event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\",\"stop_sequence\":null,{container}}},{usage}}}\n\n\
         event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    );
    let whole = format!(r#"{{{head},"stop_reason":"end_turn",{container},{usage}}}"#);
    let whole = toolwright_core::Json::parse(&whole).unwrap();
    let response = codec.decode_response(WireReply::ok(whole.clone())).unwrap();
    assert_eq!(join(fixtures::events(codec, stream.as_bytes())).unwrap(), response);
    let again = codec.encode_response(response, &ReplyContext::default()).body;
    assert_eq!(again.get("container"), whole.get("container"));
}
