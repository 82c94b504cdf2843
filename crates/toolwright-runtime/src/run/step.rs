//! Advances a run step by step. Pending operations are stored in the run, so that dropping the
//! future of a step loses nothing.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};
use toolwright_core::event::join::Joiner;
use toolwright_core::{Event, Fault, FaultClass, Request, Response};

use super::error::RunError;
use super::event::RunEvent;
use super::limit::Limit;
use super::repetition::RepeatedFailure;
use super::state::{Slot, Stage};
use super::turn::{self, Next};
use super::{Run, agent};
use crate::call::CallStatus;
use crate::model::EventStream;
use crate::session::Session;

pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The pending operation of a run.
pub(super) enum Phase {
    /// None
    Idle,
    /// A streaming request was sent
    Asking(Boxed<Result<EventStream, Fault>>),
    /// The response is streaming
    Streaming(EventStream, Box<Joiner>),
    /// A request for a complete response was sent
    Responding(Boxed<Result<Response, Fault>>),
    /// Calls are running, each with its index in the turn
    Calling(Boxed<Vec<(usize, CallStatus)>>),
}

/// Why a wait was interrupted.
enum Interrupt {
    Cancelled,
    Deadline(Limit),
}

/// The outcome text of calls that did not run because the run ended.
const CANCELLED: &str = "The run was cancelled before this call had an outcome.";
pub(super) const LIMIT: &str = "The run reached its limit before this call was made. Nothing was \
                                done.";

impl Run {
    /// Runs one step. Returns whether there is more to do.
    pub(super) fn advance(&mut self) -> BoxFuture<'_, Result<bool, RunError>> {
        Box::pin(async move {
            if let Some(error) = &self.stopped {
                return Err(error.clone());
            }
            let deadline = self.deadline();
            match &mut self.phase {
                Phase::Idle => self.begin(),
                Phase::Asking(asked) => match interruptible(&self.session, deadline, asked).await {
                    Ok(answer) => {
                        self.phase = Phase::Idle;
                        self.phase = Phase::Streaming(answer?, Box::default());
                        Ok(true)
                    }
                    Err(interrupt) => self.interrupted(interrupt),
                },
                Phase::Responding(asked) => {
                    match interruptible(&self.session, deadline, asked).await {
                        Ok(answer) => {
                            self.phase = Phase::Idle;
                            self.on_response(answer?)
                        }
                        Err(interrupt) => self.interrupted(interrupt),
                    }
                }
                Phase::Streaming(stream, _) => {
                    match interruptible(&self.session, deadline, stream.next()).await {
                        Ok(event) => self.on_event(event),
                        Err(interrupt) => self.interrupted(interrupt),
                    }
                }
                Phase::Calling(calls) => {
                    match interruptible(&self.session, deadline, &mut *calls).await {
                        Ok(called) => {
                            self.phase = Phase::Idle;
                            self.record(called);
                            Ok(true)
                        }
                        Err(interrupt) => {
                            // The toolbox ends its calls itself and returns a result for each.
                            self.session.cancel.cancel();
                            let called = calls.await;
                            self.record(called);
                            self.interrupted(interrupt)
                        }
                    }
                }
            }
        })
    }

    /// Chooses the next operation when none is pending.
    fn begin(&mut self) -> Result<bool, RunError> {
        if self.session.cancel.is_cancelled() {
            return self.interrupted(Interrupt::Cancelled);
        }
        if let Some(pending) = &self.state.pending {
            let own = |slot: &&Slot| !self.agent.is_for_client(&slot.call);
            let stages = || pending.slots.iter().filter(own).map(|slot| &slot.stage);
            if stages().any(|stage| matches!(stage, Stage::Open | Stage::Answered(..))) {
                return self.make_calls();
            }
            let waits = stages().any(|stage| matches!(stage, Stage::Waiting(_)));
            if let Some(error) = self.stopping.take() {
                return self.give_up(error, LIMIT);
            }
            if waits {
                return Ok(false);
            }
            match self.state.end {
                Some(_) => self.state.hand_over(),
                None => self.state.close_turn(LIMIT),
            }
            let turn = self.state.spent.turns;
            self.emit(|| RunEvent::TurnDone { turn });
            self.emit_finished();
            return Ok(true);
        }
        if self.state.end.is_some() {
            return Ok(false);
        }
        self.state.spent.before_turn(&self.limits)?;
        self.ask();
        Ok(true)
    }

    /// Sends a request to the model.
    fn ask(&mut self) {
        let said = Request::new(self.state.messages.iter().cloned());
        let mut request = Request { messages: said.messages, ..self.agent.request.clone() };
        request.instructions = request.instructions.or(said.instructions);
        request.tools.extend(self.agent.toolbox.tools_for(&self.session.caller));
        if self.state.spent.calls > 0 {
            request.tool_choice = request.tool_choice.map(agent::relaxed);
        }
        let model = self.model.clone();
        let turn = self.state.spent.turns + 1;
        self.emit(|| RunEvent::TurnStarted { turn });
        self.phase = if self.following {
            Phase::Asking(Box::pin(async move { model.stream(request).await }))
        } else {
            Phase::Responding(Box::pin(async move { model.respond(request).await }))
        };
    }

    /// Processes one event of a stream.
    fn on_event(&mut self, event: Option<Event>) -> Result<bool, RunError> {
        let done = matches!(event, None | Some(Event::End | Event::Fault(_)));
        if let Some(event) = &event {
            self.emit(|| RunEvent::Model(event.clone()));
        }
        let broken = event.is_none();
        if let (Phase::Streaming(_, joiner), Some(event)) = (&mut self.phase, event) {
            joiner.push(event);
        }
        if !done {
            return Ok(true);
        }
        let Phase::Streaming(_, joiner) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok(true);
        };
        if broken {
            // A truncated response is discarded, because its last call may be incomplete.
            return Err(Fault::new(FaultClass::Internal, "the response was interrupted").into());
        }
        self.on_response(joiner.finish().map_err(RunError::Model)?)
    }

    /// Processes a complete response.
    fn on_response(&mut self, mut response: Response) -> Result<bool, RunError> {
        self.state.spent.turns += 1;
        let turn = self.state.spent.turns;
        if let Some(usage) = &response.usage {
            self.state.spent.usage.add(usage);
        }
        let next = turn::read(&mut response, &self.state.call_ids(), turn);
        self.emit(|| RunEvent::Answered(response.clone()));
        if let Next::Calls(pending) = next {
            // A response with a call for the client is the last.
            let handed = response.calls().any(|call| self.agent.is_for_client(call));
            self.state.end = handed.then_some(response);
            self.state.pending = Some(pending);
            return Ok(true);
        }
        if let Next::Failed(fault) = next {
            return Err(fault.into());
        }
        // A message without parts is invalid in most dialects.
        if !response.parts.is_empty() {
            self.state.messages.push(response.message());
        }
        self.emit(|| RunEvent::TurnDone { turn });
        match next {
            Next::End => {
                self.state.end = Some(response);
                self.emit_finished();
            }
            Next::Malformed => {
                self.state.messages.push(turn::malformed_call());
                let counted = self.state.failures.count_malformed(self.limits.repeats);
                if let Err(error) = counted {
                    return self.give_up(stuck(error), LIMIT);
                }
            }
            Next::Again | Next::Calls(_) | Next::Failed(_) => {}
        }
        Ok(true)
    }

    /// Ends the run after a cancellation or a timeout.
    fn interrupted(&mut self, interrupt: Interrupt) -> Result<bool, RunError> {
        self.phase = Phase::Idle;
        match interrupt {
            Interrupt::Cancelled => self.give_up(RunError::Cancelled, CANCELLED),
            Interrupt::Deadline(limit) => self.give_up(limit.into(), LIMIT),
        }
    }

    /// Ends the run with a valid conversation: each call gets an outcome.
    pub(super) fn give_up(&mut self, error: RunError, why: &str) -> Result<bool, RunError> {
        self.state.close_turn(why);
        self.stopped = Some(error.clone());
        Err(error)
    }

    /// Emits the final event, if the run has finished.
    fn emit_finished(&mut self) {
        if let Some(finished) = self.following.then(|| self.finished()).flatten() {
            self.events.push_back(RunEvent::Finished(Box::new(finished)));
        }
    }

    /// Emits an event, if events are requested.
    pub(super) fn emit(&mut self, event: impl FnOnce() -> RunEvent) {
        if self.following {
            self.events.push_back(event());
        }
    }

    /// Returns when the run must end, and by which limit.
    fn deadline(&self) -> Option<(Instant, Limit)> {
        let most = self.limits.duration?;
        let left = most.saturating_sub(self.state.spent.earlier);
        // A duration that overflows the clock is no limit.
        Some((self.begun.checked_add(left)?, Limit::Duration(most)))
    }
}

/// Returns the error of a run whose model repeats a failing call.
pub(super) fn stuck(error: RepeatedFailure) -> RunError {
    RunError::Stuck { tool: error.tool, times: error.times }
}

/// Awaits a future, unless the run is cancelled or its deadline passes.
async fn interruptible<T>(
    session: &Session,
    deadline: Option<(Instant, Limit)>,
    work: impl Future<Output = T>,
) -> Result<T, Interrupt> {
    let over = async {
        match deadline {
            Some((instant, limit)) => {
                sleep_until(instant).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = session.cancel.cancelled() => Err(Interrupt::Cancelled),
        limit = over => Err(Interrupt::Deadline(limit)),
    }
}
