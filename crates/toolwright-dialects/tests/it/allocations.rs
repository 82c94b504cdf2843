//! Translations allocate little: compared with `serde_json`, which only parses the same bytes and writes them again.
//! Unlike times, these counts are the same on every machine and in every build.

use toolwright_core::Json;
use toolwright_dialects::dialect::{ChatCodec, WireReply, WireRequest};
use toolwright_dialects::translate::{Options, Translator};

use crate::fixtures;
use crate::golden::{context, pairs, request_of};

/// Allocations of a function.
fn count<T>(function: impl FnOnce() -> T) -> u64 {
    allocation_counter::measure(|| drop(std::hint::black_box(function()))).count_total
}

/// Allocations of parsing these bytes with `serde_json`, and of writing them.
fn floor(bytes: &[u8]) -> u64 {
    count(|| serde_json::from_slice::<serde_json::Value>(bytes).unwrap().to_string())
}

/// Asserts that no pair allocates more than this share of the floor, in percent.
fn assert_at_most(percent: u64, kind: &str, counts: &[(String, u64, u64)]) {
    assert_eq!(counts.len(), 81);
    let share = |(_, ours, floor): &(String, u64, u64)| 100 * ours / floor;
    let worst = counts.iter().max_by_key(|pair| share(pair)).unwrap();
    assert!(share(worst) <= percent, "{kind}: {worst:?} is {} % of the floor", share(worst));
}

#[test]
fn a_translated_request_allocates_little() {
    let options = Options::default();
    let pair = |(from, to): (&'static dyn ChatCodec, &'static dyn ChatCodec)| {
        let WireRequest { path, headers, body } = request_of(from);
        let bytes = body.compact().into_bytes();
        let wire = || WireRequest {
            path: path.clone(),
            headers: headers.clone(),
            body: Json::parse_bytes(&bytes).unwrap(),
        };
        let translate =
            || Translator::new(from, to, &options).request(wire()).unwrap().value.body.compact();
        translate();
        (format!("{} to {}", from.dialect(), to.dialect()), count(translate), floor(&bytes))
    };
    assert_at_most(400, "requests", &pairs().into_iter().map(pair).collect::<Vec<_>>());
}

#[test]
fn a_translated_response_allocates_little() {
    let (options, context) = (Options::default(), context());
    let pair = |(from, to): (&'static dyn ChatCodec, &'static dyn ChatCodec)| {
        let bytes =
            fixtures::json(from.dialect(), "synthetic/matrix_response.json").compact().into_bytes();
        let translator = Translator::new(from, to, &options).with_reply_context(&context);
        let translate = || {
            let wire = WireReply::ok(Json::parse_bytes(&bytes).unwrap());
            translator.response(wire).unwrap().value.body.compact()
        };
        translate();
        (format!("{} to {}", from.dialect(), to.dialect()), count(translate), floor(&bytes))
    };
    assert_at_most(320, "responses", &pairs().into_iter().map(pair).collect::<Vec<_>>());
}
