//! A canonical model of LLM tool calling, with codecs for the wire formats of the vendors.
//!
//! ```text
//! wire bytes → frame → decode → canonical → fit(profile) → encode → frame → wire bytes
//! ```
//!
//! - [`json`] reads and writes JSON without losing a digit or the order of keys.
//! - [`Request`], [`Response`], [`Message`], [`Part`], [`Tool`], [`Call`] and [`Outcome`] are the
//!   canonical model; [`Event`] is a response as it arrives.
//! - [`dialect`] holds a codec for each wire format.
//! - [`fit`] changes a request so that its target can express it, and reports each
//!   [`Loss`](loss::Loss).
//! - [`reasoning_cache`] reinjects reasoning that a client's dialect cannot return to its vendor.
//! - [`translate`] combines these steps for one pair of dialects.
//! - [`embed`] encodes and decodes embeddings.
//! - [`frame`] splits bytes into frames, and writes frames.
//!
//! ```
//! use toolwright_core::Json;
//! use toolwright_core::dialect::{WireRequest, anthropic::Anthropic, bedrock::Bedrock};
//! use toolwright_core::translate::{Options, Translator};
//!
//! let body = Json::parse(
//!     r#"{
//!         "model": "anthropic.claude-haiku-5",
//!         "max_tokens": 1000,
//!         "tools": [{"name": "now", "input_schema": {"type": "object"}}],
//!         "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
//!         "messages": [{"role": "user", "content": "What time is it?"}]
//!     }"#,
//! )?;
//! let options = Options::default();
//! let wire = WireRequest { body, ..WireRequest::default() };
//! let translated = Translator::new(&Anthropic, &Bedrock, &options).request(wire)?;
//!
//! assert_eq!(translated.value.path, "/model/anthropic.claude-haiku-5/converse");
//! let loss = &translated.report.losses[0];
//! assert_eq!(loss.path, "/tool_choice/disable_parallel_tool_use");
//! assert!(translated.report.aliases.single_call, "enforced on the answer instead");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate is pure: no async, no IO, no clock, no randomness, no logging.

pub mod args;
mod codec;
pub mod date;
pub mod dialect;
pub mod document;
pub mod duration;
pub mod embed;
pub mod event;
pub mod fit;
pub mod frame;
mod hash;
pub mod json;
pub mod loss;
mod model;
mod note;
pub mod percent;
pub mod plan;
pub mod profile;
pub mod reasoning_cache;
pub mod schema;
mod suggest;
pub mod translate;
#[cfg(test)]
mod work;

pub use codec::{ChatCodec, DecodeError, ToolCodec};
pub use event::Event;
pub use json::Json;
pub use model::call::{Arguments, Call};
pub use model::dialect::Dialect;
pub use model::extra::Extra;
pub use model::fault::{Fault, FaultClass};
pub use model::message::{Message, Role};
pub use model::origin::Origin;
pub use model::outcome::Outcome;
pub use model::part::{Body, Part};
pub use model::request::Request;
pub use model::response::{Response, Stop, StopReason};
pub use model::tool::{Tool, ToolChoice, ToolKind};
pub use model::usage::Usage;
pub use model::{
    call, extra, fault, message, origin, outcome, part, request, response, tool, usage,
};
pub use suggest::{suggest, suggestions};
