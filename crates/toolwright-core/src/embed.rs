//! Texts to vectors: one request and one answer in nobody's dialect, and the forms in which vendors
//! say them.
//!
//! ```text
//! EmbedRequest → encode(form) → wire → decode(form) → Embeddings
//! ```
//!
//! Which form a vendor has is told by its codec, [`ChatCodec::embeds`](crate::ChatCodec::embeds).

mod batch;
mod decode;
mod encode;

use crate::dialect::{DecodeError, Dialect, WireRequest};
use crate::json::Json;
use crate::usage::Usage;

pub use batch::Most;

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

/// How a vendor says it. The shapes are those of the files in `fixtures/<dialect>/embed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `{"model", "input"}` to `{"data": [{"index", "embedding"}]}`, as `OpenAI` has it
    Listed {
        /// The path
        path: &'static str,
        /// The key of the wanted length
        dimensions: &'static str,
        /// The most at once
        most: Most,
    },
    /// `:batchEmbedContents`, as Gemini has it
    Batched,
    /// `/v2/embed`, as Cohere has it
    Typed,
    /// `/api/embed`, as Ollama has it
    Plain,
}

impl Form {
    /// `OpenAI`'s own. "Any array must be 2048 dimensions or less", and "all embedding models enforce
    /// a maximum of 300,000 tokens summed across all inputs", say its SDKs.
    pub const OPENAI: Form = Form::Listed {
        path: "/v1/embeddings",
        dimensions: "dimensions",
        most: Most::texts(2048).with_bytes(300_000),
    };

    /// The most that one request may have. The page on vendors has the evidence.
    pub fn most(self) -> Most {
        match self {
            Form::Listed { most, .. } => most,
            // 400 "at most 100 requests can be in one batch".
            Form::Batched => Most::texts(100),
            // "Maximum number of texts per call is 96", says the SDK.
            Form::Typed => Most::texts(96),
            // Ollama has no bound of its own; ours keeps one request from running for hours.
            Form::Plain => Most::texts(512),
        }
    }

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
