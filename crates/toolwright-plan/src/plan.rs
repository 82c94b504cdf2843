//! Plans: calls of tools as a graph, whose edges carry data from one call to the next.
//!
//! A plan is a document: `steps` with the arguments of each call. An edge is a reference inside of the
//! arguments, so that edges and arguments cannot disagree.
//!
//! ```
//! use toolwright_core::Json;
//! use toolwright_plan::Plan;
//!
//! let document = Json::parse(r#"{
//!     "plan": "1",
//!     "inputs": {"type": "object", "properties": {"city": {"type": "string"}}},
//!     "steps": {
//!         "weather": {"tool": "forecast", "args": {"city": {"$from": "inputs/city"}}},
//!         "mail": {"tool": "send_mail", "args": {"text": {"$from": "weather/summary"}}}
//!     },
//!     "outputs": {"id": {"$from": "mail/id"}}
//! }"#)?;
//! let plan = Plan::parse(&document).map_err(|errors| errors[0].clone())?;
//! assert_eq!(plan.steps[1].id, "mail");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | job | file |
//! |---|---|
//! | the document: its types, its parser, its JSON Schema | `document`, `template`, `condition`, `schema.json` |
//! | the tools of a plan, as far as plans must know them | `tools` |
//! | the order of the steps | `graph` |
//! | everything that can be wrong before a plan runs | `check` |
//! | the workflow view, for people and editors, the way back, and workflows of other programs | `view` |
//! | the states of the steps of a run, and how they end | `state` |
//! | the state of a run: which calls come next, and what follows from their results | `interpret` |
//! | values that an engine stores elsewhere, in place of which the interpreter has handles | `stored` |
//! | calls that were made, as a plan | `record` |
//! | pictures of a plan and of a run | `draw` |
//! | Arazzo documents, written and read | `arazzo` |
//!
//! Steps are in the order of the document. A step refers only to steps before it, so this order is one in
//! which they can run.

pub mod arazzo;
mod check;
mod condition;
mod document;
pub mod draw;
mod error;
mod graph;
mod interpret;
mod record;
mod state;
pub mod stored;
mod template;
mod tools;
mod view;

pub use check::{CheckedEdge, EdgeFit, MAX_STEPS, PlanReport, check};
pub use condition::{Condition, ConditionSchema};
pub use document::{OnError, Plan, PlanLimits, Step, StepRetry};
pub use error::{PlanError, PlanErrorKind};
pub use graph::{Edge, EdgeKind, Graph};
pub use interpret::{Interpreter, PlannedCall};
pub use record::{
    RecordNote, RecordNoteKind, RecordedCall, RecordedHandle, RecordedResult, Recording, record,
};
pub use state::{StepError, StepResult, StepState, StepStatus};
pub use template::{Reference, ReferenceForm, Source, Template};
pub use tools::{PlanTool, PlanTools, Resource, ResourceUse};
pub use view::{View, ViewEdge, ViewNode, ViewParameter, ViewType, import_view, import_workflow};
