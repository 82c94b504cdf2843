//! Outcomes that a client sends twice.

use std::collections::BTreeMap;

use super::{Severity, Site, Work};
use crate::call::Call;
use crate::outcome::Outcome;
use crate::part::Body;

/// Drops an outcome that repeats one of the same call, as Gemini CLI sends them when it resumes a
/// session: other vendors take one outcome for each call.
pub(super) fn pass(work: &mut Work<'_>) {
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
                    if *waiting == 0 && answered.get(id.as_str()) == Some(&outcome) {
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
    for (at, index) in repeated.into_iter().rev() {
        let Some(message) = work.request.messages.get_mut(at) else { continue };
        origins.push(message.parts.remove(index).origin);
    }
    if origins.is_empty() {
        return;
    }
    work.request.messages.retain(|message| !message.parts.is_empty());
    for origin in origins.iter().rev() {
        let why = "the target takes one outcome for each call";
        work.lose(Severity::Note, Site::of(origin), "repeated outcome dropped", why);
    }
}
