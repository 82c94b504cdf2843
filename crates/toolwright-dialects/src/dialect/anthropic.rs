//! Anthropic Messages, `POST /v1/messages`.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::{Dialect, Part, Response, Tool};
use toolwright_json::{Json, Path};

use crate::codec::{
    ChatCodec, ReplyContext, ResponseSummary, Result, StreamEncoder, ToolCodec, WireReply,
};
use crate::dialect::forward::forward;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl ToolCodec for Anthropic {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    forward!(ToolCodec);

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode(tool.clone())
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool> {
        tool::decode(wire, Path::ROOT)
    }

    fn encode_call(&self, part: &Part) -> Json {
        part::encode(part.clone()).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode(wire, Path::ROOT)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode(part.clone()).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        part::decode(wire, Path::ROOT)
    }
}

impl ChatCodec for Anthropic {
    forward!(ChatCodec);

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn summarize(&self, body: &[u8]) -> Option<ResponseSummary> {
        response::summarize(body).ok().flatten()
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }
}
