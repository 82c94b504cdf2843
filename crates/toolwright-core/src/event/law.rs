//! Checks the grammar of [`Event`]s, in tests and debug builds.

use crate::event::{Delta, Event, Head, Kind};

/// Checks a stream event by event.
#[derive(Debug, Default)]
pub struct Law {
    started: bool,
    stopped: bool,
    ended: bool,
    parts: Vec<(Kind, bool)>,
}

impl Law {
    /// Checks the next event.
    pub fn check(&mut self, event: &Event) -> Result<(), &'static str> {
        if self.ended {
            return Err("an event after the end");
        }
        if !self.started && !matches!(event, Event::Start(_) | Event::Fault(_) | Event::Ping) {
            return Err("an event before the start");
        }
        match event {
            Event::Start(_) if self.started => Err("a second start"),
            Event::Start(_) => {
                self.started = true;
                Ok(())
            }
            Event::PartStart { index, head, .. } => self.part_start(*index, head),
            Event::PartDelta { index, delta } => self.part_delta(*index, delta),
            Event::PartEnd { index, .. } => match self.parts.get_mut(*index) {
                Some((_, open)) if *open => {
                    *open = false;
                    Ok(())
                }
                _ => Err("the end of a part that is not open"),
            },
            Event::Stop(_) if self.stopped => Err("a second stop"),
            Event::Stop(_) if self.parts.iter().any(|(_, open)| *open) => {
                Err("a stop while a part is open")
            }
            Event::Stop(_) => {
                self.stopped = true;
                Ok(())
            }
            Event::End if !self.stopped => Err("an end without a stop"),
            Event::End | Event::Fault(_) => {
                self.ended = true;
                Ok(())
            }
            Event::Usage(_) | Event::Ping => Ok(()),
        }
    }

    /// Checks the end of the stream.
    pub fn finish(&self) -> Result<(), &'static str> {
        if self.ended { Ok(()) } else { Err("a stream without an end") }
    }

    fn part_start(&mut self, index: usize, head: &Head) -> Result<(), &'static str> {
        if self.stopped {
            return Err("a part after the stop");
        }
        if index != self.parts.len() {
            return Err("a part out of turn");
        }
        self.parts.push((Kind::of(head), true));
        Ok(())
    }

    fn part_delta(&self, index: usize, delta: &Delta) -> Result<(), &'static str> {
        let kind = match self.parts.get(index) {
            Some((kind, true)) => *kind,
            _ => return Err("a delta of a part that is not open"),
        };
        if kind.takes(delta) { Ok(()) } else { Err("a delta of another kind than its part") }
    }
}

/// Checks a complete stream.
pub fn check<'e>(events: impl IntoIterator<Item = &'e Event>) -> Result<(), &'static str> {
    let mut law = Law::default();
    for event in events {
        law.check(event)?;
    }
    law.finish()
}
