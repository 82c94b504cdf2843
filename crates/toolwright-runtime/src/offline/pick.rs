//! Picks the tools that a message asks for, by the words that it shares with names and descriptions. On weak evidence
//! it picks none.

use std::collections::{BTreeMap, HashMap, HashSet};

use toolwright_core::{Json, Tool};
use toolwright_json::Object;

use super::cut;
use super::parameters::READ_NAME;
use super::pieces::{Clause, Kind, Piece};
use super::vocabulary::words;

/// Weights of a word in a name, and in a description or a parameter.
const NAME: f64 = 3.0;
const ABOUT: f64 = 1.0;
/// Weight of the whole name in the text, as it is written and by its words.
const SAID: f64 = 20.0;
const NAMED: f64 = 2.0;
/// Scores with at least this ratio are ambiguous.
const MARGIN: f64 = 0.95;

/// Maximum number of bytes of the parameters and the description of a tool that are read.
const READ_TOOL: usize = 512;
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
}

/// An index of tools by words.
pub(super) struct Index<'t> {
    entries: Vec<Entry<'t>>,
    /// The number of tools with a word
    holders: HashMap<String, u16>,
}

struct Entry<'t> {
    tool: &'t Tool,
    /// Its name as it is written
    written: String,
    name: HashSet<String>,
    about: HashSet<String>,
}

/// Returns what a message asks for, in order, and the tools that could not be distinguished. A clause without a tool
/// belongs to the previous one.
pub(super) fn wishes<'a, 't>(
    clauses: Vec<Clause<'a>>,
    index: &Index<'t>,
) -> (Vec<Wish<'a, 't>>, Vec<&'t Tool>) {
    let all = clauses.iter().flat_map(|clause| spoken(&clause.pieces));
    let message: HashSet<String> = all.flat_map(|piece| piece.words.iter().cloned()).collect();
    let (mut wishes, mut unsure): (Vec<Wish<'a, 't>>, _) = (Vec::new(), Vec::new());
    for Clause { pieces, then } in clauses {
        let picked = index.pick(&pieces, &message);
        let has_arguments = pieces.iter().any(|piece| piece.kind != Kind::Word);
        let is_before = |before: &Wish<'_, 't>| {
            let is_same = picked.iter().any(|tool| tool.name == before.tool.name);
            picked.is_empty() || (is_same && (picked.len() > 1 || !has_arguments))
        };
        if let Some(before) = wishes.last_mut().filter(|before| is_before(before)) {
            before.pieces.extend(pieces);
        } else if let [tool] = picked[..] {
            wishes.push(Wish { tool, pieces, then });
        } else if !picked.is_empty() {
            unsure = picked;
        }
    }
    (wishes, unsure)
}

/// Returns the pieces that are no data.
fn spoken<'p, 'a>(pieces: &'p [Piece<'a>]) -> impl Iterator<Item = &'p Piece<'a>> {
    pieces.iter().filter(|piece| !matches!(piece.kind, Kind::Quoted | Kind::Object))
}

/// Returns a text in lower case, with spaces in place of the marks in names of tools.
fn plain(text: &str) -> String {
    format!(" {} ", text.to_lowercase().replace(['_', '-', '.', '/'], " "))
}

impl<'t> Index<'t> {
    pub(super) fn new(tools: impl IntoIterator<Item = &'t Tool>) -> Index<'t> {
        let entries: Vec<Entry<'t>> = tools.into_iter().take(MAX_TOOLS).map(Entry::new).collect();
        let mut holders: HashMap<String, u16> = HashMap::new();
        for word in entries.iter().flat_map(|entry| entry.name.iter().chain(&entry.about)) {
            *holders.entry(word.clone()).or_default() += 1;
        }
        Index { entries, holders }
    }

    /// Returns the tools.
    pub(super) fn tools(&self) -> Vec<&'t Tool> {
        self.entries.iter().map(|entry| entry.tool).collect()
    }

    /// Returns the tool of a clause, or several with similar scores. Words elsewhere in the message may confirm the
    /// choice.
    fn pick(&self, pieces: &[Piece<'_>], message: &HashSet<String>) -> Vec<&'t Tool> {
        let texts: Vec<&str> = spoken(pieces).map(|piece| piece.text).collect();
        let text = plain(&texts.join(" "));
        let words = spoken(pieces).flat_map(|piece| &piece.words);
        let mut words: BTreeMap<&str, f64> = words.map(|word| (word.as_str(), 1.0)).collect();
        // A path implies a file.
        if pieces.iter().any(|piece| piece.kind == Kind::Path) {
            words.entry("file").or_insert(0.5);
        }
        let total = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
        for (word, weight) in &mut words {
            // Rare words count more.
            let holders = self.holders.get(*word).copied().unwrap_or(1);
            *weight *= 1.0 + (f64::from(total) / f64::from(holders)).ln();
        }
        let scored = self.entries.iter().filter_map(|entry| {
            entry.score(&text, &words, message).map(|score| (score, entry.tool))
        });
        let scored: Vec<(f64, &'t Tool)> = scored.collect();
        let best = scored.iter().map(|(score, _)| *score).fold(0.0, f64::max);
        let close = scored.into_iter().filter(|(score, _)| *score >= best * MARGIN);
        close.map(|(_, tool)| tool).collect()
    }
}

impl<'t> Entry<'t> {
    fn new(tool: &'t Tool) -> Entry<'t> {
        let written = cut(&tool.name, READ_NAME);
        let properties = tool.parameters().and_then(|schema| schema.get("properties"));
        let properties = properties.and_then(Json::as_object).into_iter();
        let mut texts: Vec<&str> = properties.flat_map(Object::keys).collect();
        texts.extend(tool.description.as_deref());
        let name: HashSet<String> = words(written).into_iter().collect();
        let about = words(cut(&texts.join(" "), READ_TOOL));
        let about = about.into_iter().filter(|word| !name.contains(word)).collect();
        Entry { tool, written: plain(written), name, about }
    }

    /// Scores the tool for the words of a clause. `None` if the evidence is weak: it is strong if the clause contains a
    /// word of the name, and all of them, or words of the description, are in the clause or the message.
    fn score(
        &self,
        text: &str,
        words: &BTreeMap<&str, f64>,
        message: &HashSet<String>,
    ) -> Option<f64> {
        let weights = |list: &HashSet<String>| -> Vec<f64> {
            let shared = words.iter().filter(|(word, _)| list.contains(**word));
            shared.map(|(_, weight)| *weight).collect()
        };
        let (named, told) = (weights(&self.name), weights(&self.about));
        let is_anywhere = |word: &String| message.contains(word) || words.contains_key(&**word);
        // A single word is too common to prove anything.
        let is_said = self.written.trim().contains(' ') && text.contains(&self.written);
        let is_whole = self.name.iter().all(is_anywhere);
        let is_meant = !named.is_empty() && (is_whole || named.len() + told.len() >= 2);
        let bonus = match (is_said, named.len() == self.name.len()) {
            (true, _) => SAID,
            (false, true) => NAMED,
            (false, false) => 0.0,
        };
        let sum = |weights: Vec<f64>| weights.into_iter().sum::<f64>();
        (is_said || is_meant).then(|| bonus + NAME * sum(named) + ABOUT * sum(told))
    }
}

#[cfg(test)]
mod tests {
    use toolwright_core::Tool;

    use super::{Index, MAX_TOOLS, READ_TOOL};

    #[test]
    fn an_index_reads_the_beginning_of_long_descriptions_of_some_tools() {
        // No word occurs twice.
        let text = (0..1_000).map(|at| format!("w{at:05} ")).collect::<Vec<_>>().concat();
        let described = |name| Tool { name, description: Some(text.clone()), ..Tool::default() };
        let tools: Vec<Tool> = (0..2_000).map(|at| described(format!("t{at}"))).collect();
        let index = Index::new(&tools);
        assert_eq!(index.entries.len(), MAX_TOOLS);
        let read = index.entries.iter().map(|entry| entry.about.len()).max();
        assert!(read <= Some(READ_TOOL / 7 + 1), "{read:?} words");
    }
}
