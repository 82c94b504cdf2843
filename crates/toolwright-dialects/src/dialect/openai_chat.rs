//! OpenAI Chat Completions, `POST /v1/chat/completions`, also of vendors with quirks.

mod fault;
mod part;
mod quirks;
mod request;
mod response;
mod stream;
mod tool;
mod wire;

use toolwright_core::profile::Profile;
use toolwright_core::{Dialect, Fault, Part, Request, Response, Tool};
use toolwright_json::{Json, Path};

pub use quirks::{OPENAI, Quirks, ThinkingSwitch, ToolShape, UsagePlace, thinks_in_text};

use crate::codec::{
    ChatCodec, Defaults, EmbedFormat, Fields, ReplyContext, ResponseSummary, Result, StreamDecoder,
    StreamEncoder, Target, ToolCodec, WireReply, WireRequest,
};

/// The codec, for OpenAI or for a vendor with quirks.
#[derive(Debug, Clone, Copy)]
pub struct OpenaiChat {
    quirks: &'static Quirks,
}

/// The codec of OpenAI.
pub static CODEC: OpenaiChat = OpenaiChat::new(&OPENAI);

impl OpenaiChat {
    /// Creates the codec of a vendor.
    pub const fn new(quirks: &'static Quirks) -> OpenaiChat {
        OpenaiChat { quirks }
    }

    /// Returns the quirks of the vendor.
    pub fn quirks(&self) -> &'static Quirks {
        self.quirks
    }
}

impl ToolCodec for OpenaiChat {
    fn dialect(&self) -> Dialect {
        self.quirks.dialect
    }

    fn profile(&self, target: &Target<'_>) -> Profile {
        self.quirks.profile(target)
    }

    fn field_paths(&self) -> &'static [(&'static str, &'static str)] {
        wire::FIELD_PATHS
    }

    fn defaults(&self) -> Defaults {
        wire::DEFAULTS
    }

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode(tool, self.quirks)
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool> {
        tool::decode(wire, Path::ROOT, self.quirks)
    }

    fn encode_call(&self, part: &Part) -> Json {
        part::encode_call(part, self.quirks)
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        part::decode_call(wire, Path::ROOT, self.quirks)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        part::encode_outcome(part, self.quirks)
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        let fields = Fields::new(wire, Path::ROOT, self.quirks.dialect)?;
        part::decode_outcome(fields, self.quirks)
    }
}

impl ChatCodec for OpenaiChat {
    fn encode_request(&self, request: Request) -> WireRequest {
        request::encode(request, self.quirks)
    }

    fn ask_for_usage(&self, request: &mut WireRequest) {
        if !self.quirks.usage_unasked {
            request::ask_for_usage(&mut request.body);
        }
    }

    fn decode_request(&self, wire: WireRequest) -> Result<Request> {
        request::decode(wire.body, self.quirks)
    }

    fn reply_context(&self, request: &Request) -> ReplyContext {
        let options = request.extra.get(self.quirks.dialect, "stream_options");
        let usage = options.and_then(|options| options.get("include_usage"));
        ReplyContext {
            model: request.model.clone(),
            stream_usage: usage.and_then(Json::as_bool).unwrap_or(false),
            ..ReplyContext::default()
        }
    }

    fn encode_response(&self, response: Response, reply_context: &ReplyContext) -> WireReply {
        WireReply::ok(response::encode(response, reply_context, self.quirks))
    }

    fn decode_response(&self, wire: WireReply) -> Result<Response> {
        response::decode(wire.body, self.quirks)
    }

    fn has_think_tags(&self) -> bool {
        self.quirks.think_tags
    }

    fn summarize(&self, body: &[u8]) -> Option<ResponseSummary> {
        response::summarize(body, self.quirks).ok().flatten()
    }

    fn encode_fault(&self, fault: &Fault) -> WireReply {
        fault::encode(fault, self.quirks)
    }

    fn decode_fault(&self, wire: WireReply) -> Fault {
        fault::decode(wire, self.quirks)
    }

    fn embed_format(&self) -> Option<EmbedFormat> {
        self.quirks.embed_format
    }

    fn stream_encoder(&self, reply_context: &ReplyContext) -> Box<dyn StreamEncoder> {
        Box::new(stream::Encoder::new(reply_context, self.quirks))
    }

    fn stream_decoder(&self) -> Box<dyn StreamDecoder> {
        Box::new(stream::Decoder::new(self.quirks))
    }
}
