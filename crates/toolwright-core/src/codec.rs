//! The interface of the dialects: the two codec traits, and the types that their methods take and give.
//!
//! Encoding cannot fail: [`fit`](crate::fit) has removed and reported what a dialect cannot say.

mod embed;
mod error;
mod fields;
mod watch;

pub use embed::{Form, Most};
pub use error::{DecodeError, DecodeErrorKind};
pub use fields::{Fields, elements};
pub use watch::Watch;

use crate::event::Event;
use crate::frame::{Frame, Framing};
use crate::json::{Json, Object};
use crate::model::dialect::Dialect;
use crate::model::digest::ConversationDigest;
use crate::model::fault::Fault;
use crate::model::part::Part;
use crate::model::request::Request;
use crate::model::response::Response;
use crate::model::tool::Tool;
use crate::profile::Profile;

/// For whom a request is fitted: rules differ by model and API version.
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
}

/// What an encoder of replies must know of the request it answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The model that the client named
    pub model: Option<String>,
    /// The time of the reply in seconds since 1970, for dialects that say it
    pub created: u64,
    /// The id of the reply, where the vendor gives none
    pub id: Option<String>,
    /// Whether the client wants usage in the stream, where its dialect lets it choose
    pub stream_usage: bool,
    /// Fields of the request that the dialect repeats in its reply
    pub echo: Object,
    /// The conversation before the reply, if the client may return calls without ids
    pub conversation: Option<ConversationDigest>,
}

/// Paths of members, and the values that mean the same as absence, as compact JSON. Paths leave indices out:
/// `/messages/tool_calls/index`. A path that ends with `/*` stands for a member and all below it. No values
/// mean that every value says nothing.
pub type Defaults = &'static [(&'static str, &'static [&'static str])];

/// Speaks tools, calls and outcomes. MCP stops here.
pub trait ToolCodec: Send + Sync {
    /// Which dialect this is.
    fn dialect(&self) -> Dialect;
    /// What the dialect can say to a target.
    fn profile(&self, target: &Target<'_>) -> Profile;
    /// The JSON Pointer, relative to a value's origin, of a canonical field in this dialect:
    /// `parameters` is `inputSchema/json` in Bedrock. Fields that are not listed keep their name.
    fn spelling(&self) -> &'static [(&'static str, &'static str)];
    /// Members of this dialect's documents that may be dropped without a loss.
    fn defaults(&self) -> Defaults {
        &[]
    }
    /// A definition, as an element of the dialect's list of tools.
    fn encode_tool(&self, tool: &Tool) -> Json;
    /// Reads an element of a list of tools, in this dialect's shape or a neighbour's.
    fn decode_tool(&self, wire: Json) -> Result<Tool, DecodeError>;
    /// The dialect's whole list of tools, where elements are not tools one by one.
    fn encode_tools(&self, tools: &[Tool]) -> Vec<Json> {
        tools.iter().map(|tool| self.encode_tool(tool)).collect()
    }
    /// Reads a whole list of tools.
    fn decode_tools(&self, wire: Vec<Json>) -> Result<Vec<Tool>, DecodeError> {
        let wire = wire.into_iter().enumerate();
        wire.map(|(index, wire)| {
            let place = format!("/{index}");
            let mut tool = self.decode_tool(wire).map_err(|error| error.below(&place))?;
            tool.origin.prefix(&place);
            Ok(tool)
        })
        .collect()
    }
    /// A call, as the dialect places it in an assistant's turn.
    fn encode_call(&self, part: &Part) -> Json;
    /// Reads a call.
    fn decode_call(&self, wire: Json) -> Result<Part, DecodeError>;
    /// An outcome, as the dialect sends it back.
    fn encode_outcome(&self, part: &Part) -> Json;
    /// Reads an outcome.
    fn decode_outcome(&self, wire: Json) -> Result<Part, DecodeError>;
}

/// Speaks whole conversations.
///
/// Encoding cannot fail: what the dialect cannot say, [`fit`](crate::fit) has removed and reported.
pub trait ChatCodec: ToolCodec {
    /// How bytes of a stream are cut.
    fn framing(&self) -> Framing;
    /// Writes a request.
    fn encode_request(&self, request: Request) -> WireRequest;
    /// Asks for counts in a stream, in a request that was written, where the vendor gives none
    /// unasked. Whoever observes an answer needs them, whether or not the client does.
    fn ask_for_usage(&self, _request: &mut WireRequest) {}
    /// Reads a request.
    fn decode_request(&self, wire: WireRequest) -> Result<Request, DecodeError>;
    /// What a reply encoder must know of a request in this dialect.
    fn asked(&self, request: &Request) -> Asked {
        Asked { model: request.model.clone(), ..Asked::default() }
    }
    /// Writes a response.
    fn encode_response(&self, response: Response, asked: &Asked) -> WireReply;
    /// Reads a response.
    fn decode_response(&self, wire: WireReply) -> Result<Response, DecodeError>;
    /// Whether models behind this vendor write `<think>…</think>` before their text, so that
    /// [`think`](crate::event::think) is to separate it unless told otherwise.
    fn has_think_tags(&self) -> bool {
        false
    }
    /// What is noted of a response that passes, where that can be told without reading all of it.
    fn glance(&self, _body: &[u8]) -> Option<Watch> {
        None
    }
    /// Writes a fault.
    fn encode_fault(&self, fault: &Fault) -> WireReply;
    /// Reads a fault; whatever came, this gives one.
    fn decode_fault(&self, wire: WireReply) -> Fault;
    /// How the vendor turns texts into vectors; `None` if it does not.
    fn embeds(&self) -> Option<Form> {
        None
    }
    /// A writer for one stream.
    fn stream_encoder(&self, asked: &Asked) -> Box<dyn StreamEncoder>;
    /// A reader for one stream.
    fn stream_decoder(&self) -> Box<dyn StreamDecoder>;
}

/// What a stream decoder made of a frame. What to do with an unknown one is the driver's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It was understood, whether or not it gave events
    Known,
    /// It is well formed and of a kind that this dialect does not have
    Unknown,
}

/// Reads the frames of one stream.
pub trait StreamDecoder: Send {
    /// Takes a frame and appends its events.
    fn decode(&mut self, frame: &Frame, events: &mut Vec<Event>) -> Result<Seen, DecodeError>;
    /// Whether a frame is but one more piece of what has begun, so that it may be left out by who
    /// wants to know what a [`Watch`] notes. If in doubt, it is not.
    fn is_mere_piece(&self, _frame: &Frame) -> bool {
        false
    }
    /// Takes the end of the bytes. Completes what the vendor left unsaid if the answer was
    /// complete, and gives a fault if it was not.
    fn finish(&mut self, events: &mut Vec<Event>);
}

/// Writes the frames of one stream.
pub trait StreamEncoder: Send {
    /// Takes an event and appends its frames.
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>);
}
