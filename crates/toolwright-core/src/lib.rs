//! Tool calling without a vendor: tools and their schemas, the arguments of calls, and one model of requests, responses
//! and streams.
//!
//! - [`Request`], [`Response`], [`Message`], [`Part`], [`Tool`], [`Call`] and [`Outcome`] are the canonical model;
//!   [`Event`] is a response as it arrives.
//! - [`schema`] checks values, and lowers a schema to the subset that a target accepts.
//! - [`args`] turns the text that a model wrote into arguments: parsed, repaired, coerced, completed and checked.
//! - [`profile`] describes what a target can express; a [`Loss`](loss::Loss) is what it cannot.
//! - [`json`] reads and writes JSON without losing a digit or the order of keys.
//!
//! ```
//! use toolwright_core::args::{CoercionOptions, Parameters, parse};
//! use toolwright_core::{Arguments, Json, Tool};
//!
//! let schema = Json::parse(
//!     r#"{"type": "object", "required": ["city"],
//!         "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}"#,
//! )?;
//! let parameters = Parameters::compile(&Tool::function("forecast", schema), &[])?;
//!
//! // A model wrote Python's quotes, and stopped before the brace.
//! let written = Arguments::from_text("{'city': 'Paris'");
//! let resolved = parameters.resolve(parse(&written), &CoercionOptions::default());
//! assert_eq!(resolved.arguments().compact(), r#"{"city":"Paris","days":3}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate is pure: no async, no IO, no clock, no randomness, no logging. It promises no stability of its own: depend
//! on `toolwright`, which exports it.

pub mod args;
pub mod date;
pub mod document;
pub mod duration;
pub mod event;
pub mod hash;
pub mod loss;
mod model;
pub mod note;
pub mod percent;
pub mod profile;
pub mod schema;
mod suggest;
pub mod wire_json;

pub use event::Event;
pub use model::call::{Arguments, Call};
pub use model::dialect::{Dialect, UnknownDialect};
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
    call, digest, extra, fault, message, origin, outcome, part, request, response, tool, usage,
};
pub use suggest::{suggest, suggestions};
pub use toolwright_json as json;
pub use toolwright_json::{Json, object};
