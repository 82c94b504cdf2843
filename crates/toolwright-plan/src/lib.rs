//! Plans: calls of tools as a graph, which is checked, run in parallel, resumed after a crash, and drawn.
//!
//! - [`plan`] has the document, its check, its workflow view, its pictures and its interpreter. It is pure: no async, no IO,
//!   no clock.
//! - [`run`] runs plans: an [`Engine`] makes the calls that the interpreter asks for with the tools of a toolbox, and records
//!   in a journal what happened to them. [`LocalEngine`] does so in this process.
//! - `temporal` (a feature) runs the same plans on a Temporal server.
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use toolwright_plan::{Engine, LocalEngine, NewRun, Plan, RunStatus};
//! use toolwright_runtime::prelude::*;
//! use toolwright_core::object;
//!
//! /// Returns the forecast for a city.
//! #[tool(read_only)]
//! fn forecast(city: String) -> String {
//!     format!("Sun in {city}")
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let plan = Json::parse(r#"{
//!     "plan": "1",
//!     "inputs": {"type": "object", "properties": {"cities": {"type": "array"}}},
//!     "steps": {
//!         "weather": {"tool": "forecast", "each": {"$from": "inputs/cities"}, "args": {"city": {"$from": "item"}}}
//!     },
//!     "outputs": {"first": {"$from": "weather/0"}}
//! }"#)?;
//! let plan = Plan::parse(&plan).map_err(|errors| errors[0].clone())?;
//! let engine = LocalEngine::new(Toolbox::new([forecast::handler()])?);
//! let inputs = object! {"cities": vec!["北京", "Berlin"]};
//! let run = engine.start(NewRun::new(plan, inputs)).await?;
//! let report = engine.drive(&run, None).await?;
//! assert_eq!(report.status(), RunStatus::Succeeded);
//! assert_eq!(report.outputs.get("first").and_then(|text| text.as_str()), Some("Sun in 北京"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate promises no stability of its own: depend on `toolwright`, which exports it.

pub mod plan;
pub mod run;
#[cfg(feature = "temporal")]
pub mod temporal;

pub use plan::*;
pub use run::*;
