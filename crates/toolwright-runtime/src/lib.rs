//! The runtime of tools: what defines and runs them, and the agents that call them.
//!
//! - A [`Handler`] is a tool with the function that runs it: `#[tool]` creates one from a function.
//! - A [`Toolbox`] runs calls: it checks arguments and policy, runs the tool within a deadline, and
//!   records effects.
//! - An [`Agent`] has tools and a [`Model`]; a [`Run`] asks the model and runs its calls, and can be saved.
//! - A [`Session`] holds what the calls of a run share: the caller and the [`Context`], which no model
//!   sees.
//! - [`CallError`] is written for the model, [`ToolError`] by a tool.
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright::prelude::*;
//!
//! /// What the tools of a run share, and no model sees.
//! struct Data(Vec<f64>);
//!
//! /// Adds a number to the data.
//! #[tool]
//! fn add(#[context] data: &mut Data, #[schemars(range(min = 0))] number: f64) -> String {
//!     data.0.push(number);
//!     format!("{} numbers now", data.0.len())
//! }
//!
//! # #[cfg(not(feature = "offline"))]
//! # fn main() {}
//! # #[cfg(feature = "offline")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let toolbox = Toolbox::new([add::handler()])?;
//! let agent = Agent::new("clerk").with_tools(toolbox).with_model(Model::offline());
//! let context = Context::new().with(Data(Vec::new()));
//! let finished = agent.run("add 7.5").with_context(context).finish().await?;
//! println!("{}", finished.text);
//! # assert!(finished.text.ends_with("1 numbers now"), "{}", finished.text);
//! # Ok(())
//! # }
//! ```
//!
//! The examples of this crate name it `toolwright`, which exports it: depend on that, since this crate promises no stability
//! of its own.

// Expansions of our own macros begin their paths with the name of the crate that users depend on.
extern crate self as toolwright;

pub mod bounded;
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
pub mod model;
#[cfg(feature = "offline")]
pub mod offline;
pub mod output;
pub mod prelude;
#[cfg(feature = "process")]
pub mod process;
pub mod redact;
mod reference;
pub mod resolve;
pub mod run;
pub mod session;
pub mod settings;
#[cfg(feature = "sqlite")]
pub mod store;
pub mod toolbox;
#[cfg(feature = "upstream")]
pub mod upstream;

pub use context::Context;
pub use error::{CallError, CallErrorKind, ToolError};
pub use handler::{Handler, IntoHandler, ToolDigest};
pub use model::{Model, ScriptedModel};
pub use output::Output;
pub use resolve::ModelError;
pub use run::{Agent, Limits, Run};
pub use session::{Caller, Scope, Session};
pub use settings::{Effect, Envelope, Fill, Retry, Settings, SlotFill, SlotOutput, ValueForm};
pub use toolbox::Toolbox;
pub use toolwright_core::{
    Arguments, Body, Call, Event, Fault, Json, Message, Outcome, Part, Request, Response, Role,
    StopReason, Tool, ToolChoice, Usage, args, document, event, json, loss, object, profile,
    schema,
};
pub use toolwright_macros::{data, tool};
pub use toolwright_transport::secret::{self, Secret, SecretString};
pub use {schemars, serde};
