//! Any document as a request in each dialect: no panic, and the decoded and fitted request encodes
//! and decodes to itself.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_core::Request;
use toolwright_dialects::dialect::{Target, WireRequest};
use toolwright_dialects::fit::fit;
use toolwright_fuzz::{input, law, vary};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([dialect], path, body)) = input::document(data) else { return Corpus::Reject };
    let Some(codec) = input::codec(*dialect) else { return Corpus::Reject };
    let room = law::room(&body);
    let Ok(request) = codec.decode_request(WireRequest { path, headers: vec![], body }) else {
        return Corpus::Keep;
    };
    let wire = codec.encode_request(request.clone());
    law::is_sound(&wire.body, room);
    let again = codec.decode_request(wire).expect("what was encoded is decoded");
    assert_eq!(again.extra, request.extra);
    let target = Target { model: request.model.as_deref(), version: None };
    let profile = codec.profile(&target);
    let legal = fit(request, codec.dialect(), &profile).request;
    let wire = codec.encode_request(legal.clone());
    law::is_sound(&wire.body, room);
    let again = codec.decode_request(wire).expect("what was encoded is decoded");
    law::are_same_tools(&again.tools, &legal.tools);
    // Fitting may leave extra fields that the changed request does not use.
    let tools = again.tools.clone();
    let legal = Request { extra: again.extra.clone(), tools, ..legal };
    assert_eq!(again, legal);
    let twice = codec.decode_request(codec.encode_request(again.clone()));
    assert_eq!(twice, Ok(again));
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
