//! Documents, for a target that requires a unique name for each and a text beside it.

use std::collections::BTreeSet;

use toolwright_core::loss::{Severity, Site};
use toolwright_core::part::{Media, MediaKind};
use toolwright_core::{Body, Part};

use super::Work;

/// The default name of a document.
const DEFAULT_NAME: &str = "document";

/// Maximum length of a name in characters, which leaves space for a number after it.
const MAX_NAME_LENGTH: usize = 190;

/// The default text beside documents.
const DEFAULT_TEXT: &str = "See the document.";

pub(super) fn pass(work: &mut Work<'_>) {
    if !work.profile.content.labelled_documents || work.is_native() {
        return;
    }
    let mut messages = std::mem::take(&mut work.request.messages);
    let mut taken = BTreeSet::new();
    for message in &mut messages {
        let mut alone = false;
        for part in &mut message.parts {
            alone |= label(work, part, &mut taken);
            if let Body::Outcome(outcome) = &mut part.body {
                for own in &mut outcome.content {
                    label(work, own, &mut taken);
                }
            }
        }
        if alone && !message.parts.iter().any(Part::is_text) {
            message.parts.push(Part::text(DEFAULT_TEXT));
            work.add("text", "words beside a document, which the target requires");
        }
    }
    work.request.messages = messages;
}

/// Assigns a valid name to a document; returns whether the part is one.
fn label(work: &mut Work<'_>, part: &mut Part, taken: &mut BTreeSet<String>) -> bool {
    let Body::Media(Media { kind: MediaKind::Document, name, .. }) = &mut part.body else {
        return false;
    };
    let plain = name.as_deref().map(plain).filter(|plain| !plain.is_empty());
    let plain = plain.unwrap_or_else(|| DEFAULT_NAME.to_owned());
    let mut own = plain.clone();
    let mut number = 1;
    while !taken.insert(own.to_lowercase()) {
        number += 1;
        own = format!("{plain} {number}");
    }
    match name {
        Some(said) if *said == own => {}
        Some(_) => {
            let site = Site::field(&part.origin, "file_name");
            let why = "the target takes few characters, and each name once";
            work.lose(Severity::Minor, site, "said in other characters", why);
        }
        None => work.add("file_name", "a name for a document, which the target requires"),
    }
    *name = Some(own);
    true
}

/// Reduces a name to letters, digits, hyphens, brackets and single spaces, without its extension.
fn plain(name: &str) -> String {
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= 5 => stem,
        _ => name,
    };
    let legal = |own: char| own.is_ascii_alphanumeric() || "-()[]".contains(own);
    let spaced: String = stem.chars().map(|own| if legal(own) { own } else { ' ' }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ").chars().take(MAX_NAME_LENGTH).collect::<String>().trim_end().to_owned()
}
