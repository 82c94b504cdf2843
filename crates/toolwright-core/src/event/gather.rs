//! Buffers calls until they are complete, for dialects that cannot express partial calls.

use std::collections::{BTreeMap, VecDeque};

use crate::event::join::Open;
use crate::event::{Event, Head, Tail};
use crate::model::extra::Extra;

/// Converts the events of each call to one [`Head::Whole`] part; all other events pass.
#[derive(Debug, Default)]
pub struct Gatherer {
    calls: BTreeMap<usize, Open>,
    ready: VecDeque<Event>,
}

impl Gatherer {
    /// Adds an event; [`Self::pop`] returns the events that can be emitted. Indexes stay those of
    /// the source stream.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::PartStart { index, head: head @ Head::Call { .. }, extra } => {
                self.calls.insert(index, Open::new(head, extra));
            }
            Event::PartDelta { index, delta } if self.calls.contains_key(&index) => {
                if let Some(open) = self.calls.get_mut(&index) {
                    open.grow(&delta);
                }
            }
            Event::PartEnd { index, tail } => match self.calls.remove(&index) {
                Some(open) => {
                    let whole = Head::Whole(Box::new(open.close(tail)));
                    self.ready.push_back(Event::PartStart {
                        index,
                        head: whole,
                        extra: Extra::NONE,
                    });
                    self.ready.push_back(Event::PartEnd { index, tail: Tail::default() });
                }
                None => self.ready.push_back(Event::PartEnd { index, tail }),
            },
            event => self.ready.push_back(event),
        }
    }

    /// Returns the next event.
    pub fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }
}
