//! A string that contains an array or an object as JSON.

use toolwright_json::Json;

use super::{Op, Proposal};
use crate::args::repair;

/// Maximum depth of JSON encoded in strings of JSON.
const MAX_ENCODED_DEPTH: usize = 3;

/// Accepted repairs. Text that was truncated, or that is surrounded by other text, is not an array
/// or object.
const REPAIRED: [Op; 4] = [Op::Quote, Op::Comma, Op::Comment, Op::Literal];

/// Proposes the content of the string. The rule is applied only where the schema rejects the
/// string.
pub(super) fn propose(at: &str, value: &Json) -> Vec<Proposal> {
    let Some(text) = value.as_str() else { return Vec::new() };
    let op = if at.is_empty() { Op::Decode } else { Op::Parse };
    match held(text) {
        Some(held) => vec![Proposal::new(at, op, value, held)],
        // The arguments as a whole were repaired before.
        None if at.is_empty() => Vec::new(),
        None => repaired(at, op, value, text.trim()),
    }
}

/// Returns the array or object in a text; none if it repeats a key, because a value would be lost.
pub(super) fn held(text: &str) -> Option<Json> {
    let mut text = text.to_owned();
    for _ in 0..MAX_ENCODED_DEPTH {
        if !text.trim_start().starts_with(['[', '{', '"']) {
            return None;
        }
        match Json::parse(text.trim()).ok()? {
            Json::String(inner) => text = inner.into_string(),
            held => return (!repeats(&held)).then_some(held),
        }
    }
    None
}

/// Returns the content in another language's notation.
fn repaired(at: &str, op: Op, value: &Json, text: &str) -> Vec<Proposal> {
    let is_whole = (text.starts_with('[') && text.ends_with(']'))
        || (text.starts_with('{') && text.ends_with('}'));
    if !is_whole || Json::parse(text).is_ok() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for reading in repair::readings(text) {
        let is_plain = reading.changes.iter().all(|change| REPAIRED.contains(&change.op));
        let is_same_kind = reading.value.as_array().is_some() == text.starts_with('[');
        if !is_plain || !is_same_kind || repeats(&reading.value) {
            continue;
        }
        let mut proposal = Proposal::new(at, op, value, reading.value);
        for mut change in reading.changes {
            change.path.insert_str(0, at);
            proposal.changes.push(change);
        }
        out.push(proposal);
    }
    out
}

fn repeats(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(repeats),
        Json::Object(object) => {
            !object.repeated().is_empty() || object.iter().any(|(_, value)| repeats(value))
        }
        _ => false,
    }
}
