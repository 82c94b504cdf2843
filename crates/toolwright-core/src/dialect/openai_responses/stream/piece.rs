//! What a reader of streams remembers of an item that is not done.

use std::collections::BTreeMap;

use crate::event::{Delta, Head};
use crate::json::Json;
use crate::model::part::SectionKind;

/// An item, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// As it was added
    pub(super) wire: Json,
    /// Its parts that are open, by their place in its content
    pub(super) pieces: BTreeMap<u64, Piece>,
    pub(super) done: bool,
}

/// A part that is open.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) index: usize,
    kind: Kind,
    /// Whether anything was said, so that what is said again is not taken for more
    said: bool,
    /// The sections of reasoning in order of appearance
    sections: Vec<Spoken>,
}

/// A section of reasoning: its number among its kind, and whether anything was said.
#[derive(Debug)]
struct Spoken {
    kind: SectionKind,
    number: u64,
    said: bool,
}

/// Which deltas a part takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Arguments,
    Reasoning,
}

impl Kind {
    /// The kind of a part that is about to open.
    pub(super) fn of(head: &Head) -> Kind {
        match head {
            Head::Call { .. } => Kind::Arguments,
            Head::Reasoning => Kind::Reasoning,
            _ => Kind::Text,
        }
    }
}

impl Piece {
    /// A part that has just begun.
    pub(super) fn new(index: usize, kind: Kind) -> Piece {
        Piece { index, kind, said: false, sections: vec![] }
    }

    /// The place of a section of reasoning, which may be new.
    pub(super) fn section(&mut self, kind: SectionKind, number: u64) -> usize {
        let known = self.sections.iter().position(|own| own.kind == kind && own.number == number);
        known.unwrap_or_else(|| {
            self.sections.push(Spoken { kind, number, said: false });
            self.sections.len() - 1
        })
    }

    /// Whether a delta is of this part's kind and says something new; notes that it was said.
    pub(super) fn takes(&mut self, delta: &Delta, is_whole: bool) -> bool {
        let (kind, text, said) = match delta {
            Delta::Text(text) => (Kind::Text, text, Some(&mut self.said)),
            Delta::Arguments(text) => (Kind::Arguments, text, Some(&mut self.said)),
            Delta::Reasoning { section, text, .. } => {
                let own = self.sections.get_mut(*section).map(|own| &mut own.said);
                (Kind::Reasoning, text, own)
            }
        };
        let before = match said {
            Some(said) => std::mem::replace(said, *said || !text.is_empty()),
            None => false,
        };
        self.kind == kind && !(is_whole && before)
    }
}
