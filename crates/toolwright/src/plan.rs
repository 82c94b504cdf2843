//! Plans: calls of tools as a graph, which an engine runs with the tools of a toolbox.
//!
//! The document of a plan, its checks, its order and its meaning are those of [`toolwright_core::plan`], which this
//! module re-exports. An [`Engine`] runs plans; [`LocalEngine`] does so in this process.
//!
//! | job | file |
//! |---|---|
//! | the tools of a plan, from a toolbox | `tools` |
//! | the interface of the engines | `engine` |
//! | the start of a run, the driver, and one call, on any engine and at any depth | `start`, `drive`, `call`, `scope` |
//! | runs with what happened to their calls, in memory or in SQLite | `journal` |
//! | a run as its journal tells it, and its report | `replay`, `report` |
//! | the memory that runs may take, and how many calls they may make | `memory`, `rate` |
//! | what happens in a run, for those who watch it | `event` |
//! | a plan of a saved run, or of calls in any dialect | `record` |
//! | a plan that a model writes | `make` |
//! | the output of a call as that of a step | `output` |
//! | the engine of this process, and plans as tools | `local` |
//!
//! ```
//! use toolwright::plan::{Engine, LocalEngine, NewRun, Plan, RunStatus};
//! use toolwright::prelude::*;
//! use toolwright::{Toolbox, object};
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

pub(crate) mod call;
pub(crate) mod drive;
mod engine;
mod event;
pub mod journal;
pub(crate) mod local;
mod make;
pub(crate) mod memory;
mod output;
mod rate;
mod record;
pub(crate) mod replay;
mod report;
pub(crate) mod scope;
pub(crate) mod start;
mod tools;

pub use engine::{Engine, EngineFuture, NewRun, PlanRunError};
pub use event::{Observer, PlanEvent, PlanEventKind};
pub use journal::{RunRecord, RunStatus, StepAnswer};
pub use local::LocalEngine;
pub use local::nested::plan_tool;
pub use make::{MAX_ATTEMPTS, MadePlan, MakeError, make_plan};
pub use memory::{MemoryBudget, PlanMemory};
pub use rate::{CallRate, PlanRate};
pub use record::{RecordError, messages_with_calls, record_messages, record_run};
pub use report::{RunReport, StepQuestion, StepReport};
pub use start::blocking;
pub use tools::plan_tools;
pub use toolwright_core::plan::*;
