//! Tools and agents for language models.
//!
//! - A [`Handler`] is a tool with the function that runs it: `#[tool]` creates one from a function.
//! - A [`Toolbox`] runs calls: it checks arguments and policy, runs the tool within a deadline, and
//!   records effects.
//! - An [`Agent`] has tools and a [`Model`]; a [`Run`] asks the model and runs its calls, and can be saved.
//! - A [`Session`] holds what the calls of a run share: the caller and the [`Context`], which no model
//!   sees.
//! - [`CallError`] is written for the model, [`ToolError`] by a tool.
//!
//! # Features
//!
//! - `upstream` (default): models of vendors over HTTP
//! - `offline` (default): a rule-based stand-in for a model, to try things without a key
//! - `transport`: the HTTP client below `upstream`, alone
//! - `oauth`: an OAuth 2.1 client, over the same HTTP client
//! - `sqlite`: the ledger, the journal and handles in files
//! - `builtin`: tools for files, git and tables; call `process::init` first in `main`
//! - `process`: child processes whose descendants end with them
//! - `mcp`: tools of MCP servers; call `process::init` first in `main`
//! - `catalog`: prefabs, which are versioned packages of functions, in a folder
//!
//! ```
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

// Expansions of our own macros begin their paths with the name of this crate.
extern crate self as toolwright;

pub mod bounded;
#[cfg(feature = "builtin")]
pub mod builtin;
pub mod call;
mod canonical;
#[cfg(feature = "catalog")]
pub mod catalog;
pub mod chat;
pub mod context;
pub mod define;
#[cfg(feature = "transport")]
pub mod environment;
pub mod error;
pub mod handle;
pub mod handler;
#[cfg(any(feature = "catalog", feature = "oauth", feature = "sqlite"))]
mod key_file;
pub mod ledger;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "offline")]
pub mod offline;
pub mod output;
pub mod plan;
pub mod prelude;
pub mod private_file;
#[cfg(feature = "process")]
pub mod process;
pub mod redact;
pub mod resolve;
pub mod run;
pub mod secret;
pub mod session;
pub mod settings;
#[cfg(feature = "sqlite")]
pub mod store;
#[cfg(feature = "temporal")]
pub mod temporal;
pub mod toolbox;
#[cfg(feature = "transport")]
pub mod transport;
#[cfg(feature = "upstream")]
pub mod upstream;

pub use context::Context;
pub use error::{CallError, CallErrorKind, ToolError};
pub use handler::{Handler, IntoHandler, ToolDigest};
pub use model::{Model, ScriptedModel};
pub use output::Output;
pub use resolve::ModelError;
pub use run::{Agent, Limits, Run};
pub use secret::{Secret, SecretString};
pub use session::{Caller, Scope, Session};
pub use settings::{Effect, Envelope, Fill, Retry, Settings, SlotFill, SlotOutput, ValueForm};
pub use toolbox::Toolbox;
pub use toolwright_core::{
    Arguments, Body, Call, Event, Fault, Json, Message, Outcome, Part, Request, Response, Role,
    StopReason, Tool, ToolChoice, Usage, object,
};
pub use toolwright_core::{args, document, event, json, loss, profile, schema};
pub use toolwright_dialects::{dialect, fit, translate};
pub use toolwright_macros::{data, tool};
pub use {schemars, serde};
