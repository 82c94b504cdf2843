//! Runs of plans, with the tools of a toolbox: an [`Engine`] runs plans; [`LocalEngine`] does so in this process.
//!
//! | job | file |
//! |---|---|
//! | the tools of a plan, from a toolbox | `tools` |
//! | the interface of the engines | `engine` |
//! | the start of a run, the driver, and one call, on any engine and at any depth | `start`, `drive`, `call`, `scope` |
//! | runs with what happened to their calls, in memory or in SQLite | `journal` |
//! | a run as its journal tells it, and its report | `replay`, `report` |
//! | the memory and the threads that runs may take, and how many calls they may make | `memory`, `threads`, `rate` |
//! | what happens in a run, for those who watch it | `event` |
//! | a plan of a saved run, or of calls in any dialect | `record` |
//! | a plan that a model writes | `make` |
//! | the output of a call as that of a step | `output` |
//! | the engine of this process, and plans as tools | `local` |
//!

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
mod threads;
mod tools;

pub use engine::{Engine, EngineFuture, NewRun, PlanRunError};
pub use event::{Observer, PlanEvent, PlanEventKind};
pub use journal::{RunRecord, RunStatus, StepAnswer};
pub use local::LocalEngine;
pub use local::nested::{plan_tool, plan_tool_with};
pub use make::{MAX_ATTEMPTS, MadePlan, MakeError, make_plan};
pub use memory::{MemoryBudget, PlanMemory, Reservation};
pub use rate::{CallRate, PlanRate};
pub use record::{RecordError, messages_with_calls, record_messages, record_run};
pub use report::{RunReport, StepQuestion, StepReport};
pub use start::blocking;
pub use threads::PlanThreads;
pub use tools::plan_tools;
