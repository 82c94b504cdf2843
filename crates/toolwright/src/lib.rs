//! Define tools, hold them, call them with checked arguments, run an agent with them.
//!
//! ```text
//! call → parse → handles → coerce → complete → check → bind → execute → outcome → ledger
//! ```
//!
//! - A [`Handler`] is a tool with what runs it: from a function with `#[tool]`, or from a
//!   definition and a closure.
//! - A [`Session`] is what the calls of one run share: the caller, the [`Context`] that no model
//!   sees, a way to cancel.
//! - An [`Agent`] has tools and a [`Model`]; a [`Run`] asks it, makes its calls, and can be saved.
//! - [`error::CallError`] is written for the model, [`error::ToolError`] by a tool.

// Expansions of our own macros begin their paths with the name of this crate.
extern crate self as toolwright;

#[cfg(feature = "builtin")]
pub mod builtin;
pub mod call;
pub mod chat;
pub mod context;
pub mod define;
pub mod error;
pub mod handle;
pub mod handler;
pub mod ledger;
#[doc(hidden)]
pub mod macros;
pub mod output;
pub mod prelude;
pub mod run;
pub mod secret;
pub mod session;
pub mod settings;
#[cfg(feature = "sqlite")]
pub mod store;
pub mod toolbox;

pub use context::Context;
pub use error::{CallError, CallErrorKind, ToolError};
pub use handler::Handler;
pub use output::Output;
pub use run::{Agent, Limits, Model, Run, ScriptedModel};
pub use secret::{Secret, SecretString};
pub use session::{Caller, Scope, Session};
pub use settings::{Effect, Envelope, Retry, Settings};
pub use toolbox::Toolbox;
pub use toolwright_core::json;
pub use toolwright_core::{
    Arguments, Body, Call, Fault, Json, Message, Outcome, Part, Request, Response, Role,
    StopReason, Tool, ToolChoice, Usage,
};
pub use toolwright_macros::{data, tool};
pub use {schemars, serde};
