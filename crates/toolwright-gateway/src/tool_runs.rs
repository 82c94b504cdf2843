//! Runs tools for a request: asks the model, executes its calls and asks it again, until there is a reply
//! for the client.
//!
//! ```text
//! request → tools → saved_runs (an earlier attempt) → pending_turns
//!         → run: fallback_model ⇄ toolbox → run_view
//! ```
//!
//! A run that may be retried is saved after each reply of the model, before its calls are executed, and
//! again after them. Its calls continue if the client disconnects, so that the next attempt knows their
//! outcomes.
//!
//! A run with a call that needs approval is saved for its conversation, and the reply names the approval. The
//! next request of the conversation continues it.

pub mod effects;
mod events;
pub mod fallback_model;
pub mod identity;
pub mod named_servers;
pub mod pending_turns;
pub mod run_view;
pub mod saved_runs;
mod suspend;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio_util::sync::{CancellationToken, DropGuard};
use toolwright_core::event::split::split;
use toolwright_core::{Body, Call, Event, Fault, FaultClass, Message, Request, Response};
use toolwright_dialects::dialect;
use toolwright_runtime::context::Context as RunContext;
use toolwright_runtime::handle::HandleStore;
use toolwright_runtime::model::EventStream;
use toolwright_runtime::run::{RunError, RunEvent, RunResult};
use toolwright_runtime::{Agent, Caller, Effect, Limits, Model, Run, Toolbox};

use self::effects::Effects;
use self::events::run_events;
use self::named_servers::NamedServers;
use self::pending_turns::PendingTurns;
use self::run_view::{GAP, RunView};
use self::saved_runs::{Claim, Record, SavedRuns, WaitingClaim};
use crate::approvals::{self, ApprovalRecord, Approvals};
use crate::conversation::{ConversationId, Conversations};
use crate::fault;
use crate::inputs::Inputs;
use crate::journal::EffectJournal;
use crate::telemetry::{RequestId, RunRecord};

/// Stores for runs of tools, which outlive a request.
#[derive(Clone)]
pub struct RunStores {
    /// Turns that clients did not see
    pub pending_turns: Arc<PendingTurns>,
    /// Saved runs, for retries
    pub saved: Arc<SavedRuns>,
    /// The journal of effects
    pub journal: Arc<EffectJournal>,
    /// The conversations of calls
    pub conversations: Arc<Conversations>,
    /// Values behind handles
    pub handles: Arc<dyn HandleStore>,
    /// Calls that wait for approval
    pub approvals: Arc<Approvals>,
    /// Input that running tools wait for
    pub inputs: Arc<Inputs>,
}

/// The parts of a run for a client.
pub struct Job {
    /// The id of the request and of the run
    pub id: RequestId,
    /// The client
    pub caller: Caller,
    /// The conversation of the request
    pub conversation: ConversationId,
    /// The model
    pub model: Model,
    /// The tools
    pub toolbox: Toolbox,
    /// Context for the tools
    pub context: RunContext,
    /// Limits on turns, calls and duration
    pub limits: Limits,
    /// Records the run
    pub run_record: RunRecord,
    /// The stores of the gateway
    pub stores: Arc<RunStores>,
    /// The claim on the saved run, if the request may be retried
    pub claim: Option<Claim>,
    /// The claim on the run of the conversation that waits for approval
    pub waiting: Option<WaitingClaim>,
    /// The approvals that the run waits for, for the head of the reply
    pub approval: Arc<OnceLock<String>>,
    /// The effects of its tools
    pub effects: Effects,
    /// Servers that the request names
    pub named: NamedServers,
}

/// A run for a client. Dropping it ends the run and its calls.
pub struct ToolRun {
    run: Run,
    view: RunView,
    run_record: RunRecord,
    stores: Arc<RunStores>,
    caller: Caller,
    conversation: ConversationId,
    /// The number of messages in the request
    given: usize,
    /// Tokens that were charged to earlier attempts
    paid: u64,
    toolbox: Toolbox,
    claim: Option<Claim>,
    _waiting: Option<WaitingClaim>,
    /// Whether the run is saved for its conversation
    is_saved: bool,
    /// Whether calls have to be continued before the model is asked
    has_open_calls: bool,
    /// Whether the reply begins with what an earlier attempt produced
    replays: bool,
    /// Messages of the user since the run waited
    later: Vec<Message>,
    /// The approvals that the run waits for
    pending: Vec<ApprovalRecord>,
    /// The last response of the model in this request, with its text alone
    last: Response,
    approval: Arc<OnceLock<String>>,
    effects: Effects,
    named: NamedServers,
    /// Calls of these servers that have no result yet, with the approvals that they wait for
    named_calls: HashMap<String, (Call, Option<String>)>,
    _end: DropGuard,
}

impl Job {
    /// Starts the run for a request.
    pub fn begin(mut self, mut request: Request) -> Result<Box<ToolRun>, Fault> {
        if let Some(both) = request.tools.iter().find(|own| self.toolbox.contains(&own.name)) {
            return Err(twice(&both.name));
        }
        let attempt = self.claim.as_mut().and_then(|claim| claim.found.take());
        let waiting = self.waiting.as_mut().and_then(|claim| claim.found.take());
        let replays = attempt.is_some();
        let (found, is_saved) = match (attempt, waiting) {
            // Another request of the conversation may have continued the run since the attempt.
            (Some(attempt), Some(waiting)) if waiting.is_same_run(&attempt) => {
                (Some(waiting), true)
            }
            (Some(attempt), _) => (Some(attempt), false),
            (None, Some(waiting)) => (Some(waiting), true),
            (None, None) => (None, false),
        };
        if found.is_none() {
            let scope = (&*self.caller.id, self.conversation.as_str());
            self.stores.pending_turns.recall(scope, &mut request, Instant::now());
        }
        let mut view = RunView::new(&request);
        let messages = std::mem::take(&mut request.messages);
        // The model is the client's alias; each candidate has its own name.
        let model = request.model.take();
        let toolbox = self.toolbox.with_journal(self.stores.journal.shared());
        let toolbox = toolbox.with_handles(Arc::clone(&self.stores.handles));
        let cancel = CancellationToken::new();
        let caller = self.caller.clone();
        let agent = Agent::new("gateway")
            .with_request(request)
            .with_tools(toolbox.clone())
            .with_model(self.model);
        let (start, given, messages) =
            if let Some(Record { given, upstream, effects, run, .. }) = found {
                self.effects.restore(effects);
                if let Some((id, dialect)) = upstream {
                    self.run_record.set_upstream(&id, dialect.and_then(dialect::codec));
                }
                // A run that is continued has its own messages.
                (agent.resume(&run).map_err(failed)?, given, messages)
            } else {
                let given = messages.len();
                let start =
                    agent.run(messages).with_id(self.id.to_string()).with_caller(self.caller);
                (start.with_conversation(self.conversation.shared()), given, Vec::new())
            };
        let start = start.with_context(self.context).with_limits(self.limits);
        let run = start.with_cancel(cancel.clone()).build().map_err(failed)?;
        let later = approvals::after_notice(&messages, run.waiting());
        // A retry repeats what an earlier attempt reported; another request does not.
        let paid = if replays { run.usage().total() } else { 0 };
        if !replays {
            view.set_reported(run.usage().clone());
        }
        let has_open_calls = run.waiting().next().is_some();
        view.add_own(self.named.take_lists());
        // A run that is continued may have results that no reply had.
        view.add_own(self.named.unseen(run.messages().get(given..).unwrap_or_default()));
        let named = run.waiting().filter(|own| self.named.has(&own.call.name));
        let named_calls = named.map(|own| {
            let id = own.call.id.clone().unwrap_or_default();
            (id, (own.call.clone(), Some(approvals::id(own))))
        });
        let named_calls = named_calls.collect();
        Ok(Box::new(ToolRun {
            paid,
            run,
            view,
            run_record: self.run_record,
            has_open_calls,
            stores: self.stores,
            caller,
            conversation: self.conversation,
            given,
            toolbox,
            claim: self.claim,
            is_saved,
            _waiting: self.waiting,
            replays,
            later,
            pending: Vec::new(),
            last: Response { id: Some(self.id.to_string()), model, ..Response::default() },
            approval: self.approval,
            effects: self.effects,
            named: self.named,
            named_calls,
            _end: cancel.drop_guard(),
        }))
    }
}

impl ToolRun {
    /// Runs to the end and returns the final response.
    pub async fn run_to_end(mut self: Box<Self>) -> Result<Response, Fault> {
        self = self.continue_calls().await?;
        loop {
            if !self.pending.is_empty() {
                let (mut reply, mut notices) = self.notice();
                // One text, because clients of some dialects expect no more.
                if let (Some(Body::Text(text)), Some(Body::Text(notice))) = (
                    reply.parts.last_mut().map(|part| &mut part.body),
                    notices.first().map(|part| &part.body),
                ) {
                    *text = [text, GAP, notice].concat().into();
                    notices.remove(0);
                }
                reply.parts.splice(..0, self.view.own().iter().cloned());
                reply.parts.extend(notices);
                return Ok(reply);
            }
            match self.step().await? {
                Some(RunEvent::Answered(response)) if response.calls().next().is_some() => {
                    self = self.make_calls(&response).await?;
                }
                Some(RunEvent::Finished(finished)) => {
                    self.finished(&finished).await;
                    return Ok(self.view.final_response(*finished));
                }
                _ => {}
            }
        }
    }

    /// Returns the reply as a stream, after its first event. It begins with what an earlier attempt produced.
    pub async fn stream(mut self: Box<Self>) -> Result<EventStream, Fault> {
        let mut events = Vec::new();
        let earlier = if self.replays { self.run.answers(self.given) } else { Vec::new() };
        for event in earlier.into_iter().flat_map(split) {
            self.view.event(event, &mut events);
        }
        let effects = self.effects.clone();
        let (work, mut events) =
            if events.is_empty() { self.more().await } else { (Some(self), events) };
        if let Some(Event::Fault(fault)) = events.pop_if(|event| matches!(event, Event::Fault(_))) {
            return Err(fault);
        }
        Ok(run_events(events, work, effects))
    }

    /// Runs until there are events for the client. Returns itself if there may be more.
    async fn more(mut self: Box<Self>) -> (Option<Box<Self>>, Vec<Event>) {
        let mut events = Vec::new();
        match self.continue_calls().await {
            Ok(work) => self = work,
            Err(fault) => return (None, vec![Event::Fault(fault)]),
        }
        loop {
            if !self.pending.is_empty() {
                // The text of the model was streamed.
                let (reply, parts) = self.notice();
                self.view.add_reply(Response { parts, ..reply }, &mut events);
                return (None, events);
            }
            match self.step().await {
                Ok(Some(RunEvent::Model(event))) => self.view.event(event, &mut events),
                Ok(Some(RunEvent::Answered(response))) if response.calls().next().is_some() => {
                    match self.make_calls(&response).await {
                        Ok(work) => self = work,
                        Err(fault) => return (None, vec![Event::Fault(fault)]),
                    }
                    self.view.send_own(&mut events);
                }
                Ok(Some(RunEvent::Finished(finished))) => {
                    self.finished(&finished).await;
                    self.view.end(*finished, &mut events);
                    return (None, events);
                }
                Ok(_) => {}
                Err(fault) => return (None, vec![Event::Fault(fault)]),
            }
            if !events.is_empty() {
                return (Some(self), events);
            }
        }
    }

    /// Executes the calls of a reply. If the run is saved, this is a task of its own, which continues if
    /// the client disconnects.
    async fn make_calls(mut self: Box<Self>, response: &Response) -> Result<Box<Self>, Fault> {
        if self.claim.is_none() && !self.is_saved {
            return self.calls_done().await.map(|()| self);
        }
        if let Err(fault) = self.save().await
            && response.calls().any(|call| self.has_effect(&call.name))
        {
            return Err(fault);
        }
        self.finish_calls().await
    }

    /// Continues the calls of a run that waited for approval, if it did.
    async fn continue_calls(mut self: Box<Self>) -> Result<Box<Self>, Fault> {
        if std::mem::replace(&mut self.has_open_calls, false) {
            self.finish_calls().await
        } else {
            Ok(self)
        }
    }

    /// Executes the open calls of a run that is saved, in a task of its own.
    async fn finish_calls(mut self: Box<Self>) -> Result<Box<Self>, Fault> {
        let task = tokio::spawn(async move {
            let done = self.calls_done().await;
            // Outcomes that are not saved are in the journal.
            let _logged = self.save().await;
            done.map(|()| self)
        });
        let ended = task.await;
        ended.map_err(|_| {
            Fault::new(FaultClass::Internal, "The calls of the run were interrupted.")
        })?
    }

    /// Runs until all calls of a turn have outcomes, or wait for approval.
    async fn calls_done(&mut self) -> Result<(), Fault> {
        while !matches!(self.step().await?, None | Some(RunEvent::TurnDone { .. })) {}
        Ok(())
    }

    /// Returns and records the next event of the run; `None` if it waits for approval.
    async fn step(&mut self) -> Result<Option<RunEvent>, Fault> {
        loop {
            let next = match self.run.next().await {
                Ok(next) => next,
                Err(RunError::Waiting(_)) => None,
                Err(error) => return Err(self.give_up(error).await),
            };
            if let Some(event) = next {
                self.note(&event);
                match event {
                    RunEvent::TurnDone { .. } => {
                        for message in self.later.drain(..) {
                            self.run.add_message(message);
                        }
                    }
                    RunEvent::Finished(_) => self.save_finished().await,
                    _ => {}
                }
                return Ok(Some(event));
            }
            if self.run.waiting().next().is_none() {
                // The run was finished before it was resumed.
                let finished = self.run.finish().await.map_err(failed)?;
                return Ok(Some(RunEvent::Finished(Box::new(finished))));
            }
            self.pending = self.ask_for_approval().await?;
            if !self.pending.is_empty() {
                self.is_saved = true;
                self.save().await?;
                return Ok(None);
            }
        }
    }

    fn has_effect(&self, tool: &str) -> bool {
        match self.toolbox.handler(tool) {
            Some(handler) => handler.settings().effect != Effect::None,
            // A tool of a source, which may have effects.
            None => self.toolbox.contains(tool),
        }
    }

    fn note(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Answered(response) => {
                let texts = response.parts.iter();
                let texts = texts.filter(|part| matches!(part.body, Body::Text(_)));
                self.last = Response {
                    id: response.id.clone(),
                    model: response.model.clone(),
                    parts: texts.cloned().collect(),
                    ..Response::default()
                };
                let own = response.calls().filter(|call| !self.view.shows(&call.name));
                self.run_record
                    .add_reply(own.map(|call| call.name.clone()), response.usage.as_ref());
            }
            RunEvent::CallStarted(call) if self.named.has(&call.name) => {
                let id = call.id.clone().unwrap_or_default();
                self.named_calls.entry(id).or_insert_with(|| (call.clone(), None));
            }
            RunEvent::CallDone(done) => {
                let id = done.outcome.call_id.as_deref().unwrap_or_default();
                if let Some((call, approval)) = self.named_calls.remove(id) {
                    self.view.add_own(self.named.call(&call, &done.outcome, approval.as_deref()));
                }
                self.run_record.add_executed_call(done);
                if self.has_effect(done.outcome.name.as_deref().unwrap_or_default()) {
                    self.effects.note(done);
                }
            }
            _ => {}
        }
    }

    /// Stores the conversation and the turns that the client does not see, if it has calls to answer.
    async fn finished(&mut self, finished: &RunResult) {
        self.run_record.use_reply_usage(self.paid);
        let calls = finished.response.calls();
        let theirs = calls.filter(|call| self.view.shows(&call.name));
        let ids: Vec<String> = theirs.filter_map(|call| call.id.clone()).collect();
        if ids.is_empty() {
            return;
        }
        let made = finished.messages.get(self.given..).unwrap_or_default();
        // The client sees those of servers that it named.
        let made = self.named.without_calls(made);
        let RunStores { conversations, pending_turns, .. } = &*self.stores;
        if made.len() > 1 {
            let scope = (&*self.caller.id, self.conversation.as_str());
            pending_turns.remember(scope, ids.clone(), made, Instant::now());
        }
        conversations.remember(&self.caller.id, &self.conversation, ids).await;
    }
}

/// The fault of a run that did not finish. It has a class that SDKs do not retry, because a retry would
/// fail in the same way.
fn failed(error: RunError) -> Fault {
    match error {
        RunError::Model(fault) => *fault,
        error @ (RunError::Limit(_) | RunError::Stuck { .. }) => {
            let message = format!(
                "The gateway ran tools for this request and gave up: {error}. Ask for less at \
                 once, or have the operator raise the limits in `[tools]`."
            );
            Fault::new(FaultClass::Invalid, message)
        }
        error => {
            let message = format!("The gateway could not run the tools of this request: {error}.");
            Fault::new(FaultClass::Internal, message)
        }
    }
}

fn twice(name: &str) -> Fault {
    let message = format!(
        "The request defines a tool `{name}`, and so does the gateway. Rename it, or leave it out \
         of the tools that the gateway runs."
    );
    fault::invalid("tools", message)
}
