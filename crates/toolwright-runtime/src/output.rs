//! The output of a tool: content for the model, and a value for the host.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use toolwright_core::Json;
use toolwright_core::part::Media;
use toolwright_json::Object;

/// The result of a tool.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Content for the model, in order; what exceeds the budget is stored behind a handle
    pub content: Vec<Content>,
    /// A value for the host only
    pub host: Option<Host>,
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text
    Text(String),
    /// A JSON value
    Json(Json),
    /// An image, a document, audio or video
    Media(Media),
    /// A JSON value that is always stored behind a handle: the model receives only the description
    Data {
        /// The value
        value: Json,
        /// The description for the model
        about: String,
    },
    /// Bytes that a model cannot read; always stored behind a handle
    Bytes(Blob),
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

/// A piece of the complete output of a call, as [`CallResult::output`](crate::call::CallResult::output)
/// returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputPiece<'r> {
    /// Text, or a JSON string
    Text(&'r str),
    /// A JSON value that is not a string
    Json(&'r Json),
    /// An image, a document, audio or video
    Media(&'r Media),
    /// Bytes, also of media that are too large for a model
    Bytes(&'r Blob),
}

impl<'r> OutputPiece<'r> {
    pub(crate) fn json(value: &'r Json) -> OutputPiece<'r> {
        match value {
            Json::String(text) => OutputPiece::Text(text),
            value => OutputPiece::Json(value),
        }
    }

    /// Returns the piece as JSON, text as a string. Media and bytes have no JSON form.
    pub fn to_value(self) -> Option<Cow<'r, Json>> {
        match self {
            OutputPiece::Text(text) => Some(Cow::Owned(Json::from(text))),
            OutputPiece::Json(value) => Some(Cow::Borrowed(value)),
            OutputPiece::Media(_) | OutputPiece::Bytes(_) => None,
        }
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
    pub fn text(text: impl Into<String>) -> Output {
        Output::of(Content::Text(text.into()))
    }

    /// Creates an output with a JSON value.
    pub fn json(value: impl Into<Json>) -> Output {
        Output::of(Content::Json(value.into()))
    }

    /// Creates an output with a JSON value behind a handle, and its description for the model.
    pub fn data(value: impl Into<Json>, about: impl Into<String>) -> Output {
        Output::of(Content::Data { value: value.into(), about: about.into() })
    }

    /// Creates an output with bytes of a media type.
    pub fn bytes(mime: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Output {
        Output::of(Content::Bytes(Blob { mime: mime.into(), bytes: bytes.into() }))
    }

    /// Creates an output with one piece of content.
    pub fn of(content: Content) -> Output {
        Output { content: vec![content], host: None }
    }

    /// Adds a piece of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Output {
        self.content.push(content);
        self
    }

    /// Sets a value for the host only: it appears in no message, ledger or log.
    #[must_use]
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
    char => Output::text
    Json => Output::json
    Object => Output::json
    Content => Output::of
}
