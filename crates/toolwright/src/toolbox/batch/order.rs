//! Orders the calls of a turn: a call waits for earlier calls that share context with it, if one of
//! the two changes it.

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::Need;
use crate::toolbox::pipeline::{PreparedCall, RunnableCall};

/// When a call may start.
#[derive(Default)]
pub(super) struct Turn {
    /// The tokens of the calls that must end before
    after: Vec<CancellationToken>,
    /// The token that is cancelled when this call ends, if another waits for it
    end: Option<CancellationToken>,
}

impl Turn {
    /// Waits for the earlier calls. The returned guard marks the end of this call when it is
    /// dropped.
    pub(super) async fn wait(self) -> Option<DropGuard> {
        let end = self.end.map(CancellationToken::drop_guard);
        for earlier in &self.after {
            earlier.cancelled().await;
        }
        end
    }
}

/// Whether one of the calls after `first` and the given call share context that one of them
/// changes.
pub(super) fn changes_between(
    calls: &[(usize, PreparedCall<'_>)],
    first: usize,
    runnable: &RunnableCall,
) -> bool {
    let own = runnable.item.handler.needs();
    calls.iter().filter(|(position, _)| *position > first).any(|(_, prepared)| {
        prepared.runnable.as_ref().is_ok_and(|other| collide(own, other.item.handler.needs()))
    })
}

fn collide(own: &[Need], others: &[Need]) -> bool {
    own.iter().any(|need| others.iter().any(|other| need.excludes(other)))
}

/// Returns when each call may start.
pub(super) fn turns(calls: &[(usize, PreparedCall<'_>)]) -> Vec<Turn> {
    let needs: Vec<&[Need]> = calls
        .iter()
        .map(|(_, prepared)| match &prepared.runnable {
            // A call that needs approval does not run in this turn.
            Ok(runnable) if runnable.ask.is_none() => runnable.item.handler.needs(),
            _ => &[],
        })
        .collect();
    let mut turns: Vec<Turn> = calls.iter().map(|_| Turn::default()).collect();
    for (index, own) in needs.iter().enumerate() {
        for earlier in (0..index).rev() {
            if collide(own, needs[earlier]) {
                let end = turns[earlier].end.get_or_insert_default().clone();
                turns[index].after.push(end);
                // The earlier call has the same needs, so it already waits for all calls before it.
                if *own == needs[earlier] {
                    break;
                }
            }
        }
    }
    turns
}
