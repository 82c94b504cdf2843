//! AWS Bedrock, Converse and `ConverseStream`: `POST /model/{modelId}/converse[-stream]`.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use crate::codec::{ChatCodec, DecodeError, ReplyContext, StreamEncoder, ToolCodec, WireReply};
use crate::dialect::forward::forward;
use crate::frame::Framing;
use toolwright_core::Dialect;
use toolwright_core::part::Part;
use toolwright_core::response::Response;
use toolwright_core::tool::Tool;
use toolwright_json::{Json, Path};

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bedrock;

impl ToolCodec for Bedrock {
    fn dialect(&self) -> Dialect {
        Dialect::Bedrock
    }

    forward!(ToolCodec);

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode(tool)
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool, DecodeError> {
        tool::decode(wire, Path::ROOT)
    }

    fn encode_tools(&self, tools: &[Tool]) -> Vec<Json> {
        tool::encode_all(tools)
    }

    fn decode_tools(&self, wire: Vec<Json>) -> Result<Vec<Tool>, DecodeError> {
        tool::decode_all(wire, Path::ROOT)
    }

    fn encode_call(&self, part: &Part) -> Json {
        part::encode(part).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part, DecodeError> {
        part::decode(wire, Path::ROOT)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode(part).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part, DecodeError> {
        part::decode(wire, Path::ROOT)
    }
}

impl ChatCodec for Bedrock {
    forward!(ChatCodec);

    fn framing(&self) -> Framing {
        Framing::Aws
    }

    fn encode_response(&self, response: Response, _: &ReplyContext) -> WireReply {
        response::encode(response)
    }

    fn stream_encoder(&self, _: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::default())
    }
}
