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
//! The [`guide`] leads from one tool to an agent with context, handles, approval, streaming and a vendor.
//!
//! # Features
//!
//! Without default features, the crate has tools, arguments and the agent loop.
//!
//! - `dialects` (default): the vendors' wire formats, and translation between them
//! - `upstream` (default): models of vendors over HTTP
//! - `offline` (default): a rule-based stand-in for a model, to try things without a key
//! - `builtin`: tools for files, git and tables; call `process::init` first in `main`
//! - `sqlite`: the ledger, the journal and handles in files
//! - `mcp`: tools of MCP servers; call `process::init` first in `main`
//! - `plan`: plans, which are calls of tools as a graph; with `temporal` also on a Temporal server
//! - `catalog`: prefabs, which are versioned packages of functions, in a folder
//! - `process`: child processes whose descendants end with them
//! - `transport`: the HTTP client below `upstream`, alone; with `oauth` also an OAuth 2.1 client
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

// Its programs are compiled and run by `examples/external`, as a user's crate.
#[cfg(all(doc, not(doctest)))]
#[doc = include_str!("../guide.md")]
pub mod guide {}

#[cfg(feature = "catalog")]
pub use toolwright_catalog as catalog;
#[cfg(feature = "dialects")]
pub use toolwright_dialects::{dialect, fit, translate};
#[cfg(feature = "mcp")]
pub use toolwright_mcp as mcp;
#[cfg(feature = "plan")]
pub use toolwright_plan as plan;
#[cfg(feature = "temporal")]
pub use toolwright_plan::temporal;
pub use toolwright_runtime::*;
#[cfg(feature = "transport")]
pub use toolwright_transport as transport;
#[cfg(feature = "oauth")]
pub use toolwright_transport::oauth;
pub use toolwright_transport::{environment, private_file};
