//! A string that spells a boolean.

use toolwright_json::Json;

use super::{Op, Proposal};

/// The accepted words, in any case.
const WORDS: [(&str, bool); 4] = [("true", true), ("false", false), ("yes", true), ("no", false)];

/// `"True"`, `"no"` and the like.
pub(super) fn propose(at: &str, value: &Json) -> Option<Proposal> {
    let text = value.as_str()?.trim();
    let (_, meant) = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text))?;
    Some(Proposal::new(at, Op::Boolean, value, (*meant).into()))
}
