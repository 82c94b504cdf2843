//! Embeddings: a canonical request and reply, and the formats of the vendors.
//!
//! ```text
//! EmbedRequest → encode(format) → wire → decode(format) → Embeddings
//! ```
//!
//! The format of a vendor is that of its codec,
//! [`ChatCodec::embed_format`](crate::codec::ChatCodec::embed_format).

mod decode;
mod encode;

use toolwright_core::{Dialect, Usage};
use toolwright_json::Json;

pub use crate::codec::{EmbedFormat, EmbedLimits};

use crate::codec::{Result, WireRequest};

/// A request to embed texts.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedRequest {
    /// The vendor's id of the model
    pub model: String,
    /// The texts
    pub inputs: Vec<String>,
    /// The purpose of the vectors
    pub kind: EmbedKind,
    /// The length of the vectors; `None` for the default of the model
    pub dimensions: Option<u32>,
}

/// The purpose of vectors. It is not sent to vendors that make no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum EmbedKind {
    /// Texts to search in
    #[default]
    Document,
    /// Texts to search for
    Query,
}

/// The vectors of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Embeddings {
    /// A vector for each text, in order, all of one length
    pub vectors: Vec<Vec<f32>>,
    /// Token usage, if the vendor reports it
    pub usage: Option<Usage>,
}

impl EmbedRequest {
    /// Creates a request for documents.
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

    /// Sets the purpose.
    pub fn with_kind(mut self, kind: EmbedKind) -> EmbedRequest {
        self.kind = kind;
        self
    }

    /// Sets the length of the vectors.
    pub fn with_dimensions(mut self, dimensions: u32) -> EmbedRequest {
        self.dimensions = Some(dimensions);
        self
    }
}

impl EmbedFormat {
    /// Encodes a request within [`EmbedFormat::limits`].
    pub fn encode(self, request: &EmbedRequest) -> WireRequest {
        encode::encode(self, request)
    }

    /// Decodes the reply to a request of `inputs` texts.
    pub fn decode(self, dialect: Dialect, body: Json, inputs: usize) -> Result<Embeddings> {
        decode::decode(self, dialect, body, inputs)
    }
}
