//! The dialects: a codec for each wire format, and the registry that finds a codec by id.
//!
//! A folder below this file contains one wire format: `wire.rs` (names and paths), `tool.rs`,
//! `part.rs`, `request.rs`, `response.rs`, `stream.rs`, `fault.rs` and `quirks.rs` (the profile).
//! No folder imports another.

pub mod anthropic;
pub mod bedrock;
pub mod cohere;
pub mod deepseek;
mod defaults;
mod forward;
pub mod gemini;
pub mod mcp;
pub mod mistral;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod shape;
pub mod vendors;

pub use crate::codec::{
    ChatCodec, DecodeError, DecodeErrorKind, Defaults, Fields, FrameStatus, ReplyContext,
    ResponseSummary, StreamDecoder, StreamEncoder, Target, ToolCodec, WireReply, WireRequest,
    elements,
};
pub use defaults::is_default;
pub use toolwright_core::digest::ConversationDigest;
pub use toolwright_core::{Dialect, UnknownDialect};

/// Returns the codec of a dialect for conversations; `None` for MCP.
pub fn codec(dialect: Dialect) -> Option<&'static dyn ChatCodec> {
    match dialect {
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

/// Returns the codec for tools, calls and outcomes, which every dialect has; MCP's is of the
/// latest era.
pub fn tool_codec(dialect: Dialect) -> &'static dyn ToolCodec {
    match codec(dialect) {
        Some(codec) => codec,
        None => &mcp::Mcp { era: mcp::Era::Stateless },
    }
}

/// Finds the codec of a dialect or of a vendor's preset, by id.
pub fn lookup(id: &str) -> Option<&'static dyn ChatCodec> {
    let dialect = Dialect::from_id(id).and_then(codec);
    dialect.or_else(|| vendors::find(id).map(|vendor| &vendor.codec as &dyn ChatCodec))
}

/// Whether two codecs are the same. Compares dialect and address, because codecs without fields may have
/// the same address, and presets share a dialect.
pub fn is_same(one: &dyn ChatCodec, other: &dyn ChatCodec) -> bool {
    one.dialect() == other.dialect() && std::ptr::addr_eq(one, other)
}
