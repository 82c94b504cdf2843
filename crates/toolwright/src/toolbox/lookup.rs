//! Errors of calls that name no tool, or one that the caller may not call.

use std::cmp::Reverse;

use crate::error::{CallError, CallErrorKind};

/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum number of names that are listed if none is similar.
const MAX_LISTED: usize = 20;

/// The error of a call whose tool does not exist. Suggests only tools that the caller may see.
pub(crate) fn unknown(name: &str, visible: &[&str]) -> CallError {
    let suggestions = suggestions(name, visible);
    let advice = if !suggestions.is_empty() {
        let names: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
        format!("Did you mean {}?", names.join(" or "))
    } else if visible.is_empty() {
        "There are no tools here: answer without them.".to_owned()
    } else {
        let more = if visible.len() > MAX_LISTED { ", and others" } else { "" };
        let names: Vec<&str> = visible.iter().copied().take(MAX_LISTED).collect();
        format!("The tools are: {}{more}.", names.join(", "))
    };
    let name = shortened(name);
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
