//! This process as the host of a driver: of a run, or of a plan within the call of a tool.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use toolwright_core::Json;
use toolwright_runtime::handle;
use toolwright_runtime::output::Content;
use toolwright_runtime::toolbox::StepTool;

use crate::plan::{Plan, PlannedCall, StepError};

use super::RunningCalls;
use crate::run::call::{self, CallEnd, CallScope};
use crate::run::drive::{Answered, Host, Message};
use crate::run::event::PlanEventKind;
use crate::run::journal::{Entry, EntryEvent, PlanJournalError};
use crate::run::memory::Reservation;
use crate::run::replay::{Place, Replay};
use crate::run::scope::{call_id, join};
use crate::run::start::now_ms;

/// This process as a host.
pub(super) struct LocalHost {
    pub(super) plan: Arc<Plan>,
    /// The tool of each step
    pub(super) tools: Vec<StepTool>,
    pub(super) calls: CallScope,
    /// Messages to the driver, if the plan is that of a run or within one
    pub(super) messages: Option<Mutex<mpsc::UnboundedReceiver<Message>>>,
    /// The calls in progress, for reports
    pub(super) running: RunningCalls,
    /// The memory of the plan's values
    pub(super) memory: Arc<Reservation>,
}

impl LocalHost {
    /// Fills the slots that recorded steps have filled, if their values are lost: they may have ended with the process.
    pub(super) async fn restore_slots(&self, replay: &Replay) {
        let scope = &self.calls;
        let Some(store) = scope.toolbox.handles() else { return };
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (step, tool) in self.tools.iter().enumerate() {
            if let Some(slot) = tool.slot().filter(|_| replay.recorded_output(step).is_some()) {
                last.insert(slot, step);
            }
        }
        for (slot, step) in last {
            if let Some(output) = replay.recorded_output(step)
                && !handle::has_slot(slot, &scope.session.owner(), store).await
            {
                self.use_output(step, output).await;
            }
        }
    }
}

impl Host for LocalHost {
    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn is_stopping(&self) -> bool {
        self.calls.stop.is_cancelled()
    }

    fn is_cancelled(&self) -> bool {
        self.calls.cancel().is_cancelled()
    }

    fn cancel_calls(&self) {
        self.calls.cancel().cancel();
    }

    fn attempts(&self) -> &AtomicU64 {
        &self.calls.attempts
    }

    async fn call(&self, call: PlannedCall, answered: Answered) -> (PlannedCall, CallEnd) {
        let (step, tool) = (&self.plan.steps[call.step], &self.tools[call.step]);
        let end = call::make(&self.calls, step, tool, &call, answered).await;
        (call, end)
    }

    async fn record(&self, entry: Entry) -> Result<(), PlanJournalError> {
        let Some(run) = &self.calls.run else { return Ok(()) };
        let path = self.calls.path();
        if matches!(entry.event, EntryEvent::Succeeded { .. } | EntryEvent::Failed { .. }) {
            run.forget(&join(path, &call_id(&entry.step, entry.item)));
        }
        run.record(path, entry).await
    }

    async fn reserve(&self, bytes: usize) -> Result<(), StepError> {
        self.memory.grow(bytes).await
    }

    fn release(&self, bytes: usize) {
        self.memory.shrink(bytes);
    }

    async fn message(&self, is_idle: bool) -> Option<Message> {
        let (Some(run), Some(messages)) = (&self.calls.run, &self.messages) else {
            return if is_idle { None } else { std::future::pending().await };
        };
        let mut messages = messages.lock().await;
        if is_idle {
            return run.leave(self.calls.path(), &mut messages);
        }
        let stop = &self.calls.stop;
        tokio::select! {
            Some(message) = messages.recv() => Some(message),
            () = stop.cancelled(), if !stop.is_cancelled() => Some(Message::Wake),
        }
    }

    async fn sleep(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// Fills the slot of a tool with an output that it did not return itself.
    async fn use_output(&self, step: usize, output: &Json) {
        if let (Some(slot), Some(store)) = (self.tools[step].slot(), self.calls.toolbox.handles()) {
            let piece = Content::json(output.clone()).into();
            let owner = self.calls.session.owner();
            // The call that reads the slot says if it is empty.
            drop(handle::put_in_slot(slot, vec![piece], &owner, store).await);
        }
    }

    fn publish(&self, running: Vec<(Place, u64)>, _is_waiting: bool) {
        *self.running.lock() = running;
    }

    fn emit(&self, event: PlanEventKind) {
        (self.calls.emit)(event);
    }
}
