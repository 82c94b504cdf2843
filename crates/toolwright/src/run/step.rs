//! What moves a run on, one step at a time. Whatever is under way is kept in the run, so that
//! giving up a wait loses nothing.

use std::future::Future;
use std::pin::Pin;

use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};
use toolwright_core::event::join::Joiner;
use toolwright_core::{Event, Fault, FaultClass, Request, Response};

use super::Run;
use super::agent;
use super::error::RunError;
use super::event::RunEvent;
use super::limit::Limit;
use super::repetition::RepeatedFailure;
use super::state::{Slot, Stage};
use super::turn::{self, Next};
use crate::call::CallStatus;
use crate::model::EventStream;
use crate::session::Session;

pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What is under way.
pub(super) enum Phase {
    /// Nothing
    Idle,
    /// The model was asked for a stream
    Asking(Boxed<Result<EventStream, Fault>>),
    /// The answer arrives
    Streaming(EventStream, Box<Joiner>),
    /// The model was asked for a whole answer
    Responding(Boxed<Result<Response, Fault>>),
    /// Calls run, each with its place among the calls of the turn
    Calling(Boxed<Vec<(usize, CallStatus)>>),
}

/// Why a wait was given up.
enum Interrupt {
    Cancelled,
    Deadline(Limit),
}

/// What is said of calls that were not made because the run ended.
const CANCELLED: &str = "The run was cancelled before this call had an outcome.";
pub(super) const LIMIT: &str = "The run met its limit before this call was made. Nothing was done.";

impl Run {
    /// One step. Gives whether there is more to do now.
    pub(super) async fn advance(&mut self) -> Result<bool, RunError> {
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
            Phase::Responding(asked) => match interruptible(&self.session, deadline, asked).await {
                Ok(answer) => {
                    self.phase = Phase::Idle;
                    self.on_response(answer?)
                }
                Err(interrupt) => self.interrupted(interrupt),
            },
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
                        // The toolbox ends its calls by itself and says what came of each.
                        self.session.cancel.cancel();
                        let called = calls.await;
                        self.record(called);
                        self.interrupted(interrupt)
                    }
                }
            }
        }
    }

    /// Decides what to do when nothing is under way.
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

    /// Asks the model.
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

    /// Takes one event of a stream.
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
            // Half an answer is none: its last call may lack its end.
            return Err(Fault::new(FaultClass::Internal, "the answer broke off").into());
        }
        self.on_response(joiner.finish().map_err(RunError::Model)?)
    }

    /// Takes a whole answer.
    fn on_response(&mut self, mut response: Response) -> Result<bool, RunError> {
        self.state.spent.turns += 1;
        let turn = self.state.spent.turns;
        if let Some(usage) = &response.usage {
            self.state.spent.usage.add(usage);
        }
        let next = turn::read(&mut response, &self.state.call_ids(), turn);
        self.emit(|| RunEvent::Answered(response.clone()));
        if let Next::Calls(pending) = next {
            // With a call that is not for the toolbox, this answer is the last.
            let handed = response.calls().any(|call| self.agent.is_for_client(call));
            self.state.end = handed.then_some(response);
            self.state.pending = Some(pending);
            return Ok(true);
        }
        if let Next::Failed(fault) = next {
            return Err(fault.into());
        }
        // A message without parts is illegal in most dialects.
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

    /// Ends the run because it was cancelled or deadline.
    fn interrupted(&mut self, interrupt: Interrupt) -> Result<bool, RunError> {
        self.phase = Phase::Idle;
        match interrupt {
            Interrupt::Cancelled => self.give_up(RunError::Cancelled, CANCELLED),
            Interrupt::Deadline(limit) => self.give_up(limit.into(), LIMIT),
        }
    }

    /// Ends the run with a legal conversation: each call gets an outcome.
    pub(super) fn give_up(&mut self, error: RunError, why: &str) -> Result<bool, RunError> {
        self.state.close_turn(why);
        self.stopped = Some(error.clone());
        Err(error)
    }

    /// Tells whoever follows that the run is done, if it is.
    fn emit_finished(&mut self) {
        if let Some(finished) = self.following.then(|| self.finished()).flatten() {
            self.events.push_back(RunEvent::Finished(Box::new(finished)));
        }
    }

    /// Tells whoever follows.
    pub(super) fn emit(&mut self, event: impl FnOnce() -> RunEvent) {
        if self.following {
            self.events.push_back(event());
        }
    }

    /// When the run must end, and by which limit.
    fn deadline(&self) -> Option<(Instant, Limit)> {
        let most = self.limits.duration?;
        let left = most.saturating_sub(self.state.spent.earlier);
        // Longer than time can be told is no bound.
        Some((self.begun.checked_add(left)?, Limit::Duration(most)))
    }
}

/// Why a run ends whose model repeats itself.
pub(super) fn stuck(error: RepeatedFailure) -> RunError {
    RunError::Stuck { tool: error.tool, times: error.times }
}

/// Waits, unless the run is cancelled or its time is over.
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
