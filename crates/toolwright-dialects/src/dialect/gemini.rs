//! Google Gemini, `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::{Dialect, Response};

use crate::codec::{ChatCodec, EmbedFormat, ReplyContext, StreamEncoder, ToolCodec, WireReply};
use crate::dialect::forward::forward;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl ToolCodec for Gemini {
    fn dialect(&self) -> Dialect {
        Dialect::Gemini
    }

    forward!(ToolCodec);
    forward!(Tool);
    forward!(Tools);
    forward!(Parts);
}

impl ChatCodec for Gemini {
    forward!(ChatCodec);

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(EmbedFormat::Gemini)
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }
}
