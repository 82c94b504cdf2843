//! What a client's dialect cannot carry of an answer, and its vendor wants back: thinking with its
//! signatures.
//!
//! [`restore`](crate::fit::restore) gathers it into a [`Kept`] as the answer passes. Whoever stands
//! between client and vendor remembers that by the keys of its calls, and [`recall`] puts it back
//! into the client's next request, as if the client had sent it. Then [`fit`](mod@crate::fit)
//! applies its usual rules.

mod key;
mod recall;
mod record;

use std::fmt;

use crate::json::Object;
use crate::model::dialect::Dialect;
use crate::model::digest::{ConversationDigest, TextDigest};
use crate::model::extra::Extra;
use crate::model::part::{Body, Part, Signature};
use crate::note::is_note;
use crate::profile::ReasoningRule;

pub use key::Key;
pub use recall::recall;

/// What is kept of one answer: its calls as the client knows them, and around them what the client
/// does not send back.
#[derive(Clone, PartialEq, Eq)]
pub struct Kept {
    /// Who made it
    maker: Dialect,
    /// Whether its vendor can tell that it made this; else it is only an echo of words
    signed: bool,
    /// Whether its parts go by names that their vendor gave them
    known: bool,
    /// The answer's parts, in the vendor's order
    pieces: Vec<Piece>,
    /// Where it stands in its conversation, if the client may send its calls back without ids
    place: Option<ConversationDigest>,
}

/// What is kept of one part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Thinking, or an empty text that bears a signature: the whole part
    Whole(Part),
    /// Words that the client has
    Words { words: TextDigest, signature: Option<Signature>, extra: Extra },
    /// A call that the client has
    Call { id: String, name: String, sum: u64, signature: Option<Signature>, extra: Extra },
}

impl Piece {
    fn signature(&self) -> Option<&Signature> {
        match self {
            Piece::Whole(part) => part.signature.as_ref(),
            Piece::Words { signature, .. } | Piece::Call { signature, .. } => signature.as_ref(),
        }
    }

    /// Whether it stands under a name that its vendor gave it.
    fn is_known(&self) -> bool {
        matches!(self, Piece::Whole(part) if part.extra.fields().is_some_and(is_known))
    }

    fn size(&self) -> usize {
        let (words, extra) = match self {
            Piece::Whole(part) => (text_size(&part.body), &part.extra),
            Piece::Words { extra, .. } => (0, extra),
            Piece::Call { id, name, extra, .. } => (id.len() + name.len(), extra),
        };
        let extra = extra.fields().map_or(0, |fields| fields.compact().len());
        let signature = self.signature().map_or(0, |own| own.value.len());
        size_of::<Piece>() + words + extra + signature
    }
}

fn text_size(body: &Body) -> usize {
    match body {
        Body::Reasoning(reasoning) => {
            reasoning.sections.iter().map(|own| own.text.len() + size_of_val(own)).sum()
        }
        _ => 0,
    }
}

/// Whether a vendor's own fields, such as an id, stand for a part.
pub(crate) fn is_known(fields: &Object) -> bool {
    fields.keys().any(|key| !is_note(key))
}

impl Kept {
    /// What is kept of an answer; `None` if it has no call to find it by, or nothing worth keeping.
    pub(crate) fn new(maker: Dialect, rule: &ReasoningRule, pieces: Vec<Piece>) -> Option<Kept> {
        let known = rule.signature && pieces.iter().any(Piece::is_known);
        let signed = known || pieces.iter().any(|own| own.signature().is_some());
        let echoes = rule.must_echo && pieces.iter().any(|own| matches!(own, Piece::Whole(_)));
        let kept = Kept { maker, signed, known, pieces, place: None };
        ((signed || echoes) && kept.keys().next().is_some()).then_some(kept)
    }

    /// At a place, where the client may send calls back without ids.
    pub(crate) fn with_place(self, place: Option<ConversationDigest>) -> Kept {
        Kept { place, ..self }
    }

    /// By what it is found again where its calls come back without ids: for each call what stands
    /// for its id, and a key.
    pub fn places(&self) -> impl Iterator<Item = (String, Key)> {
        self.place.into_iter().flat_map(|place| {
            self.calls().enumerate().map(move |(number, (_, name, sum))| {
                let id = place.call_id(number);
                let key = Key::new(&id, name, sum);
                (id, key)
            })
        })
    }

    /// By what it is found again: a key for each call.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.calls().map(|(id, name, sum)| Key::new(id, name, sum))
    }

    /// By what it is found again whatever became of the arguments: a key for each call whose id
    /// can identify it.
    pub fn keys_without_arguments(&self) -> impl Iterator<Item = Key> {
        self.calls().filter_map(|(id, name, _)| Key::named(id, name))
    }

    /// The ids of its calls, by which most other calls can be told apart before any key is made.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.calls().map(|(id, ..)| id)
    }

    /// The calls, by id, name and what their arguments come to.
    fn calls(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Call { id, name, sum, .. } => Some((id.as_str(), name.as_str(), *sum)),
            Piece::Whole(_) | Piece::Words { .. } => None,
        })
    }

    /// About how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        size_of::<Kept>() + self.pieces.iter().map(Piece::size).sum::<usize>()
    }
}

/// Thinking is nobody's to read in a log.
impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut own = formatter.debug_struct("Kept");
        own.field("maker", &self.maker).field("pieces", &self.pieces.len()).finish_non_exhaustive()
    }
}
