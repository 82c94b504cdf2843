//! The turns of a run as one answer: one start, the parts of all turns one after another, one stop,
//! one end. Calls of the gateway's own tools are not in it, or the client would answer them.
//!
//! Where the answer must have a form, only the last turn has it: nothing is shown before that is known.

use std::collections::{HashMap, HashSet};

use toolwright::run::Finished;
use toolwright_core::event::{Delta, Head};
use toolwright_core::part::Body;
use toolwright_core::request::Format;
use toolwright_core::{Event, Part, Request, Response, Usage};

/// What stands between the words of two turns.
const GAP: &str = "\n\n";

/// Shows a run to a client.
pub struct Show {
    /// The names of the client's tools
    theirs: HashSet<String>,
    /// How many parts were shown
    parts: usize,
    /// The parts of this turn, by their index there and in the whole
    turn: HashMap<usize, usize>,
    begun: bool,
    /// What was not shown of this turn, where the answer must have a form
    held: Option<Vec<Event>>,
    /// Whether there were words in earlier turns
    spoke: bool,
    /// Whether there were words in this turn
    speaks: bool,
}

impl Show {
    /// To a client with a request.
    pub fn new(request: &Request) -> Show {
        let theirs = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let form = matches!(request.format, Some(Format::Json | Format::Schema(_)));
        Show {
            theirs,
            parts: 0,
            turn: HashMap::new(),
            begun: false,
            held: form.then(Vec::new),
            spoke: false,
            speaks: false,
        }
    }

    /// Shows what there is to see of an event of a turn.
    pub fn event(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Start(start) => {
                self.begin_turn();
                if !std::mem::replace(&mut self.begun, true) {
                    out.push(Event::Start(start));
                }
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
            // The last turn's stop is known when the run is done, and a fault when it has failed.
            Event::Stop(_) | Event::Usage(_) | Event::End | Event::Fault(_) | Event::Ping => {}
        }
    }

    fn begin_turn(&mut self) {
        self.turn.clear();
        match &mut self.held {
            Some(held) => {
                held.clear();
                self.parts = 0;
            }
            None => self.spoke |= self.speaks,
        }
        self.speaks = false;
    }

    /// Shows an event of a part, under its index in the whole.
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

    /// Shows that the run is done.
    pub fn end(&mut self, finished: Finished, out: &mut Vec<Event>) {
        out.extend(self.held.take().unwrap_or_default());
        let response = self.whole(finished);
        out.push(Event::Stop(response.stop));
        out.extend(response.usage.map(Event::Usage));
        out.push(Event::End);
    }

    /// The last answer, with what all turns cost.
    pub fn whole(&self, finished: Finished) -> Response {
        let Finished { mut response, usage, .. } = finished;
        response.parts.retain(|part| !self.hides_part(part));
        response.usage = (usage != Usage::default()).then_some(usage);
        response
    }

    /// Whether calls of a tool are the client's to answer.
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
