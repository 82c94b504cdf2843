//! Call ids: made where the source has none, mapped where the target refuses them (case 9).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Work;
use super::alias::{assign, by_original, each_part, is_legal_id, rename};
use super::profile::IdRule;
use crate::hash;
use crate::outcome::Outcome;
use crate::part::{Body, Part};

pub(super) fn pass(work: &mut Work<'_>) {
    adopt(work);
    let twins = pair(work);
    let rule = work.profile.ids;
    let mut ids = Vec::new();
    for part in work.request.messages.iter().flat_map(|message| &message.parts) {
        match &part.body {
            Body::Call(call) => ids.extend(call.id.clone()),
            Body::Outcome(outcome) => ids.extend(outcome.call_id.clone()),
            _ => {}
        }
    }
    work.aliases.ids = assign(ids, |id| is_legal_id(&rule, id), |id, round| made(&rule, id, round));
    if !work.aliases.ids.is_empty() {
        let aliases = by_original(&work.aliases.ids);
        each_part(&mut work.request.messages, |part| match &mut part.body {
            Body::Call(call) => call.id.iter_mut().for_each(|id| rename(&aliases, id)),
            Body::Outcome(outcome) => {
                outcome.call_id.iter_mut().for_each(|id| rename(&aliases, id));
            }
            _ => {}
        });
    }
    work.aliases.ids.extend(twins);
}

/// Gives calls without ids those that their outcomes name, by order among the calls of the outcome's
/// tool. litellm sends Ollama no id with a call and one with its outcome.
fn adopt(work: &mut Work<'_>) {
    let parts = || work.request.messages.iter().flat_map(|message| &message.parts);
    let calls = || parts().filter_map(Part::as_call);
    if calls().all(|call| call.id.is_some()) {
        return;
    }
    let mut known: BTreeSet<String> = calls().filter_map(|call| call.id.clone()).collect();
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut adopted: BTreeMap<usize, String> = BTreeMap::new();
    for (at, part) in parts().enumerate() {
        match &part.body {
            Body::Call(call) if call.id.is_none() => open.push((at, &call.name)),
            Body::Outcome(Outcome { call_id: Some(id), name, .. }) if !known.contains(id) => {
                let is_meant = |own: &str| name.as_ref().is_none_or(|name| name == own);
                if let Some(place) = open.iter().position(|(_, own)| is_meant(own)) {
                    adopted.insert(open.remove(place).0, id.clone());
                    known.insert(id.clone());
                }
            }
            _ => {}
        }
    }
    let mut at = 0;
    each_part(&mut work.request.messages, |part| {
        if let (Body::Call(call), Some(id)) = (&mut part.body, adopted.remove(&at)) {
            call.id = Some(id);
        }
        at += 1;
    });
}

/// A call that waits for its outcome.
struct Pending {
    /// Its id as it came
    id: Option<String>,
    /// Its id as it is now
    now: Option<String>,
    name: String,
}

/// Pairs calls and outcomes: by id where there is one, else by name and order. Gives both what
/// the target requires: an id, a name. A call whose id another had before gets one of its own, and
/// so does its outcome; gives those, with what they were.
fn pair(work: &mut Work<'_>) -> Vec<(String, String)> {
    let mut twins = Vec::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let rule = work.profile.ids;
    let needs_name = work.profile.outcome.name;
    let mut pending: VecDeque<Pending> = VecDeque::new();
    let mut calls = 0;
    let mut orphans = 0;
    each_part(&mut work.request.messages, |part| match &mut part.body {
        Body::Call(call) => {
            calls += 1;
            if call.id.is_none() && rule.required {
                call.id = Some(made(&rule, &format!("{}\u{0}{calls}", call.name), 0));
            }
            let id = call.id.clone();
            if let Some(own) = id.as_ref().filter(|own| !taken.insert((*own).clone())) {
                let fresh = made(&rule, &format!("{own}\u{0}{calls}"), 0);
                twins.push((fresh.clone(), own.clone()));
                call.id = Some(fresh);
            }
            pending.push_back(Pending { id, now: call.id.clone(), name: call.name.clone() });
        }
        Body::Outcome(outcome) => {
            let at = pending.iter().position(|call| match (&outcome.call_id, &outcome.name) {
                (Some(id), _) => call.id.as_ref() == Some(id),
                (None, Some(name)) => call.name == *name,
                (None, None) => true,
            });
            let call = at.and_then(|at| pending.remove(at));
            if let Some(Pending { id, now, .. }) = &call
                && outcome.call_id.is_some()
                && id != now
            {
                outcome.call_id.clone_from(now);
            }
            if outcome.call_id.is_none() && rule.required {
                let own = call.as_ref().and_then(|call| call.now.clone());
                // One that answers no call still needs an id.
                orphans += usize::from(own.is_none());
                let seed = || format!("\u{0}{orphans}");
                outcome.call_id = own.or_else(|| Some(made(&rule, &seed(), 0)));
            }
            if needs_name && outcome.name.is_none() {
                outcome.name = call.map(|call| call.name);
            } else if !needs_name && call.is_some_and(|call| Some(call.name) == outcome.name) {
                // The call says it; a target that wants it will find it there again.
                outcome.name = None;
            }
        }
        _ => {}
    });
    twins
}

/// An id that the rule allows, made of a hash of the seed and the round.
pub fn made(rule: &IdRule, seed: &str, round: usize) -> String {
    let seed = if round == 0 { seed.to_owned() } else { format!("{seed}\u{0}{round}") };
    let room = rule.max.min(rule.prefix.len() + 24);
    let prefix = if rule.prefix.len() + 8 <= room { rule.prefix } else { "" };
    format!("{prefix}{}", hash::alphanumeric(&seed, room - prefix.len()))
}
