//! OpenAI Responses: what its recorded stream joins to.

use toolwright_core::dialect::{Dialect, WireReply};
use toolwright_core::event::join::join;

use crate::fixtures;

#[test]
fn law_3_the_stream_joins_to_the_whole_reply() {
    let codec = Dialect::OpenaiResponses.codec().unwrap();
    let dialect = codec.dialect();
    let events =
        fixtures::events(codec, &fixtures::bytes(dialect, "accepted/openai_responses_stream.txt"));
    let whole = fixtures::json(dialect, "accepted/openai_responses_tools.json");
    let whole = codec.decode_response(WireReply::ok(whole)).unwrap();
    assert_eq!(join(events).unwrap(), whole);
}
