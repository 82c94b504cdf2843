//! Runs the calls of one turn concurrently and returns their results in order.
//!
//! Equal calls run once. Calls that share a context value or a slot, of which one writes it, run one after another
//! in the order in which the model wrote them. A call that shares a slot with an earlier one that waits for approval is
//! refused.

mod order;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;
use toolwright_core::{Call, Outcome, Part};

use super::pipeline::{self, CallState, PreparedCall, RunnableCall};
use super::{Toolbox, audit};
use crate::call::key::CallPosition;
use crate::call::{CallResult, CallStatus, Completeness};
use crate::ledger::ResultSource;
use crate::session::Session;
use crate::settings::Effect;

/// Runs the calls of a turn. The results are in the order of the calls.
pub(crate) async fn call_all(
    toolbox: &Toolbox,
    session: &Session,
    calls: &[Call],
    completeness: Completeness,
) -> Vec<CallStatus> {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut firsts: HashMap<(&str, String), (usize, Arc<str>)> = HashMap::new();
    // Duplicates: the index of the call, the index of the equal first one.
    let mut duplicates: Vec<(usize, usize, CallState<'_>, RunnableCall)> = Vec::new();
    let mut unique: Vec<(usize, PreparedCall<'_>)> = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let position = CallPosition { index, repeats: repeats(&mut ids, call) };
        let last = index + 1 == calls.len();
        let completeness = if last { completeness } else { completeness.before_last() };
        let mut prepared = pipeline::prepare(toolbox, session, call, position, completeness).await;
        if let Ok(runnable) = &mut prepared.runnable
            && calls.len() > 1
        {
            let equal = (call.name.as_str(), runnable.canonical.clone());
            let itself = (index, runnable.keys.key.clone());
            let (first, key) = firsts.entry(equal).or_insert_with(|| itself.clone());
            if *first != index && order::changes_between(&unique, *first, runnable) {
                // A call in between may have changed the result, so this one runs again.
                (*first, *key) = itself;
            }
            if *first != index {
                // With the same key, the effect happens once even if both are approved.
                runnable.keys.key = key.clone();
                prepared.state.key = Some(key.clone());
                if let Ok(runnable) = prepared.runnable {
                    duplicates.push((index, *first, prepared.state, runnable));
                }
                continue;
            }
        }
        unique.push((index, prepared));
    }
    order::refuse_before_approval(&mut unique);
    let turns = order::turns(&unique);
    let running = unique.into_iter().zip(turns).map(|((index, mut prepared), turn)| async move {
        let _ended = turn.wait().await;
        // The deadline of a call does not run while it waits for another one.
        prepared.state.start = Instant::now();
        (index, pipeline::proceed(toolbox, session, prepared).await)
    });
    let mut called: Vec<(usize, CallStatus)> = join_all(running).await;
    // The results before the duplicates are sorted by index.
    let unique = called.len();
    for (index, first, state, runnable) in duplicates {
        if let Ok(equal) = called[..unique].binary_search_by_key(&first, |(index, _)| *index) {
            let result = share(toolbox, session, state, runnable, &called[equal].1);
            called.push((index, result));
        }
    }
    called.sort_by_key(|(index, _)| *index);
    called.into_iter().map(|(_, called)| called).collect()
}

/// Number of earlier calls with the id of this one.
fn repeats<'c>(ids: &mut HashMap<&'c str, usize>, call: &'c Call) -> usize {
    let Some(id) = call.id.as_deref() else { return 0 };
    let times = ids.entry(id).or_default();
    *times += 1;
    *times - 1
}

/// The result of a duplicate: that of the first call.
fn share(
    toolbox: &Toolbox,
    session: &Session,
    state: CallState<'_>,
    runnable: RunnableCall,
    first: &CallStatus,
) -> CallStatus {
    let first = match first {
        CallStatus::Done(first) => first,
        CallStatus::Waiting(_) => {
            audit::waiting(toolbox, session, &state);
            return CallStatus::Waiting(pipeline::question(session, &state, runnable));
        }
    };
    let mut content = first.outcome.content.clone();
    if runnable.item.handler.settings().effect != Effect::None {
        // The model may have intended two effects, so it learns that there was one.
        content.push(Part::text(
            "[You made this call more than once in one turn. It was run once, and this is its \
             result. To run it again, call it again in your next turn.]",
        ));
    }
    let result = CallResult {
        outcome: Outcome {
            call_id: state.call.id.clone(),
            name: Some(state.call.name.clone()),
            content,
            error: first.outcome.error,
        },
        changes: state.changes.clone(),
        attempts: 0,
        source: ResultSource::Duplicate,
        ..first.clone()
    };
    audit::done(toolbox, session, &state, &result);
    CallStatus::Done(result)
}
