//! Repairs text that is not JSON. Second step.
//!
//! Surrounding text is removed, a search finds every reading of the remaining text, and several
//! documents are joined if that is unambiguous. The schema is not known here: plausible readings
//! are returned with their costs, implausible ones are dropped.

mod build;
mod grammar;
mod prelude;
mod quotation;
mod search;
mod slip;
mod text;
mod token;
mod unescape;

use toolwright_json::{Json, object};

use super::{Change, Op, Reading};
use prelude::Tail;
use search::Search;

/// Maximum number of nested encodings, and of documents in a row.
const MAX_ROUNDS: usize = 4;

/// Maximum number of readings returned.
const MAX_READINGS: usize = 16;

/// Returns every reading of text that is not JSON, cheapest first.
pub(super) fn readings(text: &str) -> Vec<Reading> {
    offer(repaired(text, MAX_ROUNDS))
}

/// Returns every reading of the text in a string, if it contains arguments.
pub(super) fn decoded(text: &str) -> Vec<Reading> {
    offer(encoded(text, MAX_ROUNDS))
}

fn encoded(text: &str, rounds: usize) -> Vec<Reading> {
    let Some(rounds) = rounds.checked_sub(1) else { return Vec::new() };
    let mut readings = match Json::parse(text) {
        Ok(Json::String(inner)) => encoded(&inner, rounds),
        Ok(value @ (Json::Object(_) | Json::Array(_))) => {
            vec![Reading { value, changes: Vec::new() }]
        }
        Ok(_) => Vec::new(),
        Err(_) => repaired(text, rounds),
    };
    for reading in &mut readings {
        reading.changes.insert(0, Change::new("", Op::Decode));
    }
    readings
}

fn repaired(text: &str, rounds: usize) -> Vec<Reading> {
    if let Some(plain) = without_entities(text) {
        return encoded(&plain, rounds);
    }
    if let Some((name, arguments)) = prelude::python_call(text) {
        return called(name, arguments, rounds);
    }
    let Some(body) = prelude::body(text) else { return Vec::new() };
    let mut readings = match Json::parse(body.text) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => {
            vec![Reading { value, changes: Vec::new() }]
        }
        _ => match without_backslashes(body.text) {
            Some(inner) => encoded(&inner, rounds),
            None => searched(body.text, rounds),
        },
    };
    if body.dressed {
        for reading in &mut readings {
            dress(reading);
        }
    }
    readings
}

/// Reports that surrounding text was removed, once.
fn dress(reading: &mut Reading) {
    if reading.changes.iter().all(|change| change.op != Op::Unfence) {
        reading.changes.insert(0, Change::new("", Op::Unfence));
    }
}

/// Removes the backslashes of a document whose quotes are all escaped, as inside a string.
fn without_backslashes(text: &str) -> Option<String> {
    let mut rest = text.trim_start_matches(['{', '[']);
    loop {
        rest = rest.trim_start();
        match ["\\n", "\\t", "\\r"].iter().find_map(|escape| rest.strip_prefix(escape)) {
            Some(after) => rest = after,
            None => break,
        }
    }
    if !rest.starts_with("\\\"") {
        return None;
    }
    let line = text.replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t");
    match Json::parse(&format!("\"{line}\"")) {
        Ok(Json::String(inner)) => Some(inner.into_string()),
        _ => None,
    }
}

/// Decodes a document whose quotes are all HTML entities.
fn without_entities(text: &str) -> Option<String> {
    const ENTITIES: [(&str, &str); 5] =
        [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    let is_escaped = !text.contains('"') && text.contains("&quot;");
    let unescape = |text: String, (entity, plain): &(&str, &str)| text.replace(entity, plain);
    is_escaped.then(|| ENTITIES.iter().fold(text.to_owned(), unescape))
}

/// Returns the readings of a call in Python syntax; its tool is checked together with the
/// arguments.
fn called(name: &str, arguments: &str, rounds: usize) -> Vec<Reading> {
    let mut readings = searched(&format!("{{{arguments}}}"), rounds);
    for reading in &mut readings {
        let arguments = std::mem::take(&mut reading.value);
        reading.value = Json::Object(object! {"name": name, "arguments": arguments});
    }
    readings
}

fn searched(text: &str, rounds: usize) -> Vec<Reading> {
    let mut readings = Vec::new();
    for found in Search::run(text) {
        for mut reading in build::readings(text, &found.events) {
            if is_doubtful_cut(&reading) {
                continue;
            }
            match found.tail {
                Tail::Blank => {}
                Tail::Prose => dress(&mut reading),
                Tail::Closers(count) => {
                    reading.changes.extend((0..count).map(|_| Change::new("", Op::Mark)));
                }
                Tail::More(offset) => {
                    readings.extend(joined(&reading, &text[found.end + offset..], rounds));
                    continue;
                }
                Tail::Garbage => continue,
            }
            match reading.value {
                Json::String(ref inner) if found.tail == Tail::Blank => {
                    for mut inner in encoded(inner, rounds) {
                        inner.changes.extend(reading.changes.clone());
                        readings.push(inner);
                    }
                }
                Json::Object(_) | Json::Array(_) => readings.push(reading),
                _ => {}
            }
        }
    }
    readings
}

/// Whether a text was truncated and has unescaped quotes or backslashes, so that the ends of its
/// strings are uncertain.
fn is_doubtful_cut(reading: &Reading) -> bool {
    let is_line = |change: &Change| {
        let from = change.from.as_ref().and_then(Json::as_str);
        from.is_some_and(|from| from.chars().all(char::is_control))
    };
    let mut changes = reading.changes.iter();
    changes.any(|change| change.op == Op::Escape && !is_line(change))
        && reading.changes.iter().any(|change| change.op == Op::Close)
}

/// Joins two documents if they are equal or one is empty. If they differ, either or both may be
/// meant.
fn joined(first: &Reading, rest: &str, rounds: usize) -> Vec<Reading> {
    let Some(rounds) = rounds.checked_sub(1) else { return Vec::new() };
    let others = match Json::parse(rest) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => {
            vec![Reading { value, changes: Vec::new() }]
        }
        Ok(_) => Vec::new(),
        Err(_) => repaired(rest, rounds),
    };
    let is_guess = |change: &Change| matches!(change.op, Op::Mark | Op::Close | Op::Comma);
    let is_guessed = first.changes.iter().any(is_guess);
    let says_nothing = |value: &Json| match value {
        Json::Object(object) => object.is_empty(),
        // An array is not a call, but if brackets were guessed it may be a part of one.
        Json::Array(items) => items.is_empty() || !is_guessed,
        _ => true,
    };
    others
        .into_iter()
        .filter_map(|other| {
            let mut kept = if first.value.same(&other.value) || says_nothing(&other.value) {
                first.clone()
            } else if says_nothing(&first.value) {
                other.clone()
            } else {
                return None;
            };
            if other.changes.iter().any(|change| change.op == Op::Unfence) {
                dress(&mut kept);
            }
            if kept.changes.iter().all(|change| change.op != Op::Split) {
                kept.changes.push(Change::new("", Op::Split));
            }
            Some(kept)
        })
        .collect()
}

/// Returns the cheapest readings, each value once.
fn offer(mut readings: Vec<Reading>) -> Vec<Reading> {
    readings.sort_by_key(Reading::cost);
    let mut offered: Vec<Reading> = Vec::new();
    for reading in readings {
        if offered.iter().any(|other| other.value == reading.value) {
            continue;
        }
        if offered.len() == MAX_READINGS {
            // Readings of equal cost are all returned or none.
            let limit = reading.cost();
            offered.retain(|other| other.cost() < limit);
            break;
        }
        offered.push(reading);
    }
    offered
}
