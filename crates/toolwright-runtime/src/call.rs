//! Types that describe a call: policy, approval, result, and the journal of effects. A
//! [`Toolbox`](crate::Toolbox) runs calls.

pub mod approval;
pub mod completeness;
pub mod journal;
pub mod key;
pub mod policy;
pub mod result;

pub use approval::{Answer, Approval};
pub use completeness::Completeness;
pub use policy::{Glob, Policy, Rule, Verdict};
pub use result::{CallResult, CallStatus};

pub use crate::ledger::ResultSource;
pub use toolwright_json::canonical;
