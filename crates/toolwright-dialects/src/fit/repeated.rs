//! Repeated outcomes of a call.

use std::collections::BTreeMap;

use toolwright_core::loss::{Severity, Site};
use toolwright_core::{Body, Call, Message, Outcome, Part};

use super::Work;

/// Removes an outcome that repeats one of the same call, as Gemini CLI sends them when it resumes a
/// session: other vendors accept one outcome for each call.
///
/// Runs before media leave their outcomes, so that those of a repeated outcome are removed with it,
/// and again after that, because two outcomes may differ only in content that the target does not
/// accept.
pub(super) fn pass(work: &mut Work<'_>) {
    if !has_repeated_ids(&work.request.messages) {
        return;
    }
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut answered: BTreeMap<&str, &Outcome> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (at, message) in work.request.messages.iter().enumerate() {
        for (index, part) in message.parts.iter().enumerate() {
            match &part.body {
                Body::Call(Call { id: Some(id), .. }) => *open.entry(id).or_default() += 1,
                Body::Outcome(outcome) => {
                    let Some(id) = &outcome.call_id else { continue };
                    let waiting = open.entry(id).or_default();
                    if *waiting == 0
                        && answered.get(id.as_str()).is_some_and(|own| is_same(own, outcome))
                    {
                        repeated.push((at, index));
                    }
                    *waiting = waiting.saturating_sub(1);
                    answered.insert(id, outcome);
                }
                _ => {}
            }
        }
    }
    let mut origins = Vec::new();
    let mut repeated = repeated.into_iter().peekable();
    for (at, message) in work.request.messages.iter_mut().enumerate() {
        let mut index = 0;
        message.parts.retain(|part| {
            let is_repeated = repeated.next_if_eq(&(at, index)).is_some();
            index += 1;
            origins.extend(is_repeated.then(|| part.origin.clone()));
            !is_repeated
        });
    }
    if origins.is_empty() {
        return;
    }
    work.request.messages.retain(|message| !message.parts.is_empty());
    for origin in &origins {
        let why = "the target takes one outcome for each call";
        work.lose(Severity::Note, Site::of(origin), "repeated outcome dropped", why);
    }
}

/// Whether two outcomes of a call are equal. The id identifies the call, whatever tool they name.
fn is_same(one: &Outcome, other: &Outcome) -> bool {
    one.content == other.content && one.is_error() == other.is_error()
}

/// Whether two outcomes have the same id, which is rare and cheap to check.
fn has_repeated_ids(messages: &[Message]) -> bool {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let outcomes = parts.filter_map(Part::as_outcome);
    let mut ids: Vec<&str> = outcomes.filter_map(|outcome| outcome.call_id.as_deref()).collect();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}
