//! Folds events into a [`Response`].

use crate::event::{Delta, Event, Head, Tail};
use crate::model::call::{Arguments, Call};
use crate::model::extra::Extra;
use crate::model::fault::Fault;
use crate::model::part::{Body, Part, Reasoning, Section};
use crate::model::response::{Response, Stop};

/// Folds events one at a time.
#[derive(Debug, Default)]
pub struct Joiner {
    response: Response,
    parts: Vec<Open>,
    stop: Option<Stop>,
    fault: Option<Fault>,
}

/// An open part.
#[derive(Debug)]
pub struct Open {
    head: Head,
    extra: Extra,
    text: String,
    sections: Vec<Section>,
    tail: Tail,
}

impl Open {
    /// Creates a part that has begun.
    pub fn new(head: Head, extra: Extra) -> Open {
        Open { head, extra, text: String::new(), sections: Vec::new(), tail: Tail::default() }
    }

    /// Takes the extra fields of its start, for a part that continues elsewhere.
    pub fn take_extra(&mut self) -> Extra {
        std::mem::take(&mut self.extra)
    }

    /// Adds a delta.
    pub fn grow(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) | Delta::Arguments(text) => self.text.push_str(text),
            Delta::Reasoning { section, kind, text } => {
                while self.sections.len() <= *section {
                    self.sections.push(Section { kind: *kind, text: String::new() });
                }
                self.sections[*section].kind = *kind;
                self.sections[*section].text.push_str(text);
            }
        }
    }

    /// Completes the part.
    pub fn close(mut self, tail: Tail) -> Part {
        self.tail = tail;
        self.into_part()
    }

    fn into_part(self) -> Part {
        let Open { head, mut extra, text, sections, tail } = self;
        let body = match head {
            Head::Text => Body::Text(text.into()),
            Head::Refusal => Body::Refusal(text.into()),
            Head::Reasoning => Body::Reasoning(Reasoning { sections, redacted: false }),
            Head::Call { id, name, free } => {
                let arguments =
                    if free { Arguments::Free(text) } else { Arguments::from_text(text) };
                Body::Call(Call { id, name, arguments })
            }
            Head::Whole(part) => return *part,
        };
        extra.update(tail.extra);
        Part { signature: tail.signature, cache: tail.cache, extra, ..Part::new(body) }
    }
}

impl Joiner {
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Start(start) => {
                self.response.id = start.id;
                self.response.model = start.model;
                self.response.extra = start.extra;
            }
            Event::PartStart { head, extra, .. } => self.parts.push(Open::new(head, extra)),
            Event::PartDelta { index, delta } => {
                if let Some(open) = self.parts.get_mut(index) {
                    open.grow(&delta);
                }
            }
            Event::PartEnd { index, tail } => {
                if let Some(open) = self.parts.get_mut(index) {
                    open.tail = tail;
                }
            }
            Event::Stop(stop) => self.stop = Some(stop),
            Event::Usage(usage) => match &mut self.response.usage {
                Some(own) => own.update(usage),
                place => *place = Some(usage),
            },
            Event::Fault(fault) => self.fault = Some(fault),
            Event::End | Event::Ping => {}
        }
    }

    /// Returns the response, or the fault that ended it.
    pub fn finish(self) -> Result<Response, Box<Fault>> {
        if let Some(fault) = self.fault {
            return Err(Box::new(fault));
        }
        let mut response = self.response;
        response.parts = self.parts.into_iter().map(Open::into_part).collect();
        response.stop = self.stop.unwrap_or_default();
        Ok(response)
    }
}

/// Folds all events of a stream.
pub fn join(events: impl IntoIterator<Item = Event>) -> Result<Response, Box<Fault>> {
    let mut joiner = Joiner::default();
    for event in events {
        joiner.push(event);
    }
    joiner.finish()
}
