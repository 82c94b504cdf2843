//! The wire formats of LLM vendors, each in and out, through one canonical model.
//!
//! ```text
//! wire bytes → frame → decode → canonical → fit(profile) → encode → frame → wire bytes
//! ```
//!
//! - [`dialect`] holds a codec for each wire format.
//! - [`fit`] changes a request so that its target can express it, and reports each
//!   [`Loss`](toolwright_core::loss::Loss).
//! - [`reasoning_cache`] reinjects reasoning that a client's dialect cannot return to its vendor.
//! - [`translate`] combines these steps for one pair of dialects.
//! - [`embed`] encodes and decodes embeddings.
//! - [`frame`] splits bytes into frames, and writes frames.
//!
//! ```
//! use toolwright_core::Json;
//! use toolwright_dialects::dialect::{WireRequest, anthropic::Anthropic, bedrock::Bedrock};
//! use toolwright_dialects::translate::{Options, Translator};
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
//! The crate is pure: no async, no IO, no clock, no randomness, no logging. It promises no stability of its own: depend
//! on `toolwright`, which exports it.

mod codec;
pub mod dialect;
pub mod embed;
pub mod fit;
pub mod frame;
pub mod reasoning_cache;
pub mod translate;
