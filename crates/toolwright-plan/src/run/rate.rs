//! The rate of calls: a host limits how many calls the plans of a caller make in a minute.

use std::sync::Arc;
use std::time::Duration;

use toolwright_runtime::error::CallErrorKind;
use toolwright_runtime::session::{Scope, Session};

use crate::plan::StepError;

use super::scope::RunScope;

/// Counts the calls that plans make, at any depth. A host adds one to the [context](toolwright_runtime::Context) of its
/// calls.
pub trait CallRate: Send + Sync {
    /// Counts a call. The error is the time until one may be made, and the message for a caller that does not wait.
    fn count(&self) -> Result<(), (Duration, String)>;
}

/// The rate of the calls of plans, as a value of a context.
#[derive(Clone)]
pub struct PlanRate(pub Arc<dyn CallRate>);

/// Counts a call, and waits until it may be made if the plan is that of a run, or within one. The deadline of the call
/// that the plan is within does not run in the meantime. The error is that of the call.
pub(super) async fn count_call(session: &Session, outer: Option<&Scope>) -> Result<(), StepError> {
    let Ok(rate) = session.context.read::<PlanRate>().await.map(|rate| rate.clone()) else {
        return Ok(());
    };
    let waits = RunScope::of(session).await.is_some();
    loop {
        match rate.0.count() {
            Ok(()) => return Ok(()),
            Err((wait, _)) if waits => {
                let _pause = outer.map(|outer| outer.pauses().start_unlimited());
                tokio::time::sleep(wait).await;
            }
            Err((_, message)) => {
                return Err(StepError::new(CallErrorKind::RateLimited.as_str(), message));
            }
        }
    }
}
