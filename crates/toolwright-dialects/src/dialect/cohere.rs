//! Cohere v2, `POST /v2/chat`.

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
pub struct Cohere;

impl ToolCodec for Cohere {
    fn dialect(&self) -> Dialect {
        Dialect::Cohere
    }

    forward!(ToolCodec);
    forward!(Tool);

    fn encode_call(&self, part: &Part) -> Json {
        part::encode_call(part)
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode_call(wire, Path::ROOT)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode_outcome(part)
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        part::decode_outcome(wire, Path::ROOT)
    }
}

impl ChatCodec for Cohere {
    forward!(ChatCodec);

    fn encode_response(&self, response: Response, _: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response))
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(EmbedFormat::Cohere)
    }

    fn stream_encoder(&self, _: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::default())
    }
}
