//! Names and texts of a manifest, from those of a document.

use std::collections::{HashMap, HashSet};

use toolwright_runtime::redact;

/// Maximum length of a name of a function or argument, which every dialect accepts.
pub(super) const MAX_NAME: usize = 64;

/// Names that are unique in the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Names {
    used: HashSet<String>,
    /// The next numbers for names that are taken, by the beginning that numbered names share
    numbers: HashMap<String, usize>,
}

/// Number of characters that the beginning of every numbered name has in common with the name.
const MAX_STEM: usize = MAX_NAME - 8;

impl Names {
    /// Returns a name that was not returned before.
    pub(super) fn add(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        if self.used.contains(name) {
            let stem = name.chars().take(MAX_STEM).collect();
            let number = self.numbers.entry(stem).or_insert(2);
            loop {
                let suffix = format!("_{number}");
                free = name.chars().take(MAX_NAME - suffix.len()).collect::<String>() + &suffix;
                *number += 1;
                if !self.used.contains(&free) {
                    break;
                }
            }
        }
        self.used.insert(free.clone());
        free
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.used.contains(name)
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

/// Number of characters after those that are kept in which a credential may end.
const MAX_CREDENTIAL: usize = 4_096;

/// Truncates a text to a number of characters, and removes credentials that it shows as examples.
pub(super) fn shorten(text: &str, most: usize) -> String {
    // A credential that the end cuts would not be recognized.
    let text: String = text.trim().chars().take(most + MAX_CREDENTIAL).collect();
    let safe = if redact::has_credential(&text) { redact::text(&text) } else { text };
    if safe.chars().nth(most).is_none() {
        return safe;
    }
    let kept: String = safe.chars().take(most - 1).collect();
    kept.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered() {
        let mut names = Names::default();
        let added: Vec<String> = ["a", "a", "a_2", "a", "a_3"].map(|name| names.add(name)).into();
        assert_eq!(added, ["a", "a_2", "a_2_2", "a_3", "a_3_2"]);
        // Each of them takes about as long as the first.
        let long = "x".repeat(MAX_NAME);
        let all: HashSet<String> = (0..200_000).map(|_| names.add(&long)).collect();
        assert_eq!(all.len(), 200_000);
        assert!(all.iter().all(|name| name.len() <= MAX_NAME));
    }

    #[test]
    fn a_credential_that_the_end_cuts_is_redacted() {
        let text = format!("{} sk-proj-{}", "x".repeat(80), "aB3".repeat(24));
        for most in 81..120 {
            assert!(!shorten(&text, most).contains("sk-"), "{}", shorten(&text, most));
        }
    }
}
