//! The pieces that messages, responses and outcomes are made of.

use crate::json::Json;
use crate::model::call::Call;
use crate::model::dialect::Dialect;
use crate::model::extra::Extra;
use crate::model::origin::Origin;
use crate::model::outcome::Outcome;

/// One piece of content, with what may be attached to any piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is
    pub body: Body,
    /// A vendor's proof that it wrote this part, to be returned unchanged
    pub signature: Option<Signature>,
    /// A prompt-cache breakpoint after this part
    pub cache: Option<CacheMark>,
    /// Fields without a canonical name
    pub extra: Extra,
    /// Where it was read
    pub origin: Origin,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Words
    Text(String),
    /// The model's words on why it will not answer
    Refusal(String),
    /// A JSON value; inside an outcome only
    Json(Json),
    /// An image, a document, sound or film
    Media(Media),
    /// The model's thinking
    Reasoning(Reasoning),
    /// A call of a tool
    Call(Call),
    /// The outcome of a call
    Outcome(Outcome),
    /// A block that only its own dialect knows, as it was sent
    Opaque(Opaque),
}

/// A block without a canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// Who can read it
    pub dialect: Dialect,
    /// The block
    pub value: Json,
}

/// The model's thinking, in sections where the vendor cuts it so.
///
/// No sections and a signature is valid: some vendors withhold the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The text, section by section
    pub sections: Vec<Section>,
    /// An encrypted blob that stands for the thinking (`redacted_thinking`, `redactedContent`)
    pub redacted: bool,
}

/// A section of thinking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Whether this is the thinking itself or a summary of it
    pub kind: SectionKind,
    /// The words
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
    /// Thinking in one section.
    pub fn text(text: impl Into<String>) -> Reasoning {
        let text = text.into();
        let sections =
            if text.is_empty() { vec![] } else { vec![Section { kind: SectionKind::Full, text }] };
        Reasoning { sections, redacted: false }
    }

    /// All sections in one text.
    pub fn joined(&self) -> String {
        let texts: Vec<&str> = self.sections.iter().map(|section| section.text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// An opaque value that only the vendor who made it can read: a thinking signature, encrypted
/// reasoning, a thought signature. Never translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Who made it
    pub dialect: Dialect,
    /// The value as it was sent
    pub value: String,
}

/// A prompt-cache breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheMark {
    /// How long the vendor is asked to keep it (`5m`, `1h`)
    pub ttl: Option<String>,
    /// Where it was read, if that is not within what it marks: Bedrock's is an element of its own
    pub origin: Origin,
}

/// An image, a document, sound or film.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Which of them
    pub kind: MediaKind,
    /// Its media type (`image/png`), where known
    pub mime: Option<String>,
    /// Where its bytes are
    pub source: MediaSource,
    /// A file name or title
    pub name: Option<String>,
}

/// The kinds of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A still picture
    Image,
    /// A document (PDF, text, spreadsheet)
    Document,
    /// Sound
    Audio,
    /// Film
    Video,
}

/// Where the bytes of a medium are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// Here, in base64
    Base64(String),
    /// Here, as plain text (documents only)
    Text(String),
    /// At an address
    Url(String),
    /// At the vendor, under an id
    File(Dialect, String),
}

impl Part {
    /// A part with nothing attached.
    pub fn new(body: Body) -> Part {
        Part { body, signature: None, cache: None, extra: Extra::NONE, origin: Origin::NONE }
    }

    /// A text part.
    pub fn text(text: impl Into<String>) -> Part {
        Part::new(Body::Text(text.into()))
    }

    /// A call.
    pub fn call(call: Call) -> Part {
        Part::new(Body::Call(call))
    }

    /// An outcome.
    pub fn outcome(outcome: Outcome) -> Part {
        Part::new(Body::Outcome(outcome))
    }

    /// A block that only `dialect` knows.
    pub fn opaque(dialect: Dialect, value: Json) -> Part {
        Part::new(Body::Opaque(Opaque { dialect, value }))
    }

    /// With the place it was read at.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Part {
        self.origin = origin;
        self
    }

    /// With extra fields.
    #[must_use]
    pub fn with_extra(mut self, extra: Extra) -> Part {
        self.extra = extra;
        self
    }

    /// The words, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.body {
            Body::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The call, if this is one.
    pub fn as_call(&self) -> Option<&Call> {
        match &self.body {
            Body::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The outcome, if this is one.
    pub fn as_outcome(&self) -> Option<&Outcome> {
        match &self.body {
            Body::Outcome(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Whether nothing but words is here, so that a plain string says it all.
    pub fn is_plain_text(&self) -> bool {
        matches!(self.body, Body::Text(_))
            && self.signature.is_none()
            && self.cache.is_none()
            && self.extra.is_empty()
    }
}
