//! Where the values of arguments came from: the outputs of earlier calls, searched by value.

use std::collections::{HashMap, HashSet};

use toolwright_core::hash::{FNV_START, fnv, fnv_extend};
use toolwright_json::Json;
use toolwright_json::pointer::Path;

use super::arguments::Arguments;
use super::{RecordedCall, RecordedResult};
use crate::plan::stored::lookup;
use crate::plan::template::{Reference, Source};

/// Maximum number of places that are kept of one value.
const MAX_PLACES: usize = 16;

/// Minimum width of a text that is not found by chance. A character outside of ASCII counts twice.
const MIN_WIDTH: usize = 4;

/// Minimum width of a text that is looked for inside of other texts.
const MIN_PART_WIDTH: usize = 8;

/// Maximum number of bytes that are searched for parts, over all values. A value that is no text, or is empty, counts
/// as one.
const MAX_SEARCHED: usize = 256 << 20;

/// Minimum number of values in an array or object that is not found by chance.
const MIN_VALUES: usize = 3;

/// The places of the values that occur in arguments.
pub(super) struct Sources<'c> {
    calls: &'c [RecordedCall],
    /// The places in outputs by the hash of the value, in the order of the calls
    places: HashMap<u64, Vec<Place>>,
    /// The hashes of the values in the arguments of each call
    written: Vec<HashSet<u64>>,
}

/// How much may still be searched, in the prompt or in the results.
pub(super) struct SearchBudget {
    bytes: usize,
    /// Whether something was not searched
    pub(super) is_exceeded: bool,
}

impl Default for SearchBudget {
    fn default() -> SearchBudget {
        SearchBudget { bytes: MAX_SEARCHED, is_exceeded: false }
    }
}

impl SearchBudget {
    /// Takes bytes, at least one. Once there are too few, there are none for anything else.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.bytes.checked_sub(bytes.max(1));
        self.is_exceeded |= left.is_none();
        self.bytes = left.unwrap_or(0);
        left.is_some()
    }
}

struct Place {
    call: usize,
    pointer: String,
}

/// What is known of the source of a value.
pub(super) enum Found {
    /// No result has it
    Nowhere,
    /// One place has it
    One(Reference),
    /// Several places have it
    Several(Vec<Reference>),
    /// It is a part of a text
    InText(Reference),
}

impl<'c> Sources<'c> {
    pub(super) fn new(calls: &'c [RecordedCall], arguments: &[Arguments]) -> Sources<'c> {
        let written = calls.iter().map(|call| {
            let mut hashes = HashSet::new();
            walk(&call.arguments, &Path::ROOT, &mut |_, hash| {
                hashes.insert(hash);
            });
            hashes
        });
        let written: Vec<HashSet<u64>> = written.collect();
        let mut wanted = HashSet::new();
        for (_, value) in arguments.iter().flat_map(|own| own.values.iter()) {
            walk(value, &Path::ROOT, &mut |_, hash| {
                wanted.insert(hash);
            });
        }
        let mut places: HashMap<u64, Vec<Place>> = HashMap::new();
        for (call, recorded) in calls.iter().enumerate() {
            let RecordedResult::Output(output) = &recorded.result else { continue };
            let mut add = |path: &Path<'_>, hash, is_inner: bool| {
                if !wanted.contains(&hash) {
                    return;
                }
                let (places, pointer) = (places.entry(hash).or_default(), path.pointer());
                if places.len() < MAX_PLACES && !(is_inner && pointer.is_empty()) {
                    places.push(Place { call, pointer });
                }
            };
            walk(output, &Path::ROOT, &mut |path, hash| add(path, hash, false));
            // A reference may lead into a text that is JSON.
            if let Some(inner) = output.as_str().and_then(|text| Json::parse(text).ok()) {
                walk(&inner, &Path::ROOT, &mut |path, hash| add(path, hash, true));
            }
        }
        Sources { calls, places, written }
    }

    /// Finds a value of the arguments of a call in the results of the turns before. An output that repeats what was in
    /// the arguments of its own call is not the source.
    pub(super) fn find(
        &self,
        value: &Json,
        at: usize,
        ids: &[Option<String>],
        budget: &mut SearchBudget,
    ) -> Found {
        let hash = walk(value, &Path::ROOT, &mut |_, _| {});
        let reference = |call: usize, pointer: &str| {
            let id = ids[call].clone().filter(|_| self.calls[call].turn < self.calls[at].turn)?;
            (!self.written[call].contains(&hash)).then(|| Reference::new(Source::Step(id), pointer))
        };
        let places = self.places.get(&hash).into_iter().flatten();
        let places = places.filter(|place| match &self.calls[place.call].result {
            RecordedResult::Output(output) => {
                lookup(output, &place.pointer).is_some_and(|own| is_same(&own, value))
            }
            _ => false,
        });
        let mut found: Vec<Reference> =
            places.filter_map(|place| reference(place.call, &place.pointer)).collect();
        if found.len() > 1 {
            return Found::Several(found);
        }
        if let Some(found) = found.pop() {
            return Found::One(found);
        }
        let text = value.as_str().filter(|text| width(text) >= MIN_PART_WIDTH);
        let Some(text) = text.filter(|_| !budget.is_exceeded) else { return Found::Nowhere };
        let in_text = self.calls[..at].iter().enumerate().find_map(|(call, recorded)| {
            let RecordedResult::Output(output) = &recorded.result else { return None };
            reference(call, &text_with(output, text, &Path::ROOT, budget)?)
        });
        in_text.map_or(Found::Nowhere, Found::InText)
    }
}

/// Returns the JSON Pointer to a text that contains another.
fn text_with(
    value: &Json,
    part: &str,
    path: &Path<'_>,
    budget: &mut SearchBudget,
) -> Option<String> {
    if !budget.take(value.as_str().map_or(1, str::len)) {
        return None;
    }
    match value {
        Json::String(text) => text.contains(part).then(|| path.pointer()),
        Json::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, own)| text_with(own, part, &path.index(at), budget))
        }
        Json::Object(members) => {
            let mut members = members.iter();
            members.find_map(|(name, own)| text_with(own, part, &path.key(name), budget))
        }
        _ => None,
    }
}

/// Whether a value says nothing about where it came from: it is short, or the user wrote it, or may have, because the
/// prompt was not searched.
pub(super) fn is_trivial(value: &Json, prompt: &str, budget: &mut SearchBudget) -> bool {
    let mut is_scalar_trivial =
        |text: &str| width(text) < MIN_WIDTH || !budget.take(prompt.len()) || prompt.contains(text);
    match value {
        Json::Null | Json::Bool(_) => true,
        Json::Number(number) => is_scalar_trivial(number.as_str()),
        Json::String(text) => is_scalar_trivial(text),
        Json::Array(items) => {
            items.len() < MIN_VALUES && items.iter().all(|own| is_trivial(own, prompt, budget))
        }
        Json::Object(members) => {
            members.len() < MIN_VALUES
                && members.iter().all(|(_, own)| is_trivial(own, prompt, budget))
        }
    }
}

/// Whether two values are equal, or one is the text of the number that the other is.
fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(number), Json::String(text)) | (Json::String(text), Json::Number(number)) => {
            number.as_str() == text.as_str()
        }
        _ => one.equals(other),
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|letter| if letter.is_ascii() { 1 } else { 2 }).sum()
}

/// Visits a value and everything in it, each with its path and hash. Objects have the same hash in any order of their
/// keys, and so have a number and its text, because an edge converts one to the other.
fn walk(value: &Json, path: &Path<'_>, visit: &mut dyn FnMut(&Path<'_>, u64)) -> u64 {
    let hash = match value {
        Json::Null => fnv("null!"),
        Json::Bool(own) => fnv(if *own { "true!" } else { "false!" }),
        Json::Number(number) => fnv(number.as_str()),
        Json::String(text) => fnv(text),
        Json::Array(items) => {
            let mut hash = fnv_extend(FNV_START, b"[");
            for (at, item) in items.iter().enumerate() {
                let own = walk(item, &path.index(at), visit);
                hash = fnv_extend(hash, &own.to_le_bytes());
            }
            hash
        }
        Json::Object(members) => {
            let member = |(name, own)| {
                fnv_extend(fnv(name), &walk(own, &path.key(name), visit).to_le_bytes())
            };
            let sum = members.iter().map(member).fold(0_u64, u64::wrapping_add);
            fnv_extend(fnv("{"), &sum.to_le_bytes())
        }
    };
    visit(path, hash);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes: usize) -> SearchBudget {
        SearchBudget { bytes, is_exceeded: false }
    }

    #[test]
    fn every_value_that_is_visited_counts() {
        // Eight values and the text.
        let output = Json::parse(r#"[1,null,"",true,{"a":[]},2,"the name of it"]"#).unwrap();
        let find = |budget: &mut SearchBudget| text_with(&output, "the name", &Path::ROOT, budget);
        let size = 8 + "the name of it".len();
        let mut enough = budget(size);
        assert_eq!(find(&mut enough).as_deref(), Some("/6"));
        assert_eq!((enough.bytes, enough.is_exceeded), (0, false));
        let mut too_little = budget(size - 1);
        assert_eq!(find(&mut too_little), None);
        assert_eq!((too_little.bytes, too_little.is_exceeded), (0, true));
    }

    #[test]
    fn the_search_in_the_prompt_ends() {
        let prompt = "Send it to Li Wei.";
        let mut budget = budget(2 * prompt.len() + 1);
        assert!(is_trivial(&"Li Wei".into(), prompt, &mut budget));
        assert!(is_trivial(&"Li".into(), prompt, &mut budget), "too short to be searched");
        assert!(!is_trivial(&"Li Bai".into(), prompt, &mut budget));
        assert_eq!((budget.bytes, budget.is_exceeded), (1, false));
        assert!(is_trivial(&"Du Fu's".into(), prompt, &mut budget), "the user may have written it");
        assert!(budget.is_exceeded);
    }
}
