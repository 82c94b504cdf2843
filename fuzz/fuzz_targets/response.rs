//! Any document as a response in each dialect: no panic, the decoded response encodes and decodes
//! to itself, splits and joins to itself, and can be encoded in every other dialect.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_core::Response;
use toolwright_core::event::{self, join, split};
use toolwright_dialects::dialect::{ChatCodec, ReplyContext, WireReply};
use toolwright_dialects::translate::{Options, Translator};
use toolwright_fuzz::{input, law, vary};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([from, to], _, body)) = input::document(data) else { return Corpus::Reject };
    let (Some(from), Some(to)) = (input::codec(*from), input::codec(*to)) else {
        return Corpus::Reject;
    };
    let room = law::room(&body);
    let wire = WireReply::ok(body);
    let Ok(response) = from.decode_response(wire.clone()) else { return Corpus::Keep };

    // A dialect may require additional fields; they are present after the first round trip.
    let again = round_trip(from, response.clone(), room);
    law::are_same_parts(&again.parts, &response.parts);
    assert_eq!(again.stop.reason, response.stop.reason);
    law::has_all(&again.stop.extra, &response.stop.extra);
    law::has_all(&again.extra, &response.extra);
    assert_eq!(round_trip(from, again.clone(), room), again);

    let events = split::split(response.clone());
    assert_eq!(event::law::check(&events), Ok(()));
    assert_eq!(join::join(events), Ok(response));

    let options = Options::default();
    let translated = Translator::new(from, to, &options).response(wire).expect("it was decoded");
    law::is_sound(&translated.value.body, room);
    to.decode_response(translated.value).expect("what was translated is decoded");
    Corpus::Keep
});

fn round_trip(codec: &dyn ChatCodec, response: Response, room: usize) -> Response {
    let wire = codec.encode_response(response, &ReplyContext::default());
    law::is_sound(&wire.body, room);
    codec.decode_response(wire).expect("what was encoded is decoded")
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
