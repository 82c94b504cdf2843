//! A response as it arrives: the whole stream grammar on one screen.
//!
//! ```text
//! stream = Start  part*  Stop  Usage*  End          Usage may also come before Stop
//!        | Start  part*  Fault                      a failure ends the stream
//! part   = PartStart  PartDelta*  PartEnd           keyed by index; parts may interleave
//! ```
//!
//! `Ping` may stand anywhere. Decoders keep the grammar, whatever a vendor sends; [`law`] checks it.
//! [`join`] folds events into a [`Response`](crate::Response), [`split`] does the reverse,
//! [`think`] separates thinking that a model wrote into its text,
//! [`sequence`] puts interleaved parts one after another for dialects that need it, and [`gather`]
//! holds calls back until they are whole.

pub mod emit;
pub mod gather;
pub mod join;
pub mod law;
pub mod sequence;
pub mod split;
pub mod think;

use crate::model::extra::Extra;
use crate::model::fault::Fault;
use crate::model::part::{CacheMark, Part, SectionKind, Signature};
use crate::model::response::Stop;
use crate::model::usage::Usage;

/// One step of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The answer begins
    Start(Start),
    /// A part begins
    PartStart {
        /// Its number in this stream: 0, 1, 2, … in order of appearance
        index: usize,
        /// What it is
        head: Head,
        /// Extra fields known at this time
        extra: Extra,
    },
    /// A part grows
    PartDelta {
        /// Which part
        index: usize,
        /// By what
        delta: Delta,
    },
    /// A part is complete
    PartEnd {
        /// Which part
        index: usize,
        /// What was only known at its end
        tail: Tail,
    },
    /// The model stopped
    Stop(Stop),
    /// Counts so far; later reports replace earlier ones, field by field
    Usage(Usage),
    /// The answer is complete
    End,
    /// The answer will not be completed
    Fault(Fault),
    /// Still there
    Ping,
}

/// What is known when an answer begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Start {
    /// The vendor's id
    pub id: Option<String>,
    /// The model
    pub model: Option<String>,
    /// Extra fields of the response
    pub extra: Extra,
}

/// What is known when a part begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// Text follows
    Text,
    /// A refusal follows
    Refusal,
    /// Thinking follows
    Reasoning,
    /// A call; its arguments follow
    Call {
        /// Its id, if the vendor gives one
        id: Option<String>,
        /// The tool
        name: String,
        /// Whether free text follows instead of JSON
        free: bool,
    },
    /// A part that comes whole; no deltas follow
    Whole(Box<Part>),
}

/// What a part grows by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Words of a text or refusal
    Text(String),
    /// A fragment of a call's arguments
    Arguments(String),
    /// Words of thinking
    Reasoning {
        /// Which section, from 0
        section: usize,
        /// Thinking or summary
        kind: SectionKind,
        /// The words
        text: String,
    },
}

impl Event {
    /// What a part grows by; empty for events that bring no words, arguments or thinking.
    pub fn words(&self) -> &str {
        match self {
            Event::PartDelta { delta, .. } => match delta {
                Delta::Text(text) | Delta::Arguments(text) | Delta::Reasoning { text, .. } => text,
            },
            _ => "",
        }
    }
}

/// What is known when a part is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The vendor's proof
    pub signature: Option<Signature>,
    /// A cache breakpoint
    pub cache: Option<CacheMark>,
    /// Extra fields, replacing those of the start key by key
    pub extra: Extra,
}

/// Which deltas a part takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words
    Text,
    /// Thinking
    Reasoning,
    /// Arguments
    Call,
    /// None
    Whole,
}

impl Kind {
    /// The kind of a part that begins.
    pub(crate) fn of(head: &Head) -> Kind {
        match head {
            Head::Text | Head::Refusal => Kind::Text,
            Head::Reasoning => Kind::Reasoning,
            Head::Call { .. } => Kind::Call,
            Head::Whole(_) => Kind::Whole,
        }
    }

    /// Whether a part of this kind can grow by a delta.
    pub(crate) fn takes(self, delta: &Delta) -> bool {
        match delta {
            Delta::Text(_) => self == Kind::Text,
            Delta::Arguments(_) => self == Kind::Call,
            Delta::Reasoning { .. } => self == Kind::Reasoning,
        }
    }
}
