//! A string that spells a number, exactly: every digit is kept.

use toolwright_json::{Json, Number};

use super::{Op, Proposal};

/// Uses the grammar of JSON, so `"12abc"`, `"0x10"`, `"007"` and `"１２"` are not numbers;
/// surrounding spaces are ignored.
pub(super) fn propose(at: &str, value: &Json) -> Option<Proposal> {
    let number = Number::parse(value.as_str()?.trim())?;
    Some(Proposal::new(at, Op::Number, value, number.into()))
}

/// Proposes a number with thousands separators.
pub(super) fn propose_grouped(at: &str, value: &Json) -> Option<Proposal> {
    let text = value.as_str()?.trim();
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (digits, String::new()),
    };
    let (first, groups) = whole.split_once(',')?;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = matches!(first.len(), 1..=3)
        && are_digits(first)
        && groups.split(',').all(|group| group.len() == 3 && are_digits(group));
    if !is_grouped {
        return None;
    }
    let number = Number::parse(&format!("{sign}{}{fraction}", whole.replace(',', "")))?;
    Some(Proposal::new(at, Op::Thousands, value, number.into()))
}
