//! The interface of the dialects: the two codec traits and their types.
//!
//! Encoding cannot fail: [`fit`](crate::fit) has removed and reported what a dialect cannot
//! express.

mod embed;
mod error;
mod fields;
mod summary;

use toolwright_core::digest::ConversationDigest;
use toolwright_core::profile::Profile;
use toolwright_core::{Dialect, Event, Fault, FaultClass, Part, Request, Response, Tool};
use toolwright_json::{Json, Object};

pub use embed::{EmbedFormat, EmbedLimits};
pub use error::{DecodeError, DecodeErrorKind, Result};
pub use fields::{Fields, elements, parse_frame};
pub use summary::ResponseSummary;

use crate::frame::{Frame, Framing};

/// The model and the API version that a request is fitted to; rules differ by both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target<'t> {
    /// The model's id
    pub model: Option<&'t str>,
    /// The API version that the request will name
    pub version: Option<&'t str>,
}

/// A request on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireRequest {
    /// The path with its query, as the vendor's own SDK sends it; empty if unknown
    pub path: String,
    /// Headers that carry meaning, names in lower case; credentials are never among them
    pub headers: Vec<(String, String)>,
    /// The body
    pub body: Json,
}

/// A reply on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireReply {
    /// The HTTP status
    pub status: u16,
    /// Headers that carry meaning, names in lower case
    pub headers: Vec<(String, String)>,
    /// The body
    pub body: Json,
}

impl WireReply {
    /// A body that was received with status 200.
    pub fn ok(body: impl Into<Json>) -> WireReply {
        WireReply { status: 200, headers: Vec::new(), body: body.into() }
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the fault of a reply that is not a success: what `decode` reads from the body, completed by the status
    /// and the headers. `id` is the header with the id of the request.
    pub fn into_fault(
        mut self,
        id: Option<&str>,
        decode: impl FnOnce(Json, FaultClass) -> Result<Fault>,
    ) -> Fault {
        let class = FaultClass::from_status(self.status);
        let fault = decode(std::mem::take(&mut self.body), class).unwrap_or_else(|_| {
            Fault::new(class, format!("the upstream answered with status {}", self.status))
        });
        let number = |name| self.header(name).and_then(|value| value.parse::<u64>().ok());
        let seconds = number("retry-after").map(|seconds| seconds.saturating_mul(1000));
        let request_id = || self.header(id?).map(str::to_owned);
        Fault {
            status: Some(self.status),
            retry_after_ms: fault.retry_after_ms.or(number("retry-after-ms")).or(seconds),
            request_id: fault.request_id.or_else(request_id),
            ..fault
        }
    }
}

/// Facts about the request that encoding its reply depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyContext {
    /// The model in the request
    pub model: Option<String>,
    /// The time of the reply in seconds since 1970, for dialects that send it
    pub created: u64,
    /// The id of the reply, if the vendor sends none
    pub id: Option<String>,
    /// Whether the client asked for usage in the stream, in a dialect that lets it choose
    pub stream_usage: bool,
    /// Fields of the request that the dialect repeats in its reply
    pub echo: Object,
    /// The conversation before the reply, if the client may return calls without ids
    pub conversation: Option<ConversationDigest>,
}

/// Paths of members, and the values that mean the same as absence, as compact JSON. Paths omit
/// indices: `/messages/tool_calls/index`. A path that ends with `/*` stands for a member and all
/// below it. An empty list means that every value can be dropped.
pub type Defaults = &'static [(&'static str, &'static [&'static str])];

/// Encodes and decodes tools, calls and outcomes. MCP has only these.
pub trait ToolCodec: Send + Sync {
    /// The dialect.
    fn dialect(&self) -> Dialect;
    /// What the dialect can express to a target.
    fn profile(&self, target: &Target<'_>) -> Profile;
    /// The JSON Pointer, relative to a value's origin, of a canonical field in this dialect:
    /// `parameters` is `inputSchema/json` in Bedrock. Fields that are not listed keep their name.
    fn field_paths(&self) -> &'static [(&'static str, &'static str)];
    /// Members of this dialect's documents that may be dropped without a loss.
    fn defaults(&self) -> Defaults {
        &[]
    }
    /// Encodes a tool definition, as an element of the dialect's list of tools.
    fn encode_tool(&self, tool: &Tool) -> Json;
    /// Decodes an element of a list of tools, in this dialect's shape or another's.
    fn decode_tool(&self, wire: Json) -> Result<Tool>;
    /// Encodes the list of tools, in dialects whose elements are not one tool each.
    fn encode_tools(&self, tools: &[Tool]) -> Vec<Json> {
        tools.iter().map(|tool| self.encode_tool(tool)).collect()
    }
    /// Decodes the list of tools.
    fn decode_tools(&self, wire: Vec<Json>) -> Result<Vec<Tool>> {
        let wire = wire.into_iter().enumerate();
        wire.map(|(index, wire)| {
            let place = format!("/{index}");
            let mut tool = self.decode_tool(wire).map_err(|error| error.below(&place))?;
            tool.origin.prefix(&place);
            Ok(tool)
        })
        .collect()
    }
    /// Encodes a call, as the dialect places it in an assistant's turn.
    fn encode_call(&self, part: &Part) -> Json;
    /// Decodes a call.
    fn decode_call(&self, wire: Json) -> Result<Part>;
    /// Encodes an outcome, as the dialect sends it to the model.
    fn encode_outcome(&self, part: &Part) -> Json;
    /// Decodes an outcome.
    fn decode_outcome(&self, wire: Json) -> Result<Part>;
}

/// Encodes and decodes conversations.
///
/// Encoding cannot fail, because [`fit`](crate::fit) has removed and reported what the dialect cannot
/// express.
pub trait ChatCodec: ToolCodec {
    /// The framing of streams.
    fn framing(&self) -> Framing {
        Framing::Sse
    }
    /// Encodes a request.
    fn encode_request(&self, request: Request) -> WireRequest;
    /// Requests usage in a stream, in an encoded request to a vendor that sends none by default. The
    /// summary of a response needs it, whether or not the client does.
    fn ask_for_usage(&self, _request: &mut WireRequest) {}
    /// Decodes a request.
    fn decode_request(&self, wire: WireRequest) -> Result<Request>;
    /// The context for encoding the reply to a request of this dialect.
    fn reply_context(&self, request: &Request) -> ReplyContext {
        ReplyContext { model: request.model.clone(), ..ReplyContext::default() }
    }
    /// Encodes a response.
    fn encode_response(&self, response: Response, context: &ReplyContext) -> WireReply;
    /// Decodes a response.
    fn decode_response(&self, wire: WireReply) -> Result<Response>;
    /// Whether models behind this vendor write `<think>…</think>` before their text. By default
    /// [`think`](toolwright_core::event::think) then separates it from the text.
    fn has_think_tags(&self) -> bool {
        false
    }
    /// Summarizes the body of a response without a full decode; `None` if the dialect cannot.
    fn summarize(&self, _body: &[u8]) -> Option<ResponseSummary> {
        None
    }
    /// Encodes a fault.
    fn encode_fault(&self, fault: &Fault) -> WireReply;
    /// Decodes a fault, from any reply.
    fn decode_fault(&self, wire: WireReply) -> Fault;
    /// The format of embedding requests; `None` if the vendor has no embeddings.
    fn embed_format(&self) -> Option<EmbedFormat> {
        None
    }
    /// Creates an encoder for one stream.
    fn stream_encoder(&self, context: &ReplyContext) -> Box<dyn StreamEncoder>;
    /// Creates a decoder for one stream.
    fn stream_decoder(&self) -> Box<dyn StreamDecoder>;
}

/// Whether a stream decoder recognized a frame. The caller decides what to do with unknown frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameStatus {
    /// The frame was decoded, into any number of events
    Known,
    /// The frame is well formed, but of a kind that the dialect does not have
    Unknown,
}

/// Decodes the frames of one stream.
pub trait StreamDecoder: Send {
    /// Decodes a frame and appends its events.
    fn decode(&mut self, frame: &Frame, events: &mut Vec<Event>) -> Result<FrameStatus>;
    /// Whether a frame only adds content to a part, so that a [`ResponseSummary`] can skip it. `false` if
    /// in doubt.
    fn is_delta_only(&self, _frame: &Frame) -> bool {
        false
    }
    /// Ends the stream. Appends the events that a complete reply lacks, or a fault if the reply is
    /// incomplete.
    fn finish(&mut self, events: &mut Vec<Event>);
}

/// Encodes the frames of one stream.
pub trait StreamEncoder: Send {
    /// Encodes an event and appends its frames.
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>);
}
