//! A string that is one of the values a schema lists but for case, spaces or separators.

use super::{Op, Proposal};
use crate::json::Json;

/// How two spellings can be one, the closest first.
const FOLDS: [fn(&str) -> String; 4] = [trimmed, lowered, spaced, joined];

/// The one listed string that is closest; none if two are.
pub(super) fn propose(at: &str, value: &Json, choices: &[&Json]) -> Option<Proposal> {
    let text = value.as_str()?;
    let choices: Vec<&str> = choices.iter().filter_map(|choice| choice.as_str()).collect();
    for fold in FOLDS {
        let folded = fold(text);
        let mut alike = choices.iter().filter(|choice| fold(choice) == folded);
        match (alike.next(), alike.next()) {
            (Some(choice), None) => {
                return Some(Proposal::new(at, Op::Enum, value, (*choice).into()));
            }
            (Some(_), Some(_)) => return None,
            (None, _) => {}
        }
    }
    None
}

fn trimmed(text: &str) -> String {
    text.trim().to_owned()
}

fn lowered(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Every separator is a space.
fn spaced(text: &str) -> String {
    separated(text, |_, _| Some(' '))
}

/// Separators are left out, but for those between digits: `1-0` is not `10`.
fn joined(text: &str) -> String {
    separated(text, |before, after| (before.is_numeric() && after.is_numeric()).then_some(' '))
}

/// Rewrites separators. One stands between letters or digits; the `-` of `-1` or `A-` is none.
fn separated(text: &str, rewrite: fn(char, char) -> Option<char>) -> String {
    let text: Vec<char> = lowered(text).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (index, letter) in text.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| text.get(index));
        match (before, letter, text.get(index + 1)) {
            (Some(before), ' ' | '-' | '_', Some(after))
                if before.is_alphanumeric() && after.is_alphanumeric() =>
            {
                out.extend(rewrite(*before, *after));
            }
            _ => out.push(*letter),
        }
    }
    out
}
