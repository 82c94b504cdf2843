//! Reorders interleaved parts.
//!
//! Some dialects interleave the fragments of several calls; in others a block must close before the
//! next opens (case 18). The oldest open part is streamed; events of later parts wait.

use std::collections::{BTreeMap, VecDeque};

use crate::event::Event;

/// Reorders events so that only one part is open at a time.
#[derive(Debug, Default)]
pub struct Sequencer {
    current: Option<usize>,
    waiting: BTreeMap<usize, VecDeque<Event>>,
    ready: VecDeque<Event>,
}

impl Sequencer {
    /// Adds an event; [`Self::pop`] returns the events that can be emitted.
    pub fn push(&mut self, event: Event) {
        // Events without an index, such as a stop, wait until all parts are closed; faults and
        // pings pass.
        let Some(index) = index_of(&event) else {
            self.ready.push_back(event);
            return;
        };
        if self.current.is_some_and(|current| current != index) {
            self.waiting.entry(index).or_default().push_back(event);
            return;
        }
        self.pass(event);
        while self.current.is_none() {
            let Some((_, events)) = self.waiting.pop_first() else { return };
            for event in events {
                self.pass(event);
            }
        }
    }

    /// Returns the next event.
    pub fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    fn pass(&mut self, event: Event) {
        match &event {
            Event::PartStart { index, .. } => self.current = Some(*index),
            Event::PartEnd { .. } => self.current = None,
            _ => {}
        }
        self.ready.push_back(event);
    }
}

fn index_of(event: &Event) -> Option<usize> {
    match event {
        Event::PartStart { index, .. }
        | Event::PartDelta { index, .. }
        | Event::PartEnd { index, .. } => Some(*index),
        _ => None,
    }
}
