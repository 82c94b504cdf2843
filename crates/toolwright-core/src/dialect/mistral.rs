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

use crate::codec::{
    ChatCodec, DecodeError, Defaults, EmbedFormat, ReplyContext, StreamDecoder, StreamEncoder,
    Target, ToolCodec, WireReply, WireRequest,
};
use crate::frame::Framing;
use crate::json::{Json, Path};
use crate::model::dialect::Dialect;
use crate::model::fault::Fault;
use crate::model::part::Part;
use crate::model::request::Request;
use crate::model::response::Response;
use crate::model::tool::Tool;
use crate::profile::Profile;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mistral;

impl ToolCodec for Mistral {
    fn dialect(&self) -> Dialect {
        Dialect::Mistral
    }

    fn profile(&self, _: &Target<'_>) -> Profile {
        quirks::profile()
    }

    fn field_paths(&self) -> &'static [(&'static str, &'static str)] {
        wire::FIELD_PATHS
    }

    fn defaults(&self) -> Defaults {
        wire::DEFAULTS
    }

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode(tool)
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool, DecodeError> {
        tool::decode(wire, Path::ROOT)
    }

    fn encode_call(&self, part: &Part) -> Json {
        part::encode_call(part, 0).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part, DecodeError> {
        part::decode_call(wire, Path::ROOT, 0)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode_outcome(part).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part, DecodeError> {
        part::decode_outcome(wire, Path::ROOT)
    }
}

impl ChatCodec for Mistral {
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn encode_request(&self, request: Request) -> WireRequest {
        request::encode(request)
    }

    fn decode_request(&self, wire: WireRequest) -> Result<Request, DecodeError> {
        request::decode(wire.body)
    }

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn decode_response(&self, wire: WireReply) -> Result<Response, DecodeError> {
        response::decode(wire.body)
    }

    fn encode_fault(&self, fault: &Fault) -> WireReply {
        fault::encode(fault)
    }

    fn decode_fault(&self, wire: WireReply) -> Fault {
        fault::decode(wire)
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(wire::EMBED_FORMAT)
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::Decoder::default())
    }
}
