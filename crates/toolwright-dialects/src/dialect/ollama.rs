//! Ollama, `POST /api/chat`.

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
use crate::frame::Framing;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ollama;

impl ToolCodec for Ollama {
    fn dialect(&self) -> Dialect {
        Dialect::Ollama
    }

    forward!(ToolCodec);
    forward!(Tool);

    fn encode_call(&self, part: &Part) -> Json {
        part::encode_call(part, 0)
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode_call(wire, Path::ROOT, 0)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode_outcome(part)
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        part::decode_outcome(wire, Path::ROOT)
    }
}

impl ChatCodec for Ollama {
    forward!(ChatCodec);

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn has_think_tags(&self) -> bool {
        true
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(EmbedFormat::Ollama)
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }
}
