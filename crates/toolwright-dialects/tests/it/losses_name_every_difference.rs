//! Law 7: from A to B and back is the original, or the losses name every leaf that differs, and no
//! other.

use proptest::prelude::*;
use toolwright_core::{Body, Json, Message, Part, Request, Role};
use toolwright_dialects::dialect::{ChatCodec, Target, WireReply, WireRequest};
use toolwright_dialects::fit::fit;
use toolwright_dialects::translate::{Entry, Options, Report, Translator};

use toolwright_testing::seeds;

use crate::{document_diff, fixtures, generate, shapes, spelling};

/// A document after a round trip: before, after, and the losses of both directions.
struct Journey {
    original: Json,
    again: Json,
    there: Report,
    back: Report,
}

/// Compares the losses of the first direction with the differences. Losses of the return direction
/// count if they concern the whole document, with paths in the spelling of A.
fn check(from: &dyn ChatCodec, journey: &Journey) -> Vec<String> {
    let original = one_mode(spelling::meaning(from.dialect(), &journey.original));
    let again = one_mode(spelling::meaning(from.dialect(), &journey.again));
    let lost = document_diff::lost(&original, &again);
    // A list that has grown has changed as well, and may be named.
    let grown: Vec<String> = document_diff::grown(&original, &again);
    let grown: Vec<String> = grown.into_iter().filter(|pointer| !pointer.is_empty()).collect();
    let path = |entry: &Entry| spelling::path(from.dialect(), &entry.path);
    let whole = journey.back.losses.iter().map(|entry| &entry.loss.site);
    let whole = whole.filter(|site| site.origin.pointer().is_none());
    let back: Vec<String> = whole.map(|site| site.pointer(from.field_paths())).collect();
    let mut wrong = Vec::new();
    for pointer in &lost {
        let mut named = journey.there.losses.iter().map(path).chain(back.iter().cloned());
        if !named.any(|path| !path.is_empty() && document_diff::covers(&path, pointer)) {
            wrong.push(format!("lost in silence: {pointer}"));
        }
    }
    for entry in &journey.there.losses {
        // A lost value may be present again because the return direction requires it.
        let field = entry.loss.site.field.as_ref();
        if journey.back.additions.iter().any(|addition| addition.field == field) {
            continue;
        }
        if !lost.iter().chain(&grown).any(|pointer| document_diff::covers(&path(entry), pointer)) {
            wrong.push(format!("reported, yet it returned: {entry}"));
        }
    }
    wrong
}

/// Claude has two values for "on". The presence of a budget distinguishes them, and the budget is
/// compared separately.
fn one_mode(mut body: Json) -> Json {
    for place in [&["thinking"][..], &["additionalModelRequestFields", "thinking"]] {
        let mut thinking = body.as_object_mut();
        for key in place {
            thinking = thinking.and_then(|own| own.get_mut(key)?.as_object_mut());
        }
        let mode = thinking.and_then(|own| own.get_mut("type"));
        if let Some(mode) = mode.filter(|mode| mode.as_str() == Some("enabled")) {
            *mode = "adaptive".into();
        }
    }
    body
}

fn request(from: &dyn ChatCodec, to: &dyn ChatCodec, wire: WireRequest) -> Journey {
    let original = wire.body.clone();
    let options = Options::default();
    let there = Translator::new(from, to, &options).request(wire).unwrap();
    let aliases = there.report.aliases.clone();
    let model = there.report.model.clone();
    let options = Options { model, ..Options::default() };
    let back = Translator::new(to, from, &options).with_aliases(&aliases);
    let back = back.request(there.value).unwrap();
    Journey { original, again: back.value.body, there: there.report, back: back.report }
}

fn response(from: &dyn ChatCodec, to: &dyn ChatCodec, wire: WireReply) -> Journey {
    let original = own_words(from, &wire.body);
    let options = Options::default();
    let there = Translator::new(from, to, &options).response(wire).unwrap();
    let back = Translator::new(to, from, &options).with_aliases(&there.report.aliases);
    let back = back.response(there.value).unwrap();
    let again = own_words(from, &back.value.body);
    Journey { original, again, there: there.report, back: back.report }
}

/// A reply without its id and without members copied from the request.
fn own_words(codec: &dyn ChatCodec, body: &Json) -> Json {
    let echoes = codec.profile(&Target::default()).reply.echoes;
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut() {
        for key in echoes.iter().chain(&["id", "responseId"]) {
            body.remove(key);
        }
    }
    body
}

/// Translates every document of every dialect to every dialect and back.
fn every<T>(
    documents: impl Fn(&dyn ChatCodec) -> Vec<(String, T)>,
    journey: impl Fn(&dyn ChatCodec, &dyn ChatCodec, T) -> Journey,
) where
    T: Clone,
{
    let mut wrong = Vec::new();
    for from in fixtures::codecs() {
        for (name, wire) in documents(from) {
            for to in fixtures::codecs() {
                let deviations = check(from, &journey(from, to, wire.clone()));
                let pair = format!("{} → {} {name}", from.dialect(), to.dialect());
                wrong
                    .extend(deviations.into_iter().map(|deviation| format!("{pair}: {deviation}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} deviations:\n{}", wrong.len(), wrong.join("\n"));
}

/// Separates user messages that a target might merge, and removes media from outcomes that might
/// have to follow in a message of their own. Other tests cover both.
fn separate(request: &mut Request) {
    let mut messages: Vec<Message> = Vec::new();
    for mut message in std::mem::take(&mut request.messages) {
        if messages.last().is_some_and(|last| last.role != Role::Assistant)
            && message.role == Role::User
        {
            messages.push(Message::assistant("好"));
        }
        for part in &mut message.parts {
            if let Body::Outcome(outcome) = &mut part.body {
                outcome.content.retain(|part| !matches!(part.body, Body::Media(_)));
            }
        }
        // Reasoning alone cannot return to a vendor that requires a signature, nor can its message.
        if message.parts.iter().all(|part| matches!(part.body, Body::Reasoning(_))) {
            message.parts.push(Part::text("好"));
        }
        messages.push(message);
    }
    request.messages = messages;
}

/// Encodes generated requests in A and checks them like recorded documents.
#[test]
fn any_request_returns_or_its_losses_are_named_law_7() {
    for from in fixtures::codecs() {
        let strategy = generate::request(from.dialect());
        seeds::check_values(from.dialect(), 48, &strategy, |value| {
            let profile = from.profile(&Target { model: Some("model-1"), version: None });
            let mut legal = fit(value, from.dialect(), &profile).request;
            separate(&mut legal);
            let wire = from.encode_request(legal);
            for to in fixtures::codecs() {
                let wrong = check(from, &request(from, to, wire.clone()));
                prop_assert!(
                    wrong.is_empty(),
                    "→ {}: {}\n{}",
                    to.dialect(),
                    wrong.join("\n"),
                    wire.body
                );
            }
            Ok(())
        });
    }
}

#[test]
fn requests_return_or_their_losses_are_named_law_7() {
    every(|codec| fixtures::requests(codec.dialect()), request);
}

#[test]
fn responses_return_or_their_losses_are_named_law_7() {
    every(|codec| fixtures::replies(codec.dialect()), response);
}

#[test]
fn unusual_requests_return_or_their_losses_are_named_law_7() {
    every(|codec| shapes::requests(codec.dialect()), request);
}

#[test]
fn unusual_responses_return_or_their_losses_are_named_law_7() {
    every(|codec| shapes::replies(codec.dialect()), response);
}
