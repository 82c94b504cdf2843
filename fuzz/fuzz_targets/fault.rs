//! Any document as a failure in each dialect: it always decodes to a fault, which encodes and
//! decodes to itself, and can be encoded in every other dialect.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};
use toolwright_dialects::dialect::WireReply;
use toolwright_fuzz::{input, law, vary};

/// The headers that some dialect reads.
const HEADERS: [&str; 4] = ["retry-after", "request-id", "x-amzn-requestid", "x-amzn-errortype"];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(([from, to], line, body)) = input::document(data) else { return Corpus::Reject };
    let (Some(from), Some(to)) = (input::codec(*from), input::codec(*to)) else {
        return Corpus::Reject;
    };
    let (status, values) = line.split_once(' ').unwrap_or((&line, ""));
    let named = HEADERS.iter().zip(values.split(' '));
    let headers = named.map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect();
    let room = law::room(&body);
    let wire = WireReply { status: status.parse().unwrap_or(500), headers, body };

    let fault = from.decode_fault(wire);
    let encoded = from.encode_fault(&fault);
    law::is_sound(&encoded.body, room);
    // Not every status exists in every dialect; the class is preserved.
    let again = from.decode_fault(encoded);
    assert_eq!((again.class, &again.message), (fault.class, &fault.message));
    assert_eq!(from.decode_fault(from.encode_fault(&again)), again);

    let told = to.encode_fault(&fault);
    law::is_sound(&told.body, room);
    assert_eq!(to.decode_fault(told).class.is_retryable(), fault.class.is_retryable());
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    vary::document(data, size, max_size, seed)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    vary::cross(one, other, out, seed)
});
