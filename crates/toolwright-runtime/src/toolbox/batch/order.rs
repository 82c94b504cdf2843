//! Orders the calls of a turn: a call waits for earlier calls that share context or a slot with it, if one of
//! the two changes it.

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::Need;
use crate::error::{CallError, CallErrorKind};
use crate::settings::Fill;
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

/// Whether one of the calls after `first` and the given call share context or a slot that one of
/// them changes.
pub(super) fn changes_between(
    calls: &[(usize, PreparedCall<'_>)],
    first: usize,
    runnable: &RunnableCall,
) -> bool {
    let own = Shared::of(runnable);
    calls.iter().filter(|(position, _)| *position > first).any(|(_, prepared)| {
        prepared.runnable.as_ref().is_ok_and(|other| own.collides(&Shared::of(other)))
    })
}

/// What a call shares with other calls.
#[derive(Default, PartialEq, Eq)]
struct Shared<'r> {
    needs: &'r [Need],
    /// The slot that the call writes
    writes: Option<&'r str>,
    /// The slots that the call reads
    reads: Vec<&'r str>,
}

impl<'r> Shared<'r> {
    fn of(runnable: &'r RunnableCall) -> Shared<'r> {
        let handler = &runnable.item.handler;
        let settings = handler.settings();
        let slot = |(_, fill): &'r (String, Fill)| match fill {
            Fill::Slot(fill) => Some(fill.slot.as_str()),
            _ => None,
        };
        Shared {
            needs: handler.needs(),
            writes: settings.slot.as_ref().map(|output| output.slot.as_str()),
            reads: settings.fills.iter().filter_map(slot).collect(),
        }
    }

    /// Whether one of the two calls changes what the other one uses.
    fn collides(&self, other: &Shared<'_>) -> bool {
        let excludes = |need: &Need| other.needs.iter().any(|other| need.excludes(other));
        self.needs.iter().any(excludes) || self.collides_in_slot(other)
    }

    /// Whether one of the two calls changes a slot that the other one uses.
    fn collides_in_slot(&self, other: &Shared<'_>) -> bool {
        let changes = |one: &Shared<'_>, other: &Shared<'_>| {
            one.writes.is_some_and(|slot| other.writes == Some(slot) || other.reads.contains(&slot))
        };
        changes(self, other) || changes(other, self)
    }
}

/// Refuses each call that would run before an earlier one that waits for approval, if one of the two changes a slot
/// that the other one uses.
pub(super) fn refuse_before_approval(calls: &mut [(usize, PreparedCall<'_>)]) {
    for index in 1..calls.len() {
        let (earlier, later) = calls.split_at_mut(index);
        let Some((_, PreparedCall { runnable, .. })) = later.first_mut() else { continue };
        let Some(own) = runnable.as_ref().ok().filter(|own| own.ask.is_none()) else { continue };
        let shared = Shared::of(own);
        let waits = |other: &&RunnableCall| {
            other.ask.is_some() && shared.collides_in_slot(&Shared::of(other))
        };
        let mut earlier = earlier.iter().filter_map(|(_, other)| other.runnable.as_ref().ok());
        if let Some(other) = earlier.find(waits) {
            let (tool, other) = (&own.item.name, &other.item.name);
            let text = format!(
                "{tool} was not run: it uses the same stored data as {other}, which waits for the approval of a \
                 person. Call {tool} again after the result of {other}."
            );
            *runnable = Err(CallError::new(CallErrorKind::EmptySlot, text));
        }
    }
}

/// Returns when each call may start.
pub(super) fn turns(calls: &[(usize, PreparedCall<'_>)]) -> Vec<Turn> {
    let shared: Vec<Shared<'_>> = calls
        .iter()
        .map(|(_, prepared)| match &prepared.runnable {
            // A call that needs approval does not run in this turn.
            Ok(runnable) if runnable.ask.is_none() => Shared::of(runnable),
            _ => Shared::default(),
        })
        .collect();
    let mut turns: Vec<Turn> = calls.iter().map(|_| Turn::default()).collect();
    for (index, own) in shared.iter().enumerate() {
        for earlier in (0..index).rev() {
            if own.collides(&shared[earlier]) {
                let end = turns[earlier].end.get_or_insert_default().clone();
                turns[index].after.push(end);
                // The earlier call shares the same, so it already waits for all calls before it.
                if *own == shared[earlier] {
                    break;
                }
            }
        }
    }
    turns
}
