//! The state of an incomplete item in a decoder.

use std::collections::BTreeMap;

use toolwright_core::event::{Delta, Head};
use toolwright_core::part::SectionKind;
use toolwright_json::Json;

/// An incomplete item.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// The item as it was announced
    pub(super) wire: Json,
    /// Its open parts, by their position in its content
    pub(super) pieces: BTreeMap<u64, Piece>,
    pub(super) done: bool,
}

/// An open part.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) index: usize,
    kind: Kind,
    /// Whether anything was emitted, so that a repetition is not taken for more
    said: bool,
    /// The sections of reasoning in order of appearance
    sections: Vec<Spoken>,
}

/// A section of reasoning: its index among its kind, and whether anything was emitted.
#[derive(Debug)]
struct Spoken {
    kind: SectionKind,
    number: u64,
    said: bool,
}

/// The kind of deltas that a part accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Arguments,
    Reasoning,
}

impl Kind {
    /// Returns the kind of a part that opens.
    pub(super) fn of(head: &Head) -> Kind {
        match head {
            Head::Call { .. } => Kind::Arguments,
            Head::Reasoning => Kind::Reasoning,
            _ => Kind::Text,
        }
    }
}

impl Piece {
    /// Creates a part that has begun.
    pub(super) fn new(index: usize, kind: Kind) -> Piece {
        Piece { index, kind, said: false, sections: vec![] }
    }

    /// Returns the position of a section of reasoning, which may be new.
    pub(super) fn section(&mut self, kind: SectionKind, number: u64) -> usize {
        let known = self.sections.iter().position(|own| own.kind == kind && own.number == number);
        known.unwrap_or_else(|| {
            self.sections.push(Spoken { kind, number, said: false });
            self.sections.len() - 1
        })
    }

    /// Whether a delta has this part's kind and adds something new; records that it was emitted.
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
