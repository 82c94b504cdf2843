//! A response as a stream of events, and the grammar of the stream.
//!
//! ```text
//! stream = Start  part*  Stop  Usage*  End          Usage may also come before Stop
//!        | Start  part*  Fault                      a failure ends the stream
//! part   = PartStart  PartDelta*  PartEnd           keyed by index; parts may interleave
//! ```
//!
//! `Ping` may occur anywhere. Decoders emit this grammar for any input of a vendor; [`law`] checks
//! it. [`join`] folds events into a [`Response`](crate::Response), [`split`] does the reverse,
//! [`think`] separates thinking that a model wrote into its text, [`sequence`] reorders interleaved
//! parts for dialects that need it, and [`gather`] buffers calls until they are complete.

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

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The response begins
    Start(Start),
    /// A part begins
    PartStart {
        /// The index in this stream: 0, 1, 2, … in order of appearance
        index: usize,
        /// The kind of part
        head: Head,
        /// Extra fields known at this time
        extra: Extra,
    },
    /// Content of a part
    PartDelta {
        /// The index of the part
        index: usize,
        /// The content
        delta: Delta,
    },
    /// A part is complete
    PartEnd {
        /// The index of the part
        index: usize,
        /// Values that are known only at the end
        tail: Tail,
    },
    /// The model stopped
    Stop(Stop),
    /// Usage so far; later reports replace earlier ones, field by field
    Usage(Usage),
    /// The response is complete
    End,
    /// The response failed
    Fault(Fault),
    /// Keep-alive
    Ping,
}

/// Values that are known when a response begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Start {
    /// The vendor's id
    pub id: Option<String>,
    /// The model
    pub model: Option<String>,
    /// Extra fields of the response
    pub extra: Extra,
}

/// The kind of a part that begins.
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
        /// Its id, if the vendor sends one
        id: Option<String>,
        /// The tool
        name: String,
        /// Whether free text follows instead of JSON
        free: bool,
    },
    /// A complete part; no deltas follow
    Whole(Box<Part>),
}

/// Content that is added to a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of a text or refusal part
    Text(String),
    /// A fragment of a call's arguments
    Arguments(String),
    /// Text of reasoning
    Reasoning {
        /// The index of the section
        section: usize,
        /// Reasoning or summary
        kind: SectionKind,
        /// The text
        text: String,
    },
}

impl Event {
    /// Returns the text of a delta; empty for other events.
    pub fn words(&self) -> &str {
        match self {
            Event::PartDelta { delta, .. } => match delta {
                Delta::Text(text) | Delta::Arguments(text) | Delta::Reasoning { text, .. } => text,
            },
            _ => "",
        }
    }
}

/// Values that are known when a part is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The vendor's signature
    pub signature: Option<Signature>,
    /// A cache breakpoint
    pub cache: Option<CacheMark>,
    /// Extra fields, which replace those of the start key by key
    pub extra: Extra,
}

/// The kind of deltas that a part accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text
    Text,
    /// Thinking
    Reasoning,
    /// Arguments
    Call,
    /// None
    Whole,
}

impl Kind {
    /// Returns the kind of a part that begins.
    pub(crate) fn of(head: &Head) -> Kind {
        match head {
            Head::Text | Head::Refusal => Kind::Text,
            Head::Reasoning => Kind::Reasoning,
            Head::Call { .. } => Kind::Call,
            Head::Whole(_) => Kind::Whole,
        }
    }

    /// Whether a part of this kind accepts a delta.
    pub(crate) fn takes(self, delta: &Delta) -> bool {
        match delta {
            Delta::Text(_) => self == Kind::Text,
            Delta::Arguments(_) => self == Kind::Call,
            Delta::Reasoning { .. } => self == Kind::Reasoning,
        }
    }
}
