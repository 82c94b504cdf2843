//! Replies with blocks of tools that the vendor runs: their stream decodes, joins and translates
//! like the whole reply.

use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::{Body, Json, Part, Response};
use toolwright_dialects::dialect::{self, ChatCodec, Dialect, ReplyContext, WireReply};
use toolwright_dialects::translate::{Entry, Options, Translator};

use crate::fixtures;

/// The dialects with a `hosted_response.json` and a `hosted_stream.txt`. Bedrock's stream is
/// binary; its own tests cover the same.
const HOSTED: [Dialect; 3] = [Dialect::Anthropic, Dialect::Gemini, Dialect::OpenaiResponses];

fn whole(codec: &dyn ChatCodec) -> Response {
    let body = fixtures::json(codec.dialect(), "synthetic/hosted_response.json");
    fixtures::response(codec, &body)
}

fn stream(dialect: Dialect) -> Vec<u8> {
    fixtures::bytes(dialect, "synthetic/hosted_stream.txt")
}

/// Compares opaque blocks regardless of the order of their fields, which may differ from the wire.
fn assert_same_parts(dialect: Dialect, left: &[Part], right: &[Part]) {
    assert_eq!(left.len(), right.len(), "{dialect}");
    for (left, right) in left.iter().zip(right) {
        match (&left.body, &right.body) {
            (Body::Opaque(left), Body::Opaque(right)) => {
                assert!(left.value.same(&right.value), "{dialect} {left:?} {right:?}");
            }
            _ => assert_eq!(left, right, "{dialect}"),
        }
    }
}

#[test]
fn a_stream_with_hosted_blocks_joins_to_the_whole_reply() {
    for dialect in HOSTED {
        let codec = dialect::codec(dialect).unwrap();
        let (whole, joined) = (whole(codec), join(fixtures::events(codec, &stream(dialect))));
        let joined = joined.unwrap();
        assert!(whole.parts.iter().any(|part| matches!(part.body, Body::Opaque(_))), "{dialect}");
        assert_same_parts(dialect, &joined.parts, &whole.parts);
        assert_eq!((joined.stop, joined.usage), (whole.stop, whole.usage), "{dialect}");
    }
}

#[test]
fn hosted_blocks_return_in_a_stream_of_their_own_dialect() {
    for dialect in HOSTED {
        let codec = dialect::codec(dialect).unwrap();
        let whole = whole(codec);
        let frames = fixtures::encoded(codec, split(whole.clone()), &ReplyContext::default());
        let again = join(fixtures::decoded(codec, frames)).unwrap();
        assert_same_parts(dialect, &again.parts, &whole.parts);
    }
}

#[test]
fn a_stream_with_hosted_blocks_translates_like_the_whole_reply() {
    let options = Options::default();
    for from in HOSTED {
        for to in fixtures::codecs().into_iter().filter(|to| to.dialect() != from) {
            let pair = format!("{from} to {}", to.dialect());
            let translator = Translator::new(dialect::codec(from).unwrap(), to, &options);
            let body = fixtures::json(from, "synthetic/hosted_response.json");
            let whole = translator.response(WireReply::ok(body)).unwrap();
            let value = to.decode_response(whole.value).unwrap();
            let mut bytes = Vec::new();
            let mut streaming = translator.stream();
            streaming.push(&stream(from), &mut bytes).unwrap_or_else(|error| panic!("{error}"));
            streaming.finish(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
            let report = streaming.report();
            let streamed = join(fixtures::events(to, &bytes)).unwrap();
            assert_eq!(said(&streamed), said(&value), "{pair}");
            assert_eq!(streamed.stop.reason, value.stop.reason, "{pair}");
            // Blocks of a stream have no path of their own, so their losses are merged into one.
            let dropped =
                |entries: &[Entry]| entries.iter().any(|entry| entry.loss.what == "block dropped");
            assert!(dropped(&report.losses) && dropped(&whole.report.losses), "{pair}");
        }
    }
}

/// The text, and the calls by name and arguments.
fn said(response: &Response) -> (String, Vec<(String, Json)>) {
    let calls = response
        .calls()
        .map(|call| (call.name.clone(), Json::parse(call.arguments.as_str()).unwrap()));
    (response.text(), calls.collect())
}
