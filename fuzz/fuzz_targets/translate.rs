//! Any request of each dialect to each other: no panic, the target's codec decodes it, and fitting
//! it again changes nothing.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_dialects::dialect::{Target, WireRequest};
use toolwright_dialects::fit::fit;
use toolwright_fuzz::{input, law, vary};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([from, to], path, body)) = input::document(data) else { return Corpus::Reject };
    let (Some(from), Some(to)) = (input::codec(*from), input::codec(*to)) else {
        return Corpus::Reject;
    };
    let room = law::room(&body);
    let Ok(request) = from.decode_request(WireRequest { path, headers: vec![], body }) else {
        return Corpus::Keep;
    };
    let model = request.model.clone();
    let profile = to.profile(&Target { model: model.as_deref(), version: None });
    let fitted = fit(request, from.dialect(), &profile);

    let wire = to.encode_request(fitted.request.clone());
    law::is_sound(&wire.body, room);
    let again = to.decode_request(wire).expect("what was translated is decoded");
    let mut twice = fit(again.clone(), to.dialect(), &profile);
    // An invalid schema stays unchanged, and is reported each time.
    twice.losses.retain(|loss| loss.what != "left as it is");
    assert_eq!(twice.losses, []);
    assert_eq!(twice.request, again);
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
