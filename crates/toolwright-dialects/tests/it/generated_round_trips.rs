//! Laws 1, 4, 7 and 8 for generated values.

use proptest::prelude::*;
use toolwright_core::event::{join, law, split};
use toolwright_core::profile::Profile;
use toolwright_core::{Body, Request, Response, StopReason};
use toolwright_dialects::dialect::{ChatCodec, ReplyContext, Target};
use toolwright_dialects::fit::alias::{is_legal_id, is_legal_name};
use toolwright_dialects::fit::restore::{self, Restorer};
use toolwright_dialects::fit::{Aliases, fit};

use toolwright_testing::seeds;

use crate::{fixtures, generate};

const CASES: u32 = 64;

fn profile(codec: &dyn ChatCodec) -> Profile {
    codec.profile(&Target { model: Some("model-1"), version: None })
}

fn restorer(from: &dyn ChatCodec, to: &dyn ChatCodec) -> Restorer {
    Restorer::new(Aliases::default(), &profile(from), profile(to))
}

/// Checks a property for each dialect.
fn every<S: Strategy>(
    strategy: impl Fn(&dyn ChatCodec) -> S,
    property: impl Fn(&dyn ChatCodec, S::Value) -> Result<(), TestCaseError>,
) {
    for codec in fixtures::codecs() {
        let property = |value| property(codec, value);
        seeds::check_values(codec.dialect(), CASES, &strategy(codec), property);
    }
}

#[test]
fn a_legal_request_returns_law_1() {
    every(
        |codec| generate::request(codec.dialect()),
        |codec, request| {
            let legal: Request = fit(request, codec.dialect(), &profile(codec)).request;
            let wire = codec.encode_request(legal.clone());
            let again = codec
                .decode_request(wire)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(again, legal);
            Ok(())
        },
    );
}

#[test]
fn a_legal_response_returns_law_1() {
    every(
        |codec| generate::response(codec.dialect()),
        |codec, response| {
            let legal: Response = restorer(codec, codec).response(response);
            let wire = codec.encode_response(legal.clone(), &ReplyContext::default());
            let again = codec
                .decode_response(wire)
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            // A dialect may require additional fields in every reply, such as the creation time.
            let again = Response { extra: legal.extra.clone(), ..again };
            prop_assert_eq!(again, legal);
            Ok(())
        },
    );
}

#[test]
fn fitting_generated_requests_is_idempotent() {
    every(
        |codec| generate::request(codec.dialect()),
        |codec, request| {
            let once = fit(request, codec.dialect(), &profile(codec)).request;
            let twice = fit(once.clone(), codec.dialect(), &profile(codec));
            prop_assert_eq!(twice.losses, vec![]);
            prop_assert_eq!(twice.request, once);
            Ok(())
        },
    );
}

#[test]
fn split_and_joined_any_response_returns_law_4() {
    every(
        |codec| generate::response(codec.dialect()),
        |_, response| {
            let events = split::split(response.clone());
            prop_assert_eq!(law::check(&events), Ok(()));
            prop_assert_eq!(join::join(events).unwrap(), response);
            Ok(())
        },
    );
}

#[test]
fn a_restored_stream_joins_to_the_restored_response_law_3() {
    every(
        |codec| generate::response(codec.dialect()),
        |codec, mut response| {
            // While it arrives, invalid JSON cannot be distinguished from valid JSON.
            response
                .parts
                .retain(|part| part.as_call().is_none_or(|call| call.arguments.is_object()));
            for to in fixtures::codecs() {
                let whole = restorer(codec, to).response(response.clone());
                let mut restorer = restorer(codec, to);
                let mut events = Vec::new();
                for event in split::split(response.clone()) {
                    restorer.event(event, &mut events);
                }
                prop_assert_eq!(
                    law::check(&events),
                    Ok(()),
                    "{} → {}",
                    codec.dialect(),
                    to.dialect()
                );
                prop_assert_eq!(
                    join::join(events).unwrap(),
                    whole,
                    "{} → {}",
                    codec.dialect(),
                    to.dialect()
                );
            }
            Ok(())
        },
    );
}

#[test]
fn names_and_ids_are_legal_and_return_law_8() {
    every(
        |codec| generate::request(codec.dialect()),
        |codec, request| {
            let profile = profile(codec);
            let fitted = fit(request.clone(), codec.dialect(), &profile);
            let mut names = std::collections::BTreeSet::new();
            for tool in &fitted.request.tools {
                prop_assert!(is_legal_name(&profile.names, &tool.name), "{}", tool.name);
                prop_assert!(names.insert(tool.name.clone()), "{} twice", tool.name);
            }
            let calls = |request: &Request| -> Vec<(Option<String>, String)> {
                let parts = request.messages.iter().flat_map(|message| &message.parts);
                let calls = parts.filter_map(|part| part.as_call());
                calls.map(|call| (call.id.clone(), call.name.clone())).collect()
            };
            for (id, name) in calls(&fitted.request) {
                prop_assert!(is_legal_name(&profile.names, &name), "{name}");
                prop_assert!(id.is_none_or(|id| is_legal_id(&profile.ids, &id)));
            }
            let pairs = |request: &Request| -> Vec<Option<String>> {
                let parts = request.messages.iter().flat_map(|message| &message.parts);
                let outcomes = parts.filter_map(|part| match &part.body {
                    Body::Outcome(outcome) => Some(outcome.call_id.clone()),
                    _ => None,
                });
                outcomes.collect()
            };
            let restored = restore::request(fitted.request, &fitted.aliases);
            prop_assert_eq!(calls(&restored), calls(&request));
            prop_assert_eq!(pairs(&restored), pairs(&request));
            Ok(())
        },
    );
}

#[test]
fn a_legal_response_streams_as_it_is_whole_law_3() {
    every(
        |codec| generate::response(codec.dialect()),
        |codec, response| {
            let legal = restorer(codec, codec).response(response);
            // A failed vendor stream ends in a fault.
            prop_assume!(legal.stop.reason != StopReason::Failed);
            let asked = ReplyContext { stream_usage: true, ..ReplyContext::default() };
            let wire = codec.encode_response(legal.clone(), &asked);
            let whole = codec.decode_response(wire).unwrap();
            let mut encoder = codec.stream_encoder(&asked);
            let mut frames = Vec::new();
            for event in split::split(legal) {
                encoder.encode(event, &mut frames);
            }
            let mut decoder = codec.stream_decoder();
            let mut events = Vec::new();
            for frame in &frames {
                decoder.decode(frame, &mut events).unwrap();
            }
            decoder.finish(&mut events);
            prop_assert_eq!(law::check(&events), Ok(()));
            prop_assert_eq!(join::join(events).unwrap().parts, whole.parts);
            Ok(())
        },
    );
}
