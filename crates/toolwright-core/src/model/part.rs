//! The parts of messages, responses and outcomes.

use toolwright_json::{Json, Text};

use crate::model::call::Call;
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::outcome::Outcome;

/// One part of content, with attached data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The content
    pub body: Body,
    /// A vendor's signature, to be returned unchanged
    pub signature: Option<Signature>,
    /// A prompt-cache breakpoint after this part
    pub cache: Option<CacheMark>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Position in the source document
    pub origin: Origin,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text
    Text(Text),
    /// The model's explanation of why it refuses
    Refusal(Text),
    /// A JSON value; inside an outcome only
    Json(Json),
    /// An image, a document, audio or video
    Media(Media),
    /// Thinking of the model
    Reasoning(Reasoning),
    /// A call of a tool
    Call(Call),
    /// The outcome of a call
    Outcome(Outcome),
    /// A block that only its dialect knows, as it was received
    Opaque(Opaque),
}

/// A block without a canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// The dialect that can decode it
    pub dialect: Dialect,
    /// The block
    pub value: Json,
}

/// Thinking of the model, in sections if the vendor separates them.
///
/// A signature without sections is valid: some vendors withhold the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The sections
    pub sections: Vec<Section>,
    /// Whether it is an encrypted blob in place of the thinking (`redacted_thinking`,
    /// `redactedContent`)
    pub redacted: bool,
}

/// A section of thinking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Whether this is the thinking itself or a summary
    pub kind: SectionKind,
    /// The text
    pub text: String,
}

/// Whether a section is thinking or a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SectionKind {
    /// The thinking itself
    #[default]
    Full,
    /// A vendor's summary of it
    Summary,
}

impl Reasoning {
    /// Creates thinking with one section.
    pub fn text(text: impl Into<String>) -> Reasoning {
        let text = text.into();
        let sections =
            if text.is_empty() { vec![] } else { vec![Section { kind: SectionKind::Full, text }] };
        Reasoning { sections, redacted: false }
    }

    /// Returns the text of all sections, joined.
    pub fn joined(&self) -> String {
        let texts: Vec<&str> = self.sections.iter().map(|section| section.text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// An opaque value that only its vendor can read: a thinking signature, encrypted reasoning, a
/// thought signature. Never translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The dialect of the vendor
    pub dialect: Dialect,
    /// The value as it was received
    pub value: String,
}

/// A prompt-cache breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheMark {
    /// The requested lifetime (`5m`, `1h`)
    pub ttl: Option<String>,
    /// Position in the source document, if it is not within the marked value: Bedrock's is a
    /// separate element
    pub origin: Origin,
}

/// An image, a document, audio or video.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The kind
    pub kind: MediaKind,
    /// The media type (`image/png`), if known
    pub mime: Option<String>,
    /// The source of the bytes
    pub source: MediaSource,
    /// A file name or title
    pub name: Option<String>,
}

/// The kinds of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// An image
    Image,
    /// A document (PDF, text, spreadsheet)
    Document,
    /// Audio
    Audio,
    /// Video
    Video,
}

/// The source of media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// Inline, in base64
    Base64(String),
    /// Inline, as plain text (documents only)
    Text(String),
    /// A URL
    Url(String),
    /// A file that the vendor stores, by id
    File(Dialect, String),
}

impl Part {
    /// Creates a part without attached data.
    pub fn new(body: Body) -> Part {
        Part { body, signature: None, cache: None, extra: Extra::NONE, origin: Origin::NONE }
    }

    /// Creates a text part.
    pub fn text(text: impl Into<Text>) -> Part {
        Part::new(Body::Text(text.into()))
    }

    /// Creates a call part.
    pub fn call(call: Call) -> Part {
        Part::new(Body::Call(call))
    }

    /// Creates an outcome part.
    pub fn outcome(outcome: Outcome) -> Part {
        Part::new(Body::Outcome(outcome))
    }

    /// Creates a block that only `dialect` knows.
    pub fn opaque(dialect: Dialect, value: Json) -> Part {
        Part::new(Body::Opaque(Opaque { dialect, value }))
    }

    /// Sets the origin.
    #[must_use]
    #[inline]
    pub fn with_origin(mut self, origin: Origin) -> Part {
        self.origin = origin;
        self
    }

    /// Sets the extra fields.
    #[must_use]
    #[inline]
    pub fn with_extra(mut self, extra: Extra) -> Part {
        self.extra = extra;
        self
    }

    /// Whether this is a text part.
    pub fn is_text(&self) -> bool {
        matches!(self.body, Body::Text(_))
    }

    /// Returns the text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the call, if this is one.
    pub fn as_call(&self) -> Option<&Call> {
        match &self.body {
            Body::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the outcome, if this is one.
    pub fn as_outcome(&self) -> Option<&Outcome> {
        match &self.body {
            Body::Outcome(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether this is a text without attached data, which a plain string can express.
    pub fn is_plain_text(&self) -> bool {
        self.is_text() && self.signature.is_none() && self.cache.is_none() && self.extra.is_empty()
    }
}
