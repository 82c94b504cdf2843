//! One canonical model of LLM tool calling, spoken in every vendor's wire format.
//!
//! ```text
//! wire bytes → frame → decode → canonical → fit(profile) → encode → frame → wire bytes
//! ```
//!
//! - [`json`] reads and writes JSON without losing a digit or the order of keys.
//! - [`Request`], [`Response`], [`Message`], [`Part`], [`Tool`], [`Call`] and [`Outcome`] are the
//!   canonical model; [`Event`] is a response as it arrives.
//! - [`dialect`] holds a codec for each wire format.
//! - [`fit`] changes a request until its target can say it, and reports each [`Loss`](fit::Loss).
//! - [`keep`] holds thinking for clients whose dialect cannot carry it back to its vendor.
//! - [`translate`] is the whole way, for one pair of dialects.
//! - [`embed`] is texts to vectors, at the vendors that do that.
//! - [`frame`] cuts bytes into frames and the reverse.
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
pub mod call;
pub mod date;
pub mod dialect;
pub mod document;
pub mod embed;
pub mod event;
pub mod extra;
pub mod fault;
pub mod fit;
pub mod frame;
mod hash;
pub mod json;
pub mod keep;
pub mod message;
pub mod origin;
pub mod outcome;
pub mod part;
pub mod percent;
pub mod request;
pub mod response;
pub mod schema;
mod suggest;
pub mod tool;
pub mod translate;
pub mod usage;
#[cfg(test)]
mod work;

pub use call::{Arguments, Call};
pub use dialect::{ChatCodec, DecodeError, Dialect, ToolCodec};
pub use event::Event;
pub use extra::Extra;
pub use fault::{Fault, FaultClass};
pub use json::Json;
pub use message::{Message, Role};
pub use origin::Origin;
pub use outcome::Outcome;
pub use part::{Body, Part};
pub use request::Request;
pub use response::{Response, Stop, StopReason};
pub use suggest::suggest;
pub use tool::{Tool, ToolChoice, ToolKind};
pub use usage::Usage;
