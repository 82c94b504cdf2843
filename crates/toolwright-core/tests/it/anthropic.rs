//! Anthropic: what its recorded stream joins to.

use toolwright_core::dialect::Dialect;
use toolwright_core::event::join::join;

use crate::fixtures;

#[test]
fn law_3_the_stream_joins_to_the_whole_reply() {
    let codec = Dialect::Anthropic.codec().unwrap();
    let events = fixtures::events(
        codec,
        &fixtures::bytes(Dialect::Anthropic, "accepted/anthropic_stream.txt"),
    );
    let whole = fixtures::json(Dialect::Anthropic, "accepted/anthropic_tools.json");
    let whole = codec.decode_response(toolwright_core::dialect::WireReply::ok(whole)).unwrap();
    assert_eq!(join(events).unwrap(), whole);
}
