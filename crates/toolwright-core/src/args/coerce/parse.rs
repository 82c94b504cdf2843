//! A string that holds an array or an object as JSON.

use super::{Op, Proposal};
use crate::json::Json;

/// How often JSON may stand within a string within JSON.
const LAYERS: usize = 3;

/// What the string holds. Whether it may be that is for the schema to say: where text belongs,
/// nobody asks.
pub(super) fn propose(at: &str, value: &Json) -> Option<Proposal> {
    let held = held(value.as_str()?)?;
    let op = if at.is_empty() { Op::Decode } else { Op::Parse };
    Some(Proposal::new(at, op, value, held))
}

/// The array or object that a text is.
pub(super) fn held(text: &str) -> Option<Json> {
    let mut text = text.to_owned();
    for _ in 0..LAYERS {
        if !text.trim_start().starts_with(['[', '{', '"']) {
            return None;
        }
        match Json::parse(text.trim()).ok()? {
            Json::String(inner) => text = inner,
            held => return Some(held),
        }
    }
    None
}
