//! What a tool gives back: content for the model, and beside it what only the host sees.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use toolwright_core::Json;
use toolwright_core::json::Object;
use toolwright_core::part::Media;

/// The result of a tool.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// For the model, in order; what is over the budget goes to the handle store
    pub content: Vec<Content>,
    /// For the host alone
    pub host: Option<Host>,
}

/// A piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Words
    Text(String),
    /// A JSON value
    Json(Json),
    /// An image, a document, sound or film
    Media(Media),
    /// A JSON value that is always kept as a handle: the model sees the words about it, and no
    /// piece of it
    Data {
        /// The value
        value: Json,
        /// What the model is told
        about: String,
    },
    /// Bytes without a form that a model can read; always kept as a handle
    Bytes(Blob),
}

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type (`application/octet-stream` if nothing better is known)
    pub mime: String,
    /// The bytes
    pub bytes: Arc<[u8]>,
}

/// A value of any type that stays with the host.
#[derive(Clone)]
pub struct Host(Arc<dyn Any + Send + Sync>);

impl Host {
    /// Wraps a value.
    pub fn new(value: impl Any + Send + Sync) -> Host {
        Host(Arc::new(value))
    }

    /// The value, if it is of this type.
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
    /// Words.
    pub fn text(text: impl Into<String>) -> Output {
        Output::of(Content::Text(text.into()))
    }

    /// A JSON value.
    pub fn json(value: impl Into<Json>) -> Output {
        Output::of(Content::Json(value.into()))
    }

    /// A JSON value that only tools see, behind a handle, and the words about it for the model.
    pub fn data(value: impl Into<Json>, about: impl Into<String>) -> Output {
        Output::of(Content::Data { value: value.into(), about: about.into() })
    }

    /// Bytes of a media type.
    pub fn bytes(mime: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Output {
        Output::of(Content::Bytes(Blob { mime: mime.into(), bytes: bytes.into() }))
    }

    /// One piece.
    pub fn of(content: Content) -> Output {
        Output { content: vec![content], host: None }
    }

    /// With another piece.
    #[must_use]
    pub fn with(mut self, content: Content) -> Output {
        self.content.push(content);
        self
    }

    /// With a value for the host alone: it is in no message, no ledger and no log.
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
