//! The dialects, and the two traits through which each is spoken.
//!
//! A folder below this file holds one wire format: `wire.rs` (words and paths), `tool.rs`,
//! `part.rs`, `request.rs`, `response.rs`, `stream.rs`, `fault.rs` and `quirks.rs` (profile and
//! known oddities). No folder imports another.

pub mod anthropic;
pub mod bedrock;
pub mod cohere;
pub mod deepseek;
mod defaults;
mod error;
mod fields;
pub mod gemini;
pub mod mcp;
pub mod mistral;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod shape;
pub mod vendors;

use std::fmt;
use std::str::FromStr;

pub use defaults::Defaults;
pub use error::{DecodeError, DecodeErrorKind};
pub use fields::{Fields, elements};

use crate::embed::Form;
use crate::event::Event;
use crate::event::watch::Watch;
use crate::fault::Fault;
use crate::fit::Profile;
use crate::frame::{Frame, Framing};
use crate::json::{Json, Object};
use crate::keep::Place;
use crate::part::Part;
use crate::request::Request;
use crate::response::Response;
use crate::tool::Tool;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// OpenAI Chat Completions
    OpenaiChat,
    /// OpenAI Responses
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// AWS Bedrock Converse
    Bedrock,
    /// DeepSeek, a row on OpenAI Chat
    Deepseek,
    /// Google Gemini `generateContent`
    Gemini,
    /// Ollama `/api/chat`
    Ollama,
    /// Mistral
    Mistral,
    /// Cohere v2
    Cohere,
    /// Model Context Protocol: tools only
    Mcp,
}

impl Dialect {
    /// All dialects, in the order of the documentation.
    pub const ALL: [Dialect; 10] = [
        Dialect::OpenaiChat,
        Dialect::OpenaiResponses,
        Dialect::Anthropic,
        Dialect::Bedrock,
        Dialect::Deepseek,
        Dialect::Gemini,
        Dialect::Ollama,
        Dialect::Mistral,
        Dialect::Cohere,
        Dialect::Mcp,
    ];

    /// The id used in commands, configuration, routes and headers.
    pub fn id(self) -> &'static str {
        match self {
            Dialect::OpenaiChat => "openai-chat",
            Dialect::OpenaiResponses => "openai-responses",
            Dialect::Anthropic => "anthropic",
            Dialect::Bedrock => "bedrock",
            Dialect::Deepseek => "deepseek",
            Dialect::Gemini => "gemini",
            Dialect::Ollama => "ollama",
            Dialect::Mistral => "mistral",
            Dialect::Cohere => "cohere",
            Dialect::Mcp => "mcp",
        }
    }

    /// The codec, for a dialect that speaks whole conversations.
    pub fn codec(self) -> Option<&'static dyn ChatCodec> {
        match self {
            Dialect::OpenaiChat => Some(&openai_chat::CODEC),
            Dialect::OpenaiResponses => Some(&openai_responses::OpenaiResponses),
            Dialect::Anthropic => Some(&anthropic::Anthropic),
            Dialect::Gemini => Some(&gemini::Gemini),
            Dialect::Bedrock => Some(&bedrock::Bedrock),
            Dialect::Deepseek => Some(&deepseek::CODEC),
            Dialect::Ollama => Some(&ollama::Ollama),
            Dialect::Mistral => Some(&mistral::Mistral),
            Dialect::Cohere => Some(&cohere::Cohere),
            Dialect::Mcp => None,
        }
    }

    /// The codec for tools, calls and outcomes, which every dialect has; MCP's is of its latest era.
    pub fn tool_codec(self) -> &'static dyn ToolCodec {
        match self.codec() {
            Some(codec) => codec,
            None => &mcp::Mcp { era: mcp::Era::Stateless },
        }
    }

    /// Whether extra fields of one dialect mean the same in another.
    pub fn shares_wire(self, other: Dialect) -> bool {
        self.parent() == other.parent()
    }

    /// Whether a signature made in one dialect can be read in another: Claude's are the same at
    /// Anthropic and on Bedrock.
    pub fn shares_signatures(self, other: Dialect) -> bool {
        let maker =
            |dialect| if dialect == Dialect::Bedrock { Dialect::Anthropic } else { dialect };
        maker(self) == maker(other)
    }

    fn parent(self) -> Dialect {
        if self == Dialect::Deepseek { Dialect::OpenaiChat } else { self }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.id())
    }
}

impl FromStr for Dialect {
    type Err = ();

    fn from_str(id: &str) -> Result<Dialect, ()> {
        Dialect::ALL.into_iter().find(|dialect| dialect.id() == id).ok_or(())
    }
}

/// The codec of a dialect or of a vendor's row, by id.
pub fn lookup(id: &str) -> Option<&'static dyn ChatCodec> {
    let dialect = id.parse().ok().and_then(Dialect::codec);
    dialect.or_else(|| vendors::find(id).map(|vendor| &vendor.codec as &dyn ChatCodec))
}

/// Whether two codecs are one: codecs without fields may lie at the same address, and rows share a
/// dialect, so it takes both to tell.
pub fn is_same(one: &dyn ChatCodec, other: &dyn ChatCodec) -> bool {
    one.dialect() == other.dialect() && std::ptr::addr_eq(one, other)
}

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
    /// Where in its conversation the answer stands, if the client may send calls back without ids
    pub place: Option<Place>,
}

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
