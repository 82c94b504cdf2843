//! A number or boolean where text belongs: the text is what was written.

use super::{Op, Proposal};
use crate::json::Json;

/// The digits of a number, or the word for a boolean. What has parts of its own is never text.
pub(super) fn propose(at: &str, value: &Json) -> Option<Proposal> {
    let text = match value {
        Json::Number(number) => number.as_str().to_owned(),
        Json::Bool(_) => value.compact(),
        _ => return None,
    };
    Some(Proposal::new(at, Op::Text, value, text.into()))
}
