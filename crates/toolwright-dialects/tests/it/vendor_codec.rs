//! Encodes canonical requests for one vendor and decodes its replies, without a second dialect.

use toolwright_core::event::join::join;
use toolwright_core::part::CacheMark;
use toolwright_core::tool::ToolKind;
use toolwright_core::{Json, Message, Part, Request, Response, Tool};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect};
use toolwright_dialects::fit::Aliases;
use toolwright_dialects::translate::VendorCodec;

use crate::fixtures;

fn encode(dialect: Dialect, request: Request) -> (Json, Vec<String>) {
    let encoded = VendorCodec::new(dialect::codec(dialect).unwrap()).encode_request(request);
    let losses = encoded.report.losses.iter().map(|entry| entry.path.clone()).collect();
    (encoded.value.body, losses)
}

#[test]
fn losses_have_paths_in_the_request() {
    let mut user = Message::user("hi");
    user.parts[0].cache = Some(CacheMark::default());
    let mut tool = Tool::function("now", Json::parse(r#"{"type":"object"}"#).unwrap());
    tool.cache = Some(CacheMark::default());
    let request = Request::new([Message::system("be brief"), user]).with_tools([tool]);
    let (_, losses) = encode(Dialect::Cohere, request);
    assert_eq!(losses, ["/tools/0/cache", "/messages/0/parts/0/cache"]);
}

#[test]
fn hosted_tools_belong_to_the_requested_vendor() {
    let hosted = Tool {
        name: "web_search".to_owned(),
        kind: ToolKind::Hosted(Json::parse(r#"{"type":"web_search"}"#).unwrap()),
        ..Tool::default()
    };
    let request = Request::new([Message::user("hi")]).with_tools([hosted]);
    let (body, losses) = encode(Dialect::OpenaiResponses, request);
    assert_eq!(body.pointer("/tools/0/type").and_then(Json::as_str), Some("web_search"));
    assert_eq!(losses, [""; 0]);
}

#[test]
fn a_stream_is_requested_with_usage() {
    let request = Request { stream: Some(true), ..Request::new([Message::user("hi")]) };
    let (body, _) = encode(Dialect::OpenaiChat, request);
    let asked = body.pointer("/stream_options/include_usage").and_then(Json::as_bool);
    assert_eq!(asked, Some(true));
}

fn decode_stream(codec: &dyn ChatCodec, bytes: &[u8]) -> (Response, usize) {
    let mut decoder = VendorCodec::new(codec).decode_stream(&Aliases::default());
    let mut events = Vec::new();
    for byte in bytes.chunks(7) {
        decoder.push(byte, &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    (join(events).unwrap(), decoder.report().losses.len())
}

#[test]
fn decoding_a_vendors_reply_loses_nothing() {
    for codec in fixtures::codecs() {
        let vendor = VendorCodec::new(codec);
        for (name, wire) in fixtures::replies(codec.dialect()) {
            let direct = codec.decode_response(wire.clone()).unwrap();
            let restored = vendor.decode_response(wire, &Aliases::default()).unwrap();
            assert_eq!(restored.report.losses, [], "{name}");
            assert_eq!(with_ids(direct), with_ids(restored.value.clone()), "{name}");
            assert!(restored.value.calls().all(|call| call.id.is_some()), "{name}");
        }
        let (streamed, losses) = decode_stream(codec, &fixtures::matrix_stream(codec.dialect()));
        assert_eq!((streamed.calls().count(), losses), (2, 0), "{}", codec.dialect());
    }
}

/// Calls without an id get one in the library.
fn with_ids(mut response: Response) -> Response {
    for part in &mut response.parts {
        if let toolwright_core::Body::Call(call) = &mut part.body {
            call.id = None;
        }
    }
    response
}

#[test]
fn calls_keep_their_names_and_arguments() {
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\
        \"function\":{\"name\":\"now\",\"arguments\":\"{\\\"zone\\\": \"}}]}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
        data: [DONE]\n\n";
    let (response, losses) =
        decode_stream(dialect::codec(Dialect::OpenaiChat).unwrap(), stream.as_bytes());
    let call = response.calls().next().unwrap();
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("now", "{\"zone\": "));
    assert_eq!(losses, 0);
}

#[test]
fn a_response_contains_its_losses() {
    let mut user = Message::user("hi");
    user.parts[0].cache = Some(CacheMark::default());
    let codec = dialect::codec(Dialect::Cohere).unwrap();
    let report = VendorCodec::new(codec).encode_request(Request::new([user])).report;
    let mut response = Response::new(vec![Part::text("hello")]);
    assert_eq!(response.losses().count(), 0);
    report.attach_to(Dialect::Cohere, &mut response.extra);
    let paths: Vec<_> = response.losses().map(|loss| loss.get("path").cloned()).collect();
    assert_eq!(paths, [Some(Json::from("/messages/0/parts/0/cache"))]);
    let written =
        codec.encode_response(response, &toolwright_dialects::dialect::ReplyContext::default());
    assert!(!written.body.to_string().contains("losses"), "{}", written.body);
}
