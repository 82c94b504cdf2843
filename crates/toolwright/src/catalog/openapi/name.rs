//! Names and texts of a manifest, from those of a document.

use std::collections::HashSet;

use crate::redact;

/// Maximum length of a name of a function or argument, which every dialect accepts.
pub(super) const MAX_NAME: usize = 64;

/// Names that are unique in the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// Returns a name that was not returned before.
    pub(super) fn add(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| {
            let suffix = format!("_{number}");
            let kept: String = name.chars().take(MAX_NAME - suffix.len()).collect();
            kept + &suffix
        });
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names.find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.insert(free.clone());
        free
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Returns a name of letters, digits and single underscores. A long one ends with a hash of the whole.
pub(super) fn identifier(text: &str) -> String {
    let words =
        text.split(|own: char| !own.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    let name = match name.chars().next() {
        None => format!("unnamed_{}", hash(text)),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    };
    if name.len() <= MAX_NAME { name } else { format!("{}_{}", &name[..MAX_NAME - 9], hash(&name)) }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..8].to_owned()
}

/// Returns a name as it is if every dialect accepts it as a property, else one of letters and digits.
pub(super) fn argument(name: &str) -> String {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_legal) {
        name.to_owned()
    } else {
        identifier(name)
    }
}

/// Returns the id of a prefab.
pub(super) fn kebab(title: &str) -> String {
    let title = title.to_ascii_lowercase();
    let words =
        title.split(|own: char| !own.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut id = String::new();
    for word in words {
        if id.len() + word.len() < MAX_NAME {
            id = if id.is_empty() { word.to_owned() } else { format!("{id}-{word}") };
        }
    }
    let has_letter = id.starts_with(|first: char| first.is_ascii_lowercase());
    if has_letter && id.len() >= 3 {
        id
    } else {
        format!("api-{id}").trim_end_matches('-').to_owned()
    }
}

/// Returns a semantic version: up to three numbers of the text, or 0.1.0.
pub(super) fn semver(text: &str) -> String {
    let text = text.trim().trim_start_matches(['v', 'V']);
    if semver::Version::parse(text).is_ok() {
        return text.to_owned();
    }
    let numbers = text.split(['.', '-']).map_while(|own| own.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.take(3).collect();
    match numbers[..] {
        [] => "0.1.0".to_owned(),
        [major] => format!("{major}.0.0"),
        [major, minor] => format!("{major}.{minor}.0"),
        [major, minor, patch, ..] => format!("{major}.{minor}.{patch}"),
    }
}

/// Truncates a text to a number of characters, and removes credentials that it shows as examples.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let text = text.trim();
    let kept = if text.chars().nth(most).is_none() {
        text.to_owned()
    } else {
        let kept: String = text.chars().take(most - 1).collect();
        kept.trim_end().to_owned() + "…"
    };
    if redact::has_credential(&kept) { redact::text(&kept) } else { kept }
}
