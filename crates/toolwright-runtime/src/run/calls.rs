//! Runs the calls of a turn with the toolbox and records their results.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use toolwright_core::Call;

use super::Run;
use super::error::RunError;
use super::event::{HostOutput, RunEvent};
use super::limit::Limit;
use super::state::{Slot, Stage, skipped};
use super::step::{Boxed, LIMIT, Phase, stuck};
use crate::call::{Answer, Approval, CallStatus, Completeness};
use crate::handle;
use crate::session::Session;
use crate::toolbox::Toolbox;

/// The position of a call in its turn, the question about it, and the answer.
type AnsweredCall = (usize, Approval, Answer);

impl Run {
    /// Starts the calls that are open and those that a person has answered.
    pub(super) fn make_calls(&mut self) -> Result<bool, RunError> {
        if let Err(limit) = self.state.spent.tokens(&self.limits) {
            return self.give_up(limit.into(), LIMIT);
        }
        let mut left = self.state.spent.calls_left(&self.limits);
        let Some(pending) = &mut self.state.pending else { return Ok(true) };
        let mut chosen = Vec::new();
        for (at, slot) in pending.slots.iter_mut().enumerate() {
            match slot.stage {
                Stage::Open if self.agent.is_for_client(&slot.call) => {}
                Stage::Open if left == 0 => {
                    slot.stage = Stage::Done(skipped(&slot.call, LIMIT));
                    let most = self.limits.calls.unwrap_or_default();
                    self.stopping = Some(Limit::Calls(most).into());
                }
                Stage::Open => {
                    left -= 1;
                    self.state.spent.calls = self.state.spent.calls.saturating_add(1);
                    chosen.push((at, slot.clone()));
                }
                Stage::Answered(..) => chosen.push((at, slot.clone())),
                Stage::Waiting(_) | Stage::Done(_) => {}
            }
        }
        for (_, slot) in &chosen {
            self.emit(|| RunEvent::CallStarted(slot.call.clone()));
        }
        self.session.turn = u64::from(self.state.spent.turns);
        let (toolbox, session) = (self.agent.toolbox.clone(), self.session.clone());
        self.phase = Phase::Calling(Box::pin(make(toolbox, session, chosen)));
        Ok(true)
    }

    /// Records the results of calls.
    pub(super) fn record(&mut self, called: Vec<(usize, CallStatus)>) {
        for (at, called) in called {
            let slots = self.state.pending.as_mut().map(|pending| &mut pending.slots);
            let Some(slot) = slots.and_then(|slots| slots.get_mut(at)) else { continue };
            let mut done = match called {
                CallStatus::Done(done) => done,
                CallStatus::Waiting(approval) => {
                    slot.stage = Stage::Waiting(approval.clone());
                    self.emit(|| RunEvent::ApprovalNeeded(approval));
                    continue;
                }
            };
            done.outcome.call_id.clone_from(&slot.call.id);
            done.outcome.name = Some(slot.call.name.clone());
            let most = self.limits.repeats;
            let counted =
                self.state.failures.count(&slot.call, &mut done.outcome, done.error.as_ref(), most);
            if let Err(error) = counted {
                self.stopping = Some(stuck(error));
            }
            if let (Some(value), Some(id)) = (&done.host, &slot.call.id) {
                let (call_id, tool) = (id.clone(), slot.call.name.clone());
                self.host.push(HostOutput { call_id, tool, value: value.clone() });
            }
            if let (None, Some(id)) = (&done.error, &slot.call.id) {
                self.state.outputs.insert(id.clone(), handle::write_output(done.output()));
            }
            slot.stage = Stage::Done(done.outcome.clone());
            self.emit(|| RunEvent::CallDone(done));
        }
    }
}

/// Runs calls concurrently.
async fn make(
    toolbox: Toolbox,
    session: Session,
    slots: Vec<(usize, Slot)>,
) -> Vec<(usize, CallStatus)> {
    let mut work: Vec<Boxed<Vec<(usize, CallStatus)>>> = Vec::new();
    let mut open: Vec<(Completeness, Vec<usize>, Vec<Call>)> = Vec::new();
    let mut answered: BTreeMap<Option<Arc<str>>, Vec<AnsweredCall>> = BTreeMap::new();
    for (at, Slot { call, completeness, stage }) in slots {
        if let Stage::Answered(approval, answer) = stage {
            // Equal calls share a key, so they run one after another, and the second gets the result
            // of the first. So do all calls of tools that use slots, in the order of the model.
            let uses_slots = toolbox.uses_slots(&call.name).await;
            let group = (!uses_slots).then(|| approval.key.clone());
            answered.entry(group).or_default().push((at, approval, answer));
            continue;
        }
        match open.iter_mut().find(|batch| batch.0 == completeness) {
            Some((_, places, calls)) => {
                places.push(at);
                calls.push(call);
            }
            None => open.push((completeness, vec![at], vec![call])),
        }
    }
    for group in answered.into_values() {
        let (toolbox, session) = (toolbox.clone(), session.clone());
        work.push(Box::pin(async move {
            let mut called = Vec::with_capacity(group.len());
            for (at, approval, answer) in group {
                called.push((at, toolbox.answer(&session, &approval, answer).await));
            }
            called
        }));
    }
    for (completeness, places, calls) in open {
        let (toolbox, session) = (toolbox.clone(), session.clone());
        work.push(Box::pin(async move {
            let called = toolbox.call_all(&session, &calls, completeness).await;
            places.into_iter().zip(called).collect()
        }));
    }
    let mut called: Vec<_> = join_all(work).await.into_iter().flatten().collect();
    called.sort_by_key(|(at, _)| *at);
    called
}
