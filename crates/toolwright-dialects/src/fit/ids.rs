//! Call ids: generated if the source has none, aliased if the target refuses them (case 9).

mod pending;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use toolwright_core::profile::IdRule;
use toolwright_core::{Body, Outcome, Part, hash};

use super::Work;
use super::alias::{assign, by_original, each_part, is_legal_id, rename};
use pending::{Pending, Wanted};

pub(super) fn pass(work: &mut Work<'_>) {
    adopt(work);
    let twins = pair(work);
    let rule = work.profile.ids;
    let mut ids: Vec<&str> = Vec::new();
    for part in work.request.messages.iter().flat_map(|message| &message.parts) {
        match &part.body {
            Body::Call(call) => ids.extend(call.id.as_deref()),
            Body::Outcome(outcome) => ids.extend(outcome.call_id.as_deref()),
            _ => {}
        }
    }
    work.aliases.ids =
        assign(&ids, |id| is_legal_id(&rule, id), |id, round| made(&rule, id, round));
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

/// Assigns to calls without ids the ids of their outcomes, by order among the calls of the
/// outcome's tool. litellm sends Ollama no id with a call and one with its outcome.
fn adopt(work: &mut Work<'_>) {
    let parts = || work.request.messages.iter().flat_map(|message| &message.parts);
    let calls = || parts().filter_map(Part::as_call);
    if calls().all(|call| call.id.is_some()) {
        return;
    }
    let mut known: BTreeSet<String> = calls().filter_map(|call| call.id.clone()).collect();
    let mut open: Pending<&str, usize> = Pending::new();
    let mut adopted: BTreeMap<usize, String> = BTreeMap::new();
    for (at, part) in parts().enumerate() {
        match &part.body {
            Body::Call(call) if call.id.is_none() => open.push(None, &call.name, at),
            Body::Outcome(Outcome { call_id: Some(id), name, .. }) if !known.contains(id) => {
                let name = name.as_deref();
                if let Some(at) = open.take(name.as_ref().map_or(Wanted::Any, Wanted::Name)) {
                    adopted.insert(at, id.clone());
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
struct Asked<'r> {
    /// Its original id
    id: Option<Cow<'r, str>>,
    /// Its current id
    now: Option<Cow<'r, str>>,
    name: &'r str,
}

/// A value to assign to a call or an outcome.
enum Given {
    Id(Option<String>),
    Name(Option<String>),
}

/// Pairs calls and outcomes: by id if there is one, otherwise by name and order. Assigns the id and
/// the name that the target requires. A call with a repeated id gets a new one, and so does its
/// outcome; returns the new ids with the original ones.
fn pair(work: &mut Work<'_>) -> Vec<(String, String)> {
    let mut twins = Vec::new();
    if is_paired(work) {
        return twins;
    }
    let mut taken: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    let rule = work.profile.ids;
    let needs_name = work.profile.outcome.name;
    let mut pending: Pending<Cow<'_, str>, Asked<'_>> = Pending::new();
    // A second outcome of a call has its name, too.
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut given: Vec<(usize, Given)> = Vec::new();
    let mut calls = 0;
    let mut orphans = 0;
    let parts = work.request.messages.iter().flat_map(|message| &message.parts);
    for (at, part) in parts.enumerate() {
        match &part.body {
            Body::Call(call) => {
                calls += 1;
                let own = call.id.as_deref().map(Cow::Borrowed);
                let fresh = |seed: &str| made(&rule, &format!("{seed}\u{0}{calls}"), 0);
                let id = own.or_else(|| rule.required.then(|| fresh(&call.name).into()));
                let mut now = id.clone();
                if let Some(own) = id.as_ref().filter(|own| !taken.insert((*own).clone())) {
                    let fresh = fresh(own);
                    twins.push((fresh.clone(), own.to_string()));
                    now = Some(fresh.into());
                }
                if now.as_deref() != call.id.as_deref() {
                    given.push((at, Given::Id(now.clone().map(Cow::into_owned))));
                }
                let name = call.name.as_str();
                names.extend(call.id.as_deref().map(|id| (id, name)));
                pending.push(id.clone(), name.into(), Asked { id, now, name });
            }
            Body::Outcome(outcome) => {
                let own = outcome.call_id.as_deref().map(Cow::Borrowed);
                let name = outcome.name.as_deref().map(Cow::Borrowed);
                let call = pending.take(match (&own, &name) {
                    (Some(id), _) => Wanted::Id(id),
                    (None, Some(name)) => Wanted::Name(name),
                    (None, None) => Wanted::Any,
                });
                let id = match (own, &call) {
                    (Some(_), Some(Asked { id, now, .. })) if id != now => now.clone(),
                    (None, _) if rule.required => {
                        let own = call.as_ref().and_then(|call| call.now.clone());
                        // An outcome without a call still needs an id.
                        orphans += usize::from(own.is_none());
                        let seed = || format!("\u{0}{orphans}");
                        own.or_else(|| Some(made(&rule, &seed(), 0).into()))
                    }
                    (own, _) => own,
                };
                if id.as_deref() != outcome.call_id.as_deref() {
                    given.push((at, Given::Id(id.map(Cow::into_owned))));
                }
                let of_id = || names.get(outcome.call_id.as_deref()?).copied();
                match (call.map(|call| call.name).or_else(of_id), name) {
                    (Some(call), None) if needs_name => {
                        given.push((at, Given::Name(Some(call.to_owned()))));
                    }
                    // The call has the name; the reverse translation takes it from there.
                    (Some(call), Some(name)) if !needs_name && call == name => {
                        given.push((at, Given::Name(None)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    give(work, given);
    twins
}

/// Whether every call has an id of its own and every outcome has an id, and nobody compares names. This is
/// the usual case, in which pairing took a twentieth of the instructions of a translation.
fn is_paired(work: &Work<'_>) -> bool {
    let parts = || work.request.messages.iter().flat_map(|message| &message.parts);
    let has_id_alone = |outcome: &Outcome| outcome.call_id.is_some() && outcome.name.is_none();
    if work.profile.outcome.name || !parts().filter_map(Part::as_outcome).all(has_id_alone) {
        return false;
    }
    let ids = parts().filter_map(Part::as_call).map(|call| call.id.as_deref());
    ids.collect::<Option<Vec<&str>>>().is_some_and(|mut ids| {
        ids.sort_unstable();
        ids.windows(2).all(|pair| pair[0] != pair[1])
    })
}

/// Assigns ids and names to parts, counted over all messages.
fn give(work: &mut Work<'_>, given: Vec<(usize, Given)>) {
    let mut given = given.into_iter().peekable();
    let parts = work.request.messages.iter_mut().flat_map(|message| &mut message.parts);
    for (at, part) in parts.enumerate() {
        while let Some((_, own)) = given.next_if(|(place, _)| *place == at) {
            match (&mut part.body, own) {
                (Body::Call(call), Given::Id(id)) => call.id = id,
                (Body::Outcome(outcome), Given::Id(id)) => outcome.call_id = id,
                (Body::Outcome(outcome), Given::Name(name)) => outcome.name = name,
                _ => {}
            }
        }
        if given.peek().is_none() {
            break;
        }
    }
}

/// Returns a legal id from a hash of the seed and the round.
pub fn made(rule: &IdRule, seed: &str, round: usize) -> String {
    let seed = if round == 0 { seed.to_owned() } else { format!("{seed}\u{0}{round}") };
    let room = rule.max.min(rule.prefix.len() + 24);
    let prefix = if rule.prefix.len() + 8 <= room { rule.prefix } else { "" };
    format!("{prefix}{}", hash::alphanumeric(&seed, room - prefix.len()))
}
