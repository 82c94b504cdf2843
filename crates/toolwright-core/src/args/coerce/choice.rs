//! A string that equals a listed value except for case, spaces or separators.

use toolwright_json::Json;

use super::{Op, Proposal};

/// The normalizations under which two spellings are equal, closest first.
const FOLDS: [fn(&str) -> String; 4] = [trimmed, lowered, spaced, joined];

/// Returns the closest listed string; none if two are equally close.
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

/// Replaces separators by spaces.
fn spaced(text: &str) -> String {
    separated(text, |_, _| Some(' '))
}

/// Removes separators, except between digits: `1-0` is not `10`.
fn joined(text: &str) -> String {
    separated(text, |before, after| (before.is_numeric() && after.is_numeric()).then_some(' '))
}

/// Rewrites separators, which are between letters or digits; the `-` of `-1` or `A-` is not one.
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
