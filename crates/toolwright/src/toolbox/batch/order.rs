//! Which calls of a turn must wait for others: those that share context with an earlier one, if one
//! of the two changes it.

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::Need;
use crate::toolbox::pipeline::{PreparedCall, RunnableCall};

/// When a call may begin.
#[derive(Default)]
pub(super) struct Turn {
    /// The calls before it, by what tells their end
    after: Vec<CancellationToken>,
    /// What tells its own end, if anyone waits for it
    end: Option<CancellationToken>,
}

impl Turn {
    /// Waits, and gives what tells the end when it is dropped.
    pub(super) async fn wait(self) -> Option<DropGuard> {
        let end = self.end.map(CancellationToken::drop_guard);
        for earlier in &self.after {
            earlier.cancelled().await;
        }
        end
    }
}

/// Whether one of the calls after the `first` changes the context that a call works with, or the
/// call that of theirs.
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

/// When each of some calls may begin.
pub(super) fn turns(calls: &[(usize, PreparedCall<'_>)]) -> Vec<Turn> {
    let needs: Vec<&[Need]> = calls
        .iter()
        .map(|(_, prepared)| match &prepared.runnable {
            // What asks a person first does not run in this turn.
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
                // It needs the same, so it waits itself for all the others that we would.
                if *own == needs[earlier] {
                    break;
                }
            }
        }
    }
    turns
}
