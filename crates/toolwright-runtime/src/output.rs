//! The output of a tool: contents with where they are (in the outcome, behind a handle, for tools alone), and a value
//! for the host.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use toolwright_core::Json;
use toolwright_core::part::{Media, MediaSource};
use toolwright_json::{Object, Text};

use crate::reference::HandleId;

/// The result of a tool: its pieces in order, and a value for the host.
///
/// What exceeds the budget of the tool is stored behind a handle, and the model reads a preview.
#[must_use]
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// The pieces
    pub pieces: Vec<Piece>,
    /// A value for the host only
    pub host: Option<Host>,
}

/// A piece of a result: a content, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The content
    pub content: Content,
    /// What the model reads in place of a content that is for tools alone
    pub about: Option<String>,
    /// Where the model finds the content
    pub(crate) place: Place,
}

/// Where a content is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Place {
    /// Nowhere yet, or nowhere any more
    #[default]
    Nowhere,
    /// In a part of the outcome, at a JSON Pointer
    Part(usize, String),
    /// Behind a handle, at a JSON Pointer; without a handle if it could not be stored
    Handle(Option<HandleId>, String),
}

impl Place {
    /// Whether it is a whole part.
    pub(crate) fn is_part(&self, index: usize) -> bool {
        matches!(self, Place::Part(own, pointer) if *own == index && pointer.is_empty())
    }
}

/// A content: of a result, behind a handle, or in a slot. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A JSON value; a string is text
    Json(Arc<Json>),
    /// An image, a document, audio or video
    Media(Arc<Media>),
    /// Bytes that a model cannot read; always stored behind a handle
    Bytes(Blob),
}

impl Content {
    /// A text.
    pub fn text(text: impl Into<Text>) -> Content {
        Content::json(Json::String(text.into()))
    }

    /// A JSON value.
    pub fn json(value: impl Into<Json>) -> Content {
        Content::Json(Arc::new(value.into()))
    }

    /// Returns the text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        self.as_json().and_then(Json::as_str)
    }

    /// Returns the JSON value, if it is one.
    pub fn as_json(&self) -> Option<&Json> {
        match self {
            Content::Json(value) => Some(value),
            Content::Media(_) | Content::Bytes(_) => None,
        }
    }

    /// Returns it as it is stored: media as bytes, or as a text if they are text, a reference or invalid base64.
    #[must_use]
    pub fn without_media(self) -> Content {
        let Content::Media(media) = self else { return self };
        match &media.source {
            MediaSource::Base64(data) => match Blob::from_base64(media.mime.clone(), data) {
                Some(blob) => Content::Bytes(blob),
                None => Content::text(data.as_str()),
            },
            MediaSource::Text(text) | MediaSource::Url(text) => Content::text(text.as_str()),
            MediaSource::File(_, id) => Content::text(id.as_str()),
        }
    }

    /// Returns it as JSON, bytes and media as base64.
    pub fn into_json(self) -> Json {
        match self.without_media() {
            Content::Bytes(blob) => Json::from(STANDARD.encode(&blob.bytes)),
            Content::Json(value) => Arc::unwrap_or_clone(value),
            Content::Media(_) => Json::Null,
        }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        match self {
            Content::Json(value) => value.weight(),
            Content::Media(media) => match &media.source {
                MediaSource::Base64(text) | MediaSource::Text(text) | MediaSource::Url(text) => {
                    text.len()
                }
                MediaSource::File(_, id) => id.len(),
            },
            Content::Bytes(blob) => blob.bytes.len() + blob.mime.len(),
        }
    }
}

impl From<Media> for Content {
    fn from(media: Media) -> Content {
        Content::Media(Arc::new(media))
    }
}

impl From<Blob> for Content {
    fn from(blob: Blob) -> Content {
        Content::Bytes(blob)
    }
}

impl From<Content> for Piece {
    fn from(content: Content) -> Piece {
        Piece { content, about: None, place: Place::Nowhere }
    }
}

impl Piece {
    /// Creates a piece whose content is for tools alone, with its description for models.
    pub fn hidden(content: Content, about: impl Into<String>) -> Piece {
        Piece { content, about: Some(about.into()), place: Place::Nowhere }
    }
}

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type (`application/octet-stream` if unknown)
    pub mime: String,
    /// The bytes
    pub bytes: Arc<[u8]>,
}

impl Blob {
    /// Decodes base64, also with whitespace, without padding or in the alphabet for URLs; `None` if it is invalid.
    pub(crate) fn from_base64(mime: Option<String>, data: &str) -> Option<Blob> {
        let bytes = STANDARD.decode(data).or_else(|_| {
            let text = data.chars().filter(|character| !character.is_ascii_whitespace());
            let text = text.map(|character| match character {
                '-' => '+',
                '_' => '/',
                other => other,
            });
            STANDARD_NO_PAD.decode(text.collect::<String>().trim_end_matches('='))
        });
        let bytes = bytes.ok()?;
        let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
        Some(Blob { mime, bytes: bytes.into() })
    }
}

/// A value of any type for the host.
#[derive(Clone)]
pub struct Host(Arc<dyn Any + Send + Sync>);

impl Host {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> Host {
        Host(Arc::new(value))
    }

    /// Returns the value if it has this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Host(…)")
    }
}

impl Output {
    /// Creates an output with text.
    pub fn text(text: impl Into<Text>) -> Output {
        Output::of(Content::text(text))
    }

    /// Creates an output with a JSON value; a string is text.
    pub fn json(value: impl Into<Json>) -> Output {
        Output::of(Content::json(value))
    }

    /// Creates an output with a JSON value behind a handle, and its description for the model.
    pub fn data(value: impl Into<Json>, about: impl Into<String>) -> Output {
        Output::of(Piece::hidden(Content::json(value), about))
    }

    /// Creates an output with bytes of a media type.
    pub fn bytes(mime: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Output {
        Output::of(Content::Bytes(Blob { mime: mime.into(), bytes: bytes.into() }))
    }

    /// Creates an output with one piece.
    pub fn of(piece: impl Into<Piece>) -> Output {
        Output { pieces: vec![piece.into()], host: None }
    }

    /// Adds a piece.
    pub fn with(mut self, piece: impl Into<Piece>) -> Output {
        self.pieces.push(piece.into());
        self
    }

    /// Sets a value for the host only: it appears in no message, ledger or log.
    pub fn with_host(mut self, value: impl Any + Send + Sync) -> Output {
        self.host = Some(Host::new(value));
        self
    }
}

impl From<()> for Output {
    fn from((): ()) -> Output {
        Output::text("done")
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Output {
        Output::bytes("application/octet-stream", bytes)
    }
}

impl From<char> for Output {
    fn from(letter: char) -> Output {
        Output::text(letter.to_string())
    }
}

macro_rules! from {
    ($($own:ty => $make:path)*) => {
        $(impl From<$own> for Output {
            fn from(value: $own) -> Output {
                $make(value)
            }
        })*
    };
}

from! {
    String => Output::text
    &String => Output::text
    &str => Output::text
    Box<str> => Output::text
    Cow<'_, str> => Output::text
    Json => Output::json
    Object => Output::json
    Content => Output::of
}
