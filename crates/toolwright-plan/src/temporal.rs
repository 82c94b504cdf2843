//! Plans on a Temporal server: the same plans, checks and results as on the engine of this process, with tools on any
//! number of machines.
//!
//! [`TemporalEngine`] starts runs and watches them. Each run is a workflow, which interprets the plan and makes each call as
//! an activity. [`TemporalWorker`] offers the tools of a toolbox on a task queue, and runs the workflows. Both only
//! dial out.
//!
//! | job | file |
//! |---|---|
//! | the engine, what workflows reply to it, and what it tells those who watch a run | `engine`, `reply`, `watch` |
//! | the runs of a server | `list` |
//! | the worker: descriptions of its tools, calls, and what happens within them | `worker`, `log` |
//! | the workflow of a plan | `workflow` |
//! | a run and a call as documents, and documents as payloads | `state`, `call`, `payload` |
//! | values that are too large for a payload, and the handles of a gateway | `values`, `gateway` |
//! | the connection | `client` |

mod call;
mod client;
mod engine;
mod gateway;
mod list;
mod log;
mod payload;
mod reply;
mod state;
mod values;
mod watch;
mod worker;
mod workflow;

pub use client::Address;
pub use engine::TemporalEngine;
pub use gateway::GatewayHandles;
pub use worker::TemporalWorker;

/// The Temporal server or a worker failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemporalError(pub(crate) String);
