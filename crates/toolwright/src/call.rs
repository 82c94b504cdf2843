//! The one way from a model's call to its outcome. One verb, one file, in order.
//!
//! | step | file |
//! |---|---|
//! | find the tool, or offer names that are near | `find` |
//! | refuse what was cut off | `wholeness` |
//! | parse, put in what handles stand for, coerce, complete, check | `settle` |
//! | allow, deny, ask | `policy`, `approve` |
//! | bind to the run: id, idempotency key, context | `bind`, `canonical` |
//! | give a result again | `cache` |
//! | wait for leave to run | `limit` |
//! | put in what hidden parameters get | `fill` |
//! | record the intent, run within the deadline, retry, record the end | `execute`, `job`, `retry`, `journal`, `record` |
//! | make of it what the model sees | `outcome` |
//! | note it in the ledger | `note` |
//!
//! `journey` takes one call through them, `batch` all the calls of a turn.

pub mod approve;
pub(crate) mod batch;
pub(crate) mod bind;
pub(crate) mod cache;
pub mod called;
pub(crate) mod canonical;
mod execute;
mod fill;
mod find;
mod job;
pub mod journal;
pub(crate) mod journey;
pub(crate) mod limit;
mod note;
mod outcome;
pub mod policy;
mod record;
mod retry;
mod settle;
pub mod wholeness;

pub use crate::ledger::ResultSource;
pub use approve::{Answer, Approval};
pub use called::{Called, Done};
pub use canonical::canonical;
pub use policy::{Glob, Policy, Rule, Verdict};
pub use wholeness::Wholeness;
