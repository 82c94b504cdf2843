//! Mistral, `POST /v1/chat/completions`.
//!
//! Not a preset of `OpenAI` Chat: content is a list of chunks that includes thinking, calls are
//! streamed whole, errors and required fields differ.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::{Dialect, Part, Response};
use toolwright_json::{Json, Path};

use crate::codec::{
    ChatCodec, EmbedFormat, ReplyContext, Result, StreamEncoder, ToolCodec, WireReply,
};
use crate::dialect::forward::forward;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mistral;

impl ToolCodec for Mistral {
    fn dialect(&self) -> Dialect {
        Dialect::Mistral
    }

    forward!(ToolCodec);
    forward!(Tool);

    fn encode_call(&self, part: &Part) -> Json {
        part::encode_call(part, 0).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode_call(wire, Path::ROOT, 0)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode_outcome(part).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        part::decode_outcome(wire, Path::ROOT)
    }
}

impl ChatCodec for Mistral {
    forward!(ChatCodec);

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(wire::EMBED_FORMAT)
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }
}
