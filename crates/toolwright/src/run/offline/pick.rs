//! Which tool a clause asks for, by the words that it shares with names and descriptions. On weak
//! evidence: none.

use std::cmp::Ordering;

use toolwright_core::json::Object;
use toolwright_core::{Json, Tool};

use super::piece::{Kind, Piece};
use super::word::words;

/// How much more a word of a name says than one of a description, and that than one of a parameter.
const NAME: f64 = 3.0;
const ABOUT: f64 = 1.0;
const SLOT: f64 = 0.5;
/// What the whole name in the text is worth, as it is and in other words.
const SAID: f64 = 20.0;
const NAMED: f64 = 2.0;
/// Two tools whose scores are as close as this cannot be told apart.
const MARGIN: f64 = 0.95;

/// Tools by their words.
pub(super) struct Index<'a> {
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    tool: &'a Tool,
    name: Vec<String>,
    about: Vec<String>,
    slots: Vec<String>,
}

/// What a clause asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Picked<'a> {
    /// No tool
    Nothing,
    /// One, because of these words
    One(&'a Tool, Vec<String>),
    /// One of some that cannot be told apart
    Unsure(Vec<&'a Tool>),
}

impl<'a> Index<'a> {
    pub(super) fn new(tools: impl IntoIterator<Item = &'a Tool>) -> Index<'a> {
        let entry = |tool: &'a Tool| Entry {
            tool,
            name: words(&tool.name),
            about: words(tool.description.as_deref().unwrap_or_default()),
            slots: slots(tool),
        };
        Index { entries: tools.into_iter().map(entry).collect() }
    }

    /// The tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &'a Tool> {
        self.entries.iter().map(|entry| entry.tool)
    }

    /// What a clause asks for. The whole request may confirm what the clause itself suggests.
    pub(super) fn pick(
        &self,
        clause: &str,
        pieces: &[Piece<'_>],
        request: &[String],
    ) -> Picked<'a> {
        let clause = &unquoted(clause, pieces);
        let mut spoken = words(clause);
        // Whoever names a path speaks of a file.
        let path = pieces.iter().any(|piece| piece.kind == Kind::Path);
        let implied = path && !spoken.iter().any(|word| word == "file");
        if implied {
            spoken.push("file".to_owned());
        }
        let mut ranked: Vec<(f64, &Entry<'a>, Vec<String>)> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let said = says(clause, &entry.tool.name);
                let strong = said || entry.is_meant(&spoken, request);
                let (score, words) = self.score(entry, &spoken, implied);
                let whole = entry.name.iter().all(|word| spoken.contains(word));
                let bonus = if said {
                    SAID
                } else if whole {
                    NAMED
                } else {
                    0.0
                };
                strong.then_some((score + bonus, entry, words))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
        let Some((best, first, _)) = ranked.first() else { return Picked::Nothing };
        let close: Vec<&Tool> = ranked
            .iter()
            .filter(|(score, ..)| *score >= best * MARGIN)
            .map(|(_, entry, _)| entry.tool)
            .collect();
        match close.len() {
            1 => Picked::One(first.tool, ranked[0].2.clone()),
            _ => Picked::Unsure(close),
        }
    }

    /// How much a clause speaks of a tool, rare words more, and by which words.
    fn score(&self, entry: &Entry<'_>, spoken: &[String], implied: bool) -> (f64, Vec<String>) {
        let mut score = 0.0;
        let mut shared = Vec::new();
        for (at, word) in spoken.iter().enumerate() {
            let weight = entry.weight(word);
            if weight > 0.0 {
                let holders = self.entries.iter().filter(|other| other.weight(word) > 0.0).count();
                let rarity = 1.0 + ratio(self.entries.len(), holders).ln();
                let guessed = if implied && at + 1 == spoken.len() { 0.5 } else { 1.0 };
                score += weight * rarity * guessed;
                shared.push(word.clone());
            }
        }
        (score, shared)
    }
}

impl Entry<'_> {
    fn weight(&self, word: &str) -> f64 {
        let has = |list: &[String]| list.iter().any(|own| own == word);
        match word {
            _ if has(&self.name) => NAME,
            _ if has(&self.about) => ABOUT,
            _ if has(&self.slots) => SLOT,
            _ => 0.0,
        }
    }

    /// Whether the evidence is strong: the clause says a word of the name, and all of them, or
    /// further words of the description, are in it or in the request.
    fn is_meant(&self, spoken: &[String], request: &[String]) -> bool {
        let here = |word: &&String| spoken.contains(word);
        let anywhere = |word: &&String| spoken.contains(word) || request.contains(word);
        let named = self.name.iter().filter(here).count();
        let described =
            spoken.iter().filter(|word| !self.name.contains(word) && self.weight(word) > 0.0);
        match (named, described.count()) {
            (0, described) => described >= 3,
            (_, described) => {
                self.name.iter().all(|word| anywhere(&word)) || named + described >= 2
            }
        }
    }
}

/// A clause without what is quoted in it: that is for the tool and not about it.
fn unquoted(clause: &str, pieces: &[Piece<'_>]) -> String {
    let quoted = pieces.iter().filter(|piece| matches!(piece.kind, Kind::Quoted | Kind::Object));
    quoted.fold(clause.to_owned(), |text, piece| text.replace(piece.text, " "))
}

#[allow(clippy::cast_precision_loss)]
fn ratio(all: usize, some: usize) -> f64 {
    all as f64 / some.max(1) as f64
}

/// Whether a text says a tool's name, as it is or in words.
fn says(text: &str, name: &str) -> bool {
    let text = text.to_lowercase();
    let name = name.to_lowercase();
    let spaced = name.replace(['_', '-', '.'], " ");
    // A name of one common word proves nothing by being said.
    let single = !name.contains(['_', '-', '.']);
    let stands = |word: &str| {
        text.match_indices(word).any(|(at, found)| {
            let joined = |letter: Option<char>| {
                letter.is_some_and(|own| own.is_ascii_alphanumeric() || own == '_')
            };
            !joined(text[..at].chars().next_back())
                && !joined(text[at + found.len()..].chars().next())
        })
    };
    !name.is_empty() && !single && (stands(&name) || stands(&spaced))
}

/// The words of a tool's parameters: names, descriptions, accepted values.
fn slots(tool: &Tool) -> Vec<String> {
    let properties = tool.parameters().and_then(|schema| schema.get("properties"));
    let mut text = String::new();
    for (name, schema) in properties.and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let accepted = schema.get("enum").and_then(Json::as_array).unwrap_or_default();
        for word in [name, about].into_iter().chain(accepted.iter().filter_map(Json::as_str)) {
            text.push_str(word);
            text.push(' ');
        }
    }
    words(&text)
}
