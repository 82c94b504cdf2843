//! The turns of a run as one reply for the client: one start, the parts of all turns in order, one stop,
//! one end. Calls of the gateway's own tools are left out, because the client would answer them.
//!
//! If the request sets a format for the reply, only the last turn is shown, because only it has the format.

use std::collections::{HashMap, HashSet};

use toolwright_core::event::split::{split, split_part};
use toolwright_core::event::{Delta, Head};
use toolwright_core::request::Format;
use toolwright_core::{Body, Event, Part, Request, Response, Usage};
use toolwright_runtime::run::RunResult;

/// Separates the texts of two turns.
pub const GAP: &str = "\n\n";

/// Turns the events of a run into the events that the client gets.
#[derive(Default)]
pub struct RunView {
    /// The names of the client's tools
    theirs: HashSet<String>,
    /// The number of parts that were sent
    parts: usize,
    /// The parts of this turn: index in the turn and index in the reply
    turn: HashMap<usize, usize>,
    begun: bool,
    /// Events of this turn that are held back, if the reply has a format
    held: Option<Vec<Event>>,
    /// Whether earlier turns had text
    spoke: bool,
    /// Whether this turn had text
    speaks: bool,
    /// Usage that earlier replies have reported
    reported: Usage,
    /// Parts of the gateway that the client sees: calls of servers that it named
    own: Vec<Part>,
    /// How many of these were sent, or come before those of this turn that are held back
    sent: usize,
}

impl RunView {
    /// Creates the view for a request.
    pub fn new(request: &Request) -> RunView {
        let theirs = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let form = matches!(request.format, Some(Format::Json | Format::Schema(_)));
        RunView { theirs, held: form.then(Vec::new), ..RunView::default() }
    }

    /// Adds parts that the client sees before those that follow.
    pub fn add_own(&mut self, parts: Vec<Part>) {
        self.own.extend(parts);
    }

    /// The parts of the gateway that the client sees.
    pub fn own(&self) -> &[Part] {
        &self.own
    }

    /// Emits parts of the gateway that were not sent yet. If the reply has a format, they wait for its end.
    pub fn send_own(&mut self, out: &mut Vec<Event>) {
        if !self.begun || self.held.is_some() {
            return;
        }
        for part in self.own.iter().skip(self.sent) {
            split_part(self.parts, part.clone(), out);
            self.parts += 1;
        }
        self.sent = self.own.len();
    }

    /// Sets the usage that earlier replies of the run have reported.
    pub fn set_reported(&mut self, usage: Usage) {
        self.reported = usage;
    }

    /// Emits the events for the client that an event of a turn results in.
    pub fn event(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Start(start) => {
                self.begin_turn();
                if !std::mem::replace(&mut self.begun, true) {
                    out.push(Event::Start(start));
                }
                self.send_own(out);
            }
            event @ (Event::PartStart { .. } | Event::PartDelta { .. } | Event::PartEnd { .. }) => {
                match self.held.take() {
                    Some(mut held) => {
                        self.part(event, &mut held);
                        self.held = Some(held);
                    }
                    None => self.part(event, out),
                }
            }
            Event::Ping if self.begun => out.push(Event::Ping),
            // The stop reason is known when the run is done, and a fault when it has failed.
            Event::Stop(_) | Event::Usage(_) | Event::End | Event::Fault(_) | Event::Ping => {}
        }
    }

    fn begin_turn(&mut self) {
        self.turn.clear();
        match &mut self.held {
            Some(held) => {
                held.clear();
                // Those come first.
                self.sent = self.own.len();
                self.parts = self.sent;
            }
            None => self.spoke |= self.speaks,
        }
        self.speaks = false;
    }

    /// Emits an event of a part, with its index in the reply.
    fn part(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::PartStart { index, head, extra } => {
                if self.hides(&head) {
                    return;
                }
                self.turn.insert(index, self.parts);
                out.push(Event::PartStart { index: self.parts, head, extra });
                self.parts += 1;
            }
            Event::PartDelta { index, delta } => {
                let Some(&index) = self.turn.get(&index) else { return };
                if matches!(&delta, Delta::Text(text) if !text.is_empty()) {
                    if self.spoke && !self.speaks {
                        let delta = Delta::Text(GAP.to_owned());
                        out.push(Event::PartDelta { index, delta });
                    }
                    self.speaks = true;
                }
                out.push(Event::PartDelta { index, delta });
            }
            Event::PartEnd { index, tail } => {
                if let Some(&index) = self.turn.get(&index) {
                    out.push(Event::PartEnd { index, tail });
                }
            }
            _ => {}
        }
    }

    /// Emits the end of the reply.
    pub fn end(&mut self, finished: RunResult, out: &mut Vec<Event>) {
        if let Some(held) = self.held.take() {
            for (index, part) in self.own.iter().take(self.sent).enumerate() {
                split_part(index, part.clone(), out);
            }
            out.extend(held);
            self.send_own(out);
        }
        let response = self.final_response(finished);
        out.push(Event::Stop(response.stop));
        out.extend(response.usage.map(Event::Usage));
        out.push(Event::End);
    }

    /// Emits a reply of the gateway, and the end. What was held back is dropped.
    pub fn add_reply(&mut self, reply: Response, out: &mut Vec<Event>) {
        if self.held.take().is_some() {
            (self.parts, self.sent, self.speaks) = (0, 0, false);
        }
        self.send_own(out);
        let (stop, usage) = (reply.stop.clone(), reply.usage.clone());
        for event in split(reply) {
            self.event(event, out);
        }
        out.push(Event::Stop(stop));
        out.extend(usage.map(Event::Usage));
        out.push(Event::End);
    }

    /// Returns the last response, with the usage of all turns since the last reply.
    pub fn final_response(&self, finished: RunResult) -> Response {
        let RunResult { mut response, usage, .. } = finished;
        response.parts.retain(|part| !self.hides_part(part));
        response.parts.splice(..0, self.own.iter().cloned());
        response.usage = self.unreported(&usage);
        response
    }

    /// Returns the usage of all turns, without what earlier replies have reported.
    pub fn unreported(&self, usage: &Usage) -> Option<Usage> {
        let since = |all: Option<u64>, earlier: Option<u64>| {
            all.map(|all| all.saturating_sub(earlier.unwrap_or(0)))
        };
        (*usage != Usage::default()).then(|| Usage {
            input: since(usage.input, self.reported.input),
            cache_read: since(usage.cache_read, self.reported.cache_read),
            cache_write: since(usage.cache_write, self.reported.cache_write),
            output: since(usage.output, self.reported.output),
            reasoning: since(usage.reasoning, self.reported.reasoning),
            extra: usage.extra.clone(),
        })
    }

    /// Whether the client answers calls of a tool.
    pub fn shows(&self, tool: &str) -> bool {
        self.theirs.contains(tool)
    }

    fn hides(&self, head: &Head) -> bool {
        match head {
            Head::Call { name, .. } => !self.shows(name),
            Head::Whole(part) => self.hides_part(part),
            Head::Text | Head::Refusal | Head::Reasoning => false,
        }
    }

    fn hides_part(&self, part: &Part) -> bool {
        matches!(&part.body, Body::Call(call) if !self.shows(&call.name))
    }
}
