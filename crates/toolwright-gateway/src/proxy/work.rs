//! A request whose tools the gateway runs itself: the model is asked, its calls are made, and it is
//! asked again, until there is an answer for the client.
//!
//! ```text
//! ask → tools (which) → hold (turns that the client did not see) → run: consult ⇄ toolbox → show
//! ```

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use futures_core::Stream;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolwright::call::Answer;
use toolwright::call::journal::{MemoryJournal, SharedJournal};
use toolwright::run::{Agent, EventStream, Finished, Limits, Model, Run, RunError, RunEvent};
use toolwright::{Caller, Toolbox};
use toolwright_core::{Event, Fault, FaultClass, Request, Response};

use super::hold::Hold;
use super::notes::Notes;
use super::show::Show;
use crate::telemetry::RequestId;

/// What the model is told of a call that needs a person's word.
const NOBODY: &str = "Nobody can be asked here, and the operator has not allowed this tool.";

/// What a run for a client is made of.
pub struct Job {
    /// Our id of the request, and so of the run
    pub id: RequestId,
    /// For whom
    pub caller: Caller,
    /// Who answers
    pub model: Model,
    /// The tools
    pub toolbox: Toolbox,
    /// How far it may go
    pub limits: Limits,
    /// What is told of it
    pub notes: Notes,
    /// Where turns are held that the client does not see
    pub hold: Arc<Hold>,
}

/// A run for a client, under way. Dropping it ends the run and its calls.
pub struct Work {
    run: Run,
    show: Show,
    notes: Notes,
    hold: Arc<Hold>,
    client: Arc<str>,
    /// How many messages the conversation began with
    given: usize,
    _end: DropGuard,
}

impl Job {
    /// Begins to answer a request.
    pub fn begin(self, mut request: Request) -> Result<Box<Work>, Fault> {
        if let Some(both) =
            request.tools.iter().find(|own| self.toolbox.handler(&own.name).is_some())
        {
            return Err(twice(&both.name));
        }
        self.hold.recall(&self.caller.id, &mut request, Instant::now());
        let show = Show::new(&request);
        let messages = std::mem::take(&mut request.messages);
        let given = messages.len();
        // Its model is the alias that the client said; each candidate has its own name.
        request.model = None;
        // What was done for one request is of no use to another.
        let toolbox = self.toolbox.with_journal(SharedJournal::new(MemoryJournal::new()));
        let cancel = CancellationToken::new();
        let client = Arc::clone(&self.caller.id);
        let run = Agent::new("gateway")
            .with_request(request)
            .with_tools(toolbox)
            .with_model(self.model)
            .run(messages)
            .with_id(self.id.to_string())
            .with_caller(self.caller)
            .with_limits(self.limits)
            .with_cancel(cancel.clone())
            .build()
            .map_err(failed)?;
        let (notes, hold) = (self.notes, self.hold);
        let guard = cancel.drop_guard();
        Ok(Box::new(Work { run, show, notes, hold, client, given, _end: guard }))
    }
}

impl Work {
    /// The final answer, whole.
    pub async fn whole(mut self: Box<Self>) -> Result<Response, Fault> {
        loop {
            if let RunEvent::Finished(finished) = self.step().await? {
                self.finished(&finished);
                return Ok(self.show.whole(*finished));
            }
        }
    }

    /// The answer as it is made, once it has begun.
    pub async fn stream(self: Box<Self>) -> Result<EventStream, Fault> {
        let (work, mut events) = self.more().await;
        if let Some(Event::Fault(fault)) = events.pop_if(|event| matches!(event, Event::Fault(_))) {
            return Err(fault);
        }
        let next = work.map(|work| Box::pin(work.more()) as More);
        Ok(Box::pin(Showing { events: events.into(), next }))
    }

    /// Works on until there is something to show. Gives itself back if there may be more.
    async fn more(mut self: Box<Self>) -> (Option<Box<Self>>, Vec<Event>) {
        let mut events = Vec::new();
        loop {
            match self.step().await {
                Ok(RunEvent::Model(event)) => self.show.event(event, &mut events),
                Ok(RunEvent::Finished(finished)) => {
                    self.finished(&finished);
                    self.show.end(*finished, &mut events);
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

    /// What happens next in the run, noted. Nobody can be asked here.
    async fn step(&mut self) -> Result<RunEvent, Fault> {
        loop {
            if let Some(event) = self.run.next().await.map_err(failed)? {
                self.note(&event);
                return Ok(event);
            }
            let waiting: Vec<String> = self.run.waiting().map(|own| own.id.clone()).collect();
            if waiting.is_empty() {
                return Err(Fault::new(FaultClass::Internal, "The run ended without an answer."));
            }
            for id in waiting {
                self.run.answer(&id, Answer::Reject(NOBODY.to_owned())).map_err(failed)?;
            }
        }
    }

    fn note(&self, event: &RunEvent) {
        match event {
            RunEvent::Answered(response) => {
                let own = response.calls().filter(|call| !self.show.shows(&call.name));
                self.notes.heard(own.map(|call| call.name.clone()), response.usage.as_ref());
            }
            RunEvent::CallDone(done) => self.notes.ran(done),
            _ => {}
        }
    }

    /// Holds what the client does not see, if it will come back for it.
    fn finished(&self, finished: &Finished) {
        self.notes.told_usage();
        let calls = finished.response.calls();
        let theirs = calls.filter(|call| self.show.shows(&call.name));
        let ids: Vec<String> = theirs.filter_map(|call| call.id.clone()).collect();
        let made = finished.messages.get(self.given..).unwrap_or_default();
        if !ids.is_empty() && made.len() > 1 {
            self.hold.remember(&self.client, ids, made.to_vec(), Instant::now());
        }
    }
}

type More = Pin<Box<dyn Future<Output = (Option<Box<Work>>, Vec<Event>)> + Send>>;

/// The events of a run for its client.
struct Showing {
    events: VecDeque<Event>,
    next: Option<More>,
}

impl Stream for Showing {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            let Some(next) = &mut this.next else { return Poll::Ready(None) };
            let (work, events) = ready!(next.as_mut().poll(context));
            this.events.extend(events);
            this.next = work.map(|work| Box::pin(work.more()) as More);
        }
    }
}

/// What a client is told of a run that did not finish. More of the same would not help it, so it is
/// nothing that an SDK tries again by itself.
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
        "The request brings a tool `{name}`, and so does the gateway. Rename it, or leave it out \
         of the tools that the gateway shall run."
    );
    let mut fault = Fault::new(FaultClass::Invalid, message);
    fault.param = Some("tools".to_owned());
    fault
}
