//! OpenAI Responses, `POST /v1/responses`.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::{Dialect, Part, Request, Response, Tool};
use toolwright_json::{Json, Path};

use crate::codec::{
    ChatCodec, EmbedFormat, ReplyContext, Result, StreamEncoder, ToolCodec, WireReply,
};
use crate::dialect::forward::forward;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenaiResponses;

impl ToolCodec for OpenaiResponses {
    fn dialect(&self) -> Dialect {
        Dialect::OpenaiResponses
    }

    forward!(ToolCodec);
    forward!(Tools);

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode_all(std::slice::from_ref(tool)).pop().unwrap_or_default()
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool> {
        tool::decode_one(wire)
    }

    fn encode_call(&self, part: &Part) -> Json {
        part::Writer::request().item(part).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode_one(wire, Path::ROOT)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::Writer::request().item(part).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        part::decode_one(wire, Path::ROOT)
    }
}

impl ChatCodec for OpenaiResponses {
    forward!(ChatCodec);

    fn reply_context(&self, request: &Request) -> ReplyContext {
        ReplyContext {
            model: request.model.clone(),
            echo: request::encode_echo(request),
            ..ReplyContext::default()
        }
    }

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context))
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        Some(EmbedFormat::OPENAI)
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context))
    }
}
