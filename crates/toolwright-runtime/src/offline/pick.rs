//! Picks the tools that a message asks for, by the words that it shares with names and descriptions. On weak evidence
//! it picks none.

use std::collections::{HashMap, HashSet};

use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::pieces::{Clause, Kind, Piece};
use super::vocabulary::words;

/// Weights of a word in a name, and in a description or a parameter.
const NAME: f64 = 3.0;
const ABOUT: f64 = 1.0;
/// Weight of the whole name in the text, as written and in words.
const SAID: f64 = 20.0;
const NAMED: f64 = 2.0;
/// Scores with at least this ratio are ambiguous.
const MARGIN: f64 = 0.95;

/// Maximum number of bytes of descriptions that are read for all tools together. Later tools are matched by name only.
const READ_TOOLS: usize = 256 * 1024;
/// Maximum number of bytes that are read of a name, and of the description of a tool.
const READ_NAME: usize = 256;
const READ_TOOL: usize = 4 * 1024;
/// Maximum number of tools that are considered.
const MAX_TOOLS: usize = 1000;

/// One requested call of a tool.
#[derive(Debug)]
pub(super) struct Wish<'a, 't> {
    /// The tool
    pub(super) tool: &'t Tool,
    /// The pieces of its clauses
    pub(super) pieces: Vec<Piece<'a>>,
    /// Whether it must follow the previous wish
    pub(super) then: bool,
    /// The words that selected the tool
    pub(super) words: Vec<String>,
}

/// An index of tools by words.
pub(super) struct Index<'t> {
    entries: Vec<Entry<'t>>,
    /// The number of tools with a word
    holders: HashMap<String, usize>,
}

struct Entry<'t> {
    tool: &'t Tool,
    name: Vec<String>,
    about: HashSet<String>,
    /// The lower-case name, as written and in words; empty if it is too common to prove anything
    said_as: Vec<String>,
}

/// Returns what a message asks for, in order, and the tools that could not be distinguished. A clause without a tool
/// belongs to the previous one.
pub(super) fn wishes<'a, 't>(
    clauses: Vec<Clause<'a>>,
    index: &Index<'t>,
) -> (Vec<Wish<'a, 't>>, Vec<&'t Tool>) {
    let message = words(&clauses.iter().map(|clause| spoken(&clause.pieces)).collect::<String>());
    let (mut wishes, mut unsure): (Vec<Wish<'a, 't>>, _) = (Vec::new(), Vec::new());
    for Clause { pieces, then } in clauses {
        let mut picked = index.pick(&pieces, &message);
        let has_arguments = pieces.iter().any(|piece| piece.kind != Kind::Word);
        let is_before = |before: &Wish<'_, 't>| {
            let mut same = picked.iter().filter(|(tool, _)| tool.name == before.tool.name);
            picked.is_empty() || (same.next().is_some() && (picked.len() > 1 || !has_arguments))
        };
        if let Some(before) = wishes.last_mut().filter(|before| is_before(before)) {
            before.pieces.extend(pieces);
        } else if picked.len() > 1 {
            unsure = picked.into_iter().map(|(tool, _)| tool).collect();
        } else if let Some((tool, words)) = picked.pop() {
            wishes.push(Wish { tool, pieces, then, words });
        }
    }
    (wishes, unsure)
}

/// The text of pieces that are no arguments.
fn spoken(pieces: &[Piece<'_>]) -> String {
    let is_spoken = |piece: &&Piece<'_>| !matches!(piece.kind, Kind::Quoted | Kind::Object);
    let texts = pieces.iter().filter(is_spoken).flat_map(|piece| [piece.text, " "]);
    texts.collect()
}

impl<'t> Index<'t> {
    pub(super) fn new(tools: impl IntoIterator<Item = &'t Tool>) -> Index<'t> {
        let mut index = Index { entries: Vec::new(), holders: HashMap::new() };
        let mut left = READ_TOOLS;
        for tool in tools.into_iter().take(MAX_TOOLS) {
            let entry = Entry::new(tool, &mut left);
            for word in entry.about.iter().chain(&entry.name) {
                *index.holders.entry(word.clone()).or_default() += 1;
            }
            index.entries.push(entry);
        }
        index
    }

    /// Returns the tools.
    pub(super) fn tools(&self) -> Vec<&'t Tool> {
        self.entries.iter().map(|entry| entry.tool).collect()
    }

    /// Returns the tool of a clause with the words that selected it, or several with similar scores. Words elsewhere in
    /// the message may confirm the choice.
    fn pick(&self, pieces: &[Piece<'_>], message: &[String]) -> Vec<(&'t Tool, Vec<String>)> {
        let text = spoken(pieces).to_lowercase();
        let mut spoken: Vec<(String, f64)> =
            words(&spoken(pieces)).into_iter().map(|word| (word, 1.0)).collect();
        // A path implies a file.
        let has_path = pieces.iter().any(|piece| piece.kind == Kind::Path);
        if has_path && !spoken.iter().any(|(word, _)| word == "file") {
            spoken.push(("file".to_owned(), 0.5));
        }
        for (word, weight) in &mut spoken {
            // Rare words count more.
            let holders = self.holders.get(word).copied().unwrap_or_default();
            *weight *= 1.0 + ratio(self.entries.len(), holders).ln();
        }
        let ranked = self.entries.iter().filter_map(|entry| entry.score(&text, &spoken, message));
        let ranked: Vec<(f64, &'t Tool, Vec<String>)> = ranked.collect();
        let best = ranked.iter().map(|own| own.0).fold(0.0, f64::max);
        let close = ranked.into_iter().filter(|own| own.0 >= best * MARGIN);
        close.map(|(_, tool, words)| (tool, words)).collect()
    }
}

impl<'t> Entry<'t> {
    /// Reads a tool, within the remaining limit of bytes.
    fn new(tool: &'t Tool, left: &mut usize) -> Entry<'t> {
        let written = cut(&tool.name, READ_NAME);
        let name = words(written);
        let properties = tool.parameters().and_then(|schema| schema.get("properties"));
        let parameters = properties.and_then(Json::as_object).into_iter().flat_map(Object::iter);
        let description = tool.description.iter().map(String::as_str);
        let mut about = HashSet::new();
        for text in description.chain(parameters.map(|(name, _)| name)) {
            let text = cut(text, READ_TOOL.min(*left));
            *left -= text.len();
            about.extend(words(text));
        }
        about.retain(|word| !name.contains(word));
        let written = written.to_lowercase();
        let spaced = written.replace(['_', '-', '.'], " ");
        let said_as = if written == spaced { Vec::new() } else { vec![written, spaced] };
        Entry { tool, name, about, said_as }
    }

    /// Scores the tool for a clause, with the words that they share. `None` if the evidence is weak: it is strong if
    /// the clause contains a word of the name, and all of them, or words of the description, are in the clause or the
    /// message.
    fn score(
        &self,
        text: &str,
        spoken: &[(String, f64)],
        message: &[String],
    ) -> Option<(f64, &'t Tool, Vec<String>)> {
        let of = |word: &String, list: bool| {
            if list { self.name.contains(word) } else { self.about.contains(word) }
        };
        let named: Vec<&(String, f64)> = spoken.iter().filter(|own| of(&own.0, true)).collect();
        let told: Vec<&(String, f64)> = spoken.iter().filter(|own| of(&own.0, false)).collect();
        let is_anywhere =
            |word: &String| message.contains(word) || named.iter().any(|own| own.0 == *word);
        let is_said = self.said_as.iter().any(|form| stands(text, form));
        let is_meant = match (named.len(), told.len()) {
            (0, told) => told >= 3,
            (named, told) => self.name.iter().all(is_anywhere) || named + told >= 2,
        };
        let bonus = match (is_said, named.len() == self.name.len()) {
            (true, _) => SAID,
            (false, true) => NAMED,
            (false, false) => 0.0,
        };
        let sum = |words: &[&(String, f64)]| words.iter().map(|own| own.1).sum::<f64>();
        let score = bonus + NAME * sum(&named) + ABOUT * sum(&told);
        let words = named.into_iter().chain(told).map(|own| own.0.clone());
        (is_said || is_meant).then(|| (score, self.tool, words.collect()))
    }
}

/// Whether a text contains words that no other letters join.
fn stands(text: &str, words: &str) -> bool {
    let is_joined = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(words).any(|(at, found)| {
        !text[..at].ends_with(is_joined) && !text[at + found.len()..].starts_with(is_joined)
    })
}

#[allow(clippy::cast_precision_loss)]
fn ratio(all: usize, some: usize) -> f64 {
    all as f64 / some.max(1) as f64
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
        let read: usize = index.entries.iter().map(|entry| entry.about.len()).sum();
        assert!(read < READ_TOOLS / 7 + 2 * MAX_TOOLS, "{read} words");
    }
}
