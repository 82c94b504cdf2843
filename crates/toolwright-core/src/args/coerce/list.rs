//! A single value where an array belongs.

use toolwright_json::Json;

use super::{Op, Proposal};

/// Separators of items in text.
const COMMAS: [char; 3] = [',', '，', '、'];

/// Proposes an array with the single value. A string that begins like JSON is left alone: it may be
/// a truncated array.
pub(super) fn one(at: &str, value: &Json) -> Option<Proposal> {
    let is_single = match value {
        Json::Null | Json::Array(_) => false,
        Json::String(text) => !text.trim_start().starts_with(['[', '{']),
        _ => true,
    };
    is_single.then(|| Proposal::new(at, Op::List, value, Json::Array(vec![value.clone()])))
}

/// Proposes an array of the texts between commas, none of which may be empty.
pub(super) fn several(at: &str, value: &Json) -> Option<Proposal> {
    let text = value.as_str()?;
    if !text.contains(COMMAS) || text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let parts: Vec<&str> = text.split(COMMAS).map(str::trim).collect();
    let is_whole = parts.iter().all(|part| !part.is_empty());
    is_whole.then(|| Proposal::new(at, Op::CommaList, value, parts.into()))
}
