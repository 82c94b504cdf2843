//! A single value where an array belongs.

use super::{Op, Proposal};
use crate::json::Json;

/// What separates the items of a list in words.
const COMMAS: [char; 3] = [',', '，', '、'];

/// An array of the one value. A string that begins like JSON is left alone: it may be an array
/// that was not written to the end.
pub(super) fn one(at: &str, value: &Json) -> Option<Proposal> {
    let is_single = match value {
        Json::Null | Json::Array(_) => false,
        Json::String(text) => !text.trim_start().starts_with(['[', '{']),
        _ => true,
    };
    is_single.then(|| Proposal::new(at, Op::List, value, Json::Array(vec![value.clone()])))
}

/// An array of what stands between commas, none of it empty.
pub(super) fn several(at: &str, value: &Json) -> Option<Proposal> {
    let text = value.as_str()?;
    if !text.contains(COMMAS) || text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    let parts: Vec<&str> = text.split(COMMAS).map(str::trim).collect();
    let is_whole = parts.iter().all(|part| !part.is_empty());
    is_whole.then(|| Proposal::new(at, Op::CommaList, value, parts.into()))
}
