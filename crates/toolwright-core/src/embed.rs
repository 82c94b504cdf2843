//! Texts to vectors: one request and one answer in nobody's dialect, and the forms in which vendors
//! say them.
//!
//! ```text
//! EmbedRequest → encode(form) → wire → decode(form) → Embeddings
//! ```
//!
//! Which form a vendor has is told by its codec, [`ChatCodec::embeds`](crate::ChatCodec::embeds).

mod decode;
mod encode;

pub use crate::codec::{Form, Most};

use crate::codec::{DecodeError, WireRequest};
use crate::json::Json;
use crate::model::dialect::Dialect;
use crate::model::usage::Usage;

/// Texts that shall become vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedRequest {
    /// The model, in its vendor's words
    pub model: String,
    /// The texts
    pub inputs: Vec<String>,
    /// What they are for
    pub kind: EmbedKind,
    /// How long a vector shall be; `None` leaves it to the model
    pub dimensions: Option<u32>,
}

/// What texts are embedded for. Vendors that make no difference are not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EmbedKind {
    /// To be found
    #[default]
    Document,
    /// To find by
    Query,
}

/// What became of the texts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// A vector for each text, in order, all of one length
    pub vectors: Vec<Vec<f32>>,
    /// What it cost, as far as the vendor tells
    pub usage: Option<Usage>,
}

impl EmbedRequest {
    /// Texts that shall be found, by a model.
    pub fn new<S: Into<String>>(
        model: impl Into<String>,
        inputs: impl IntoIterator<Item = S>,
    ) -> EmbedRequest {
        EmbedRequest {
            model: model.into(),
            inputs: inputs.into_iter().map(Into::into).collect(),
            kind: EmbedKind::default(),
            dimensions: None,
        }
    }

    /// For a purpose.
    #[must_use]
    pub fn with_kind(mut self, kind: EmbedKind) -> EmbedRequest {
        self.kind = kind;
        self
    }

    /// With vectors of a length.
    #[must_use]
    pub fn with_dimensions(mut self, dimensions: u32) -> EmbedRequest {
        self.dimensions = Some(dimensions);
        self
    }
}

impl Form {
    /// Writes a request of at most [`Form::most`].
    pub fn encode(self, request: &EmbedRequest) -> WireRequest {
        encode::encode(self, request)
    }

    /// Reads the answer to a request of so many texts.
    pub fn decode(
        self,
        dialect: Dialect,
        body: Json,
        inputs: usize,
    ) -> Result<Embeddings, DecodeError> {
        decode::decode(self, dialect, body, inputs)
    }
}
