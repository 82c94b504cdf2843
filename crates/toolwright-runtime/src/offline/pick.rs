//! Picks the tool of a clause, by the words that it shares with names and descriptions. On weak
//! evidence it picks none.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::piece::{Kind, Piece};
use super::word::words;

/// Weights of a word in a name, a description and a parameter.
const NAME: f64 = 3.0;
const ABOUT: f64 = 1.0;
const SLOT: f64 = 0.5;
/// Weight of the whole name in the text, as written and in words.
const SAID: f64 = 20.0;
const NAMED: f64 = 2.0;
/// Scores with at least this ratio are ambiguous.
const MARGIN: f64 = 0.95;

/// Maximum number of bytes of descriptions and parameters that are read for all tools together.
/// Later tools are matched by name only.
pub(super) const READ_TOOLS: usize = 256 * 1024;
/// Maximum number of bytes that are read of a name, and of a description or the parameters of a
/// tool.
const READ_NAME: usize = 256;
const READ_TOOL: usize = 4 * 1024;
/// Maximum number of tools that are considered.
const MAX_TOOLS: usize = 1000;

/// Maximum number of quotations in a clause that are excluded.
const MAX_QUOTED: usize = 100;

/// An index of tools by words.
pub(super) struct Index<'a> {
    entries: Vec<Entry<'a>>,
    /// The tools that contain a word, with its weight in each
    holders: HashMap<String, Vec<(usize, f64)>>,
}

struct Entry<'a> {
    tool: &'a Tool,
    name: Vec<String>,
    /// The lower-case name, as written and in words; absent if it is too common to prove anything
    said_as: Option<[String; 2]>,
}

/// The score of a tool for a clause.
#[derive(Debug, Clone, Default)]
struct Tally {
    score: f64,
    /// Number of shared words in the name, and elsewhere
    named: usize,
    described: usize,
    /// The shared words, by index in the clause
    words: Vec<usize>,
}

/// The result for a clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Picked<'a> {
    /// No tool
    Nothing,
    /// One tool, with the words that selected it
    One(&'a Tool, Vec<String>),
    /// Several tools with similar scores
    Unsure(Vec<&'a Tool>),
}

impl<'a> Index<'a> {
    pub(super) fn new(tools: impl IntoIterator<Item = &'a Tool>) -> Index<'a> {
        let mut index = Index { entries: Vec::new(), holders: HashMap::new() };
        let mut left = READ_TOOLS;
        for tool in tools.into_iter().take(MAX_TOOLS) {
            index.add(tool, &mut left);
        }
        index
    }

    /// Adds a tool, within the remaining limit of bytes.
    fn add(&mut self, tool: &'a Tool, left: &mut usize) {
        let place = self.entries.len();
        let name = words(cut(&tool.name, READ_NAME));
        let mut read = |text: &str| {
            let text = cut(text, READ_TOOL.min(*left));
            *left -= text.len();
            words(text)
        };
        let about = read(tool.description.as_deref().unwrap_or_default());
        let slots = read(&slots(tool));
        // The first weight of a word counts.
        let mut seen = HashSet::new();
        for (list, weight) in [(&name, NAME), (&about, ABOUT), (&slots, SLOT)] {
            for word in list.iter().filter(|word| seen.insert(word.as_str())) {
                self.holders.entry(word.clone()).or_default().push((place, weight));
            }
        }
        self.entries.push(Entry { tool, name, said_as: said_as(&tool.name) });
    }

    /// Returns the tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &'a Tool> {
        self.entries.iter().map(|entry| entry.tool)
    }

    /// Picks the tool of a clause. Words elsewhere in the message may confirm the choice.
    pub(super) fn pick(
        &self,
        clause: &str,
        pieces: &[Piece<'_>],
        request: &HashSet<String>,
    ) -> Picked<'a> {
        let clause = &unquoted(clause, pieces);
        let mut spoken = words(clause);
        // A path in the text implies a file.
        let path = pieces.iter().any(|piece| piece.kind == Kind::Path);
        let implied = path && !spoken.iter().any(|word| word == "file");
        if implied {
            spoken.push("file".to_owned());
        }
        let lower = clause.to_lowercase();
        let tallies = self.tallies(&spoken, implied);
        let mut ranked: Vec<(f64, &Entry<'a>, &Tally)> = self
            .entries
            .iter()
            .zip(&tallies)
            .filter_map(|(entry, tally)| {
                let said = entry.is_said(&lower);
                let bonus = if said {
                    SAID
                } else if tally.named == entry.name.len() {
                    NAMED
                } else {
                    0.0
                };
                let strong = said || entry.is_meant(tally, &spoken, request);
                strong.then_some((tally.score + bonus, entry, tally))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
        let Some((best, first, tally)) = ranked.first() else { return Picked::Nothing };
        let close: Vec<&Tool> = ranked
            .iter()
            .filter(|(score, ..)| *score >= best * MARGIN)
            .map(|(_, entry, _)| entry.tool)
            .collect();
        match close.len() {
            1 => {
                let words = tally.words.iter().filter_map(|at| spoken.get(*at)).cloned();
                Picked::One(first.tool, words.collect())
            }
            _ => Picked::Unsure(close),
        }
    }

    /// Scores each tool for a clause; rare words count more.
    fn tallies(&self, spoken: &[String], implied: bool) -> Vec<Tally> {
        let mut tallies = vec![Tally::default(); self.entries.len()];
        for (at, word) in spoken.iter().enumerate() {
            let holders = self.holders.get(word).map_or(&[][..], Vec::as_slice);
            let rarity = 1.0 + ratio(self.entries.len(), holders.len()).ln();
            let guessed = if implied && at + 1 == spoken.len() { 0.5 } else { 1.0 };
            for (place, weight) in holders {
                let Some(tally) = tallies.get_mut(*place) else { continue };
                tally.score += weight * rarity * guessed;
                tally.words.push(at);
                let is_named = self.entries[*place].name.contains(word);
                tally.named += usize::from(is_named);
                tally.described += usize::from(!is_named);
            }
        }
        tallies
    }
}

impl Entry<'_> {
    /// Whether the evidence is strong: the clause contains a word of the name, and all of them, or
    /// words of the description, are in the clause or the message.
    fn is_meant(&self, tally: &Tally, spoken: &[String], request: &HashSet<String>) -> bool {
        let anywhere = |word: &String| request.contains(word) || spoken.contains(word);
        match (tally.named, tally.described) {
            (0, described) => described >= 3,
            (named, described) => self.name.iter().all(anywhere) || named + described >= 2,
        }
    }

    /// Whether a lower-case text contains the tool's name, as written or in words.
    fn is_said(&self, text: &str) -> bool {
        let stands = |word: &String| {
            text.match_indices(word).any(|(at, found)| {
                let joined = |letter: Option<char>| {
                    letter.is_some_and(|own| own.is_ascii_alphanumeric() || own == '_')
                };
                !joined(text[..at].chars().next_back())
                    && !joined(text[at + found.len()..].chars().next())
            })
        };
        self.said_as.as_ref().is_some_and(|forms| forms.iter().any(stands))
    }
}

/// Removes quotations from a clause: they are arguments.
fn unquoted(clause: &str, pieces: &[Piece<'_>]) -> String {
    let quoted = pieces.iter().filter(|piece| matches!(piece.kind, Kind::Quoted | Kind::Object));
    quoted.take(MAX_QUOTED).fold(clause.to_owned(), |text, piece| text.replace(piece.text, " "))
}

#[allow(clippy::cast_precision_loss)]
fn ratio(all: usize, some: usize) -> f64 {
    all as f64 / some.max(1) as f64
}

/// Returns the forms of a name that identify the tool. A single common word does not.
fn said_as(name: &str) -> Option<[String; 2]> {
    let separators = ['_', '-', '.'];
    let name = cut(name, READ_NAME).to_lowercase();
    let spaced = name.replace(separators, " ");
    name.contains(separators).then_some([name, spaced])
}

/// Returns the text of a tool's parameters: names, descriptions, accepted values.
fn slots(tool: &Tool) -> String {
    let properties = tool.parameters().and_then(|schema| schema.get("properties"));
    let mut text = String::new();
    for (name, schema) in properties.and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
        let accepted = schema.get("enum").and_then(Json::as_array).unwrap_or_default();
        for word in [name, about].into_iter().chain(accepted.iter().filter_map(Json::as_str)) {
            text.push_str(word);
            text.push(' ');
        }
        if text.len() > READ_TOOL {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use toolwright_core::Tool;

    use super::{Index, MAX_TOOLS, READ_TOOL, READ_TOOLS};

    /// A text of at least `bytes` bytes in which no word occurs twice.
    fn distinct_words(bytes: usize) -> String {
        (0..=bytes / 7).map(|at| format!("w{at:05} ")).collect::<Vec<_>>().concat()
    }

    fn described(name: String, description: &str) -> Tool {
        Tool { name, description: Some(description.to_owned()), ..Tool::default() }
    }

    #[test]
    fn an_index_reads_the_beginning_of_a_long_description() {
        let tool = described("search_web".to_owned(), &distinct_words(363_000));
        let index = Index::new([&tool]);
        assert!(index.holders.len() < READ_TOOL / 7 + 5, "{} words", index.holders.len());
    }

    #[test]
    fn an_index_of_many_tools_reads_so_much_of_them_together() {
        let text = distinct_words(READ_TOOL);
        let tools: Vec<Tool> = (0..10_000).map(|at| described(format!("t{at}"), &text)).collect();
        let index = Index::new(&tools);
        assert_eq!(index.entries.len(), MAX_TOOLS);
        let read: usize = index.holders.values().map(Vec::len).sum();
        assert!(read < READ_TOOLS / 7 + 2 * MAX_TOOLS, "{read} words");
    }
}
