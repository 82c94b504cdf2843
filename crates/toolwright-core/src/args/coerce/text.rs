//! A number or boolean where a string is required: its JSON text.

use toolwright_json::Json;

use super::{Op, Proposal};

/// Proposes the digits of a number, or the word of a boolean. Arrays and objects never become text.
pub(super) fn propose(at: &str, value: &Json) -> Option<Proposal> {
    let text = match value {
        Json::Number(number) => number.as_str().to_owned(),
        Json::Bool(_) => value.compact(),
        _ => return None,
    };
    Some(Proposal::new(at, Op::Text, value, text.into()))
}
