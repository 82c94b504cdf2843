//! Errors of calls that name no tool, or one that the caller may not call.

use std::cmp::Reverse;

use crate::error::{CallError, CallErrorKind};

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum number of names that are listed if none is similar.
const MAX_LISTED: usize = 20;

/// Maximum number of names that are compared; of the names after these, only the plausible ones are.
const MAX_COMPARED: usize = 1000;

/// The names that an error about an unknown tool may mention. Its size is bounded, whatever the number of
/// tools.
pub(crate) struct Names<'n> {
    unknown: &'n str,
    seen: usize,
    /// The first ones
    listed: Vec<String>,
    has_more: bool,
    /// Those that may be similar
    candidates: Vec<String>,
}

impl<'n> Names<'n> {
    pub(crate) fn new(unknown: &'n str) -> Names<'n> {
        Names { unknown, seen: 0, listed: Vec::new(), has_more: false, candidates: Vec::new() }
    }

    /// Adds a name, if the caller may see it.
    pub(crate) fn add(&mut self, name: &str, is_visible: impl Fn(&str) -> bool) {
        self.seen += 1;
        let is_early = self.seen <= MAX_COMPARED;
        let is_candidate = is_early
            || (self.candidates.len() < 2 * MAX_COMPARED && is_plausible(self.unknown, name));
        if (!is_candidate && self.has_more) || !is_visible(name) {
            return;
        }
        if self.listed.len() < MAX_LISTED {
            self.listed.push(name.to_owned());
        } else {
            self.has_more = true;
        }
        if is_candidate {
            self.candidates.push(name.to_owned());
        }
    }
}

/// Whether a name may be similar to another: it starts with the same letter and has about the same length.
fn is_plausible(name: &str, other: &str) -> bool {
    let first = |name: &str| name.chars().next().map(|letter| letter.to_ascii_lowercase());
    name.len().abs_diff(other.len()) <= name.len() / 3 + 2 && first(name) == first(other)
}

/// The error of a call whose tool does not exist.
pub(crate) fn unknown(names: &Names<'_>) -> CallError {
    let candidates: Vec<&str> = names.candidates.iter().map(String::as_str).collect();
    let suggestions = suggestions(names.unknown, &candidates);
    let advice = if !suggestions.is_empty() {
        let names: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
        format!("Did you mean {}?", names.join(" or "))
    } else if names.listed.is_empty() {
        "There are no tools here: answer without them.".to_owned()
    } else {
        let more = if names.has_more { ", and others" } else { "" };
        format!("The tools are: {}{more}.", names.listed.join(", "))
    };
    let name = shortened(names.unknown);
    let text = format!("There is no tool named `{name}`, so nothing was done. {advice}");
    CallError::new(CallErrorKind::UnknownTool, text)
}

/// The error of a call that the policy denies. It contains the reason that the author of the rule wrote,
/// not the rule.
pub(crate) fn forbidden(tool: &str, reason: Option<&str>, by_arguments: bool) -> CallError {
    let (what, advice) = if by_arguments {
        (" with these arguments", "Do not repeat the call as it is.")
    } else {
        ("", "Do not call it again; continue without it, or tell the user.")
    };
    let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
    let text = format!(
        "The tool {tool} exists, and this caller is not allowed to call it{what}.{reason} Nothing \
         was done. {advice}"
    );
    CallError::new(CallErrorKind::NotAllowed, text)
}

/// A name from a model, on one line and truncated, so that it cannot be mistaken for our own text.
pub(crate) fn shortened(name: &str) -> String {
    const MAX_CHARS: usize = 64;
    let plain = |letter: char| match letter {
        '`' => '\'',
        letter if letter.is_control() || letter.is_whitespace() => ' ',
        letter => letter,
    };
    let mut short: String = name.chars().take(MAX_CHARS).map(plain).collect();
    if name.chars().nth(MAX_CHARS).is_some() {
        short.push('…');
    }
    short
}

/// The names that are similar to a name, the most similar first.
fn suggestions<'n>(name: &str, names: &[&'n str]) -> Vec<&'n str> {
    let best = toolwright_core::suggest(name, names.iter().copied());
    let words = words(name);
    let mut ranked: Vec<(usize, &'n str)> = names
        .iter()
        .map(|other| (shared(&words, other), *other))
        .filter(|(shared, other)| *shared > 0 && Some(*other) != best)
        .collect();
    ranked.sort_by_key(|(shared, _)| Reverse(*shared));
    best.into_iter().chain(ranked.into_iter().map(|(_, name)| name)).take(MAX_SUGGESTIONS).collect()
}

fn shared(words: &[String], other: &str) -> usize {
    self::words(other).iter().filter(|word| words.contains(word)).count()
}

/// The words of a name, split at separators and capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for letter in name.chars().take(128) {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && lower) {
            words.push(String::new());
        }
        lower = letter.is_lowercase() || letter.is_numeric();
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
