//! Streams: an item is sent piece by piece, again as a whole at its end, and again at the end of
//! the stream.

mod decode;
mod encode;
mod number;
mod piece;
mod section;

pub(super) use decode::Decoder;
pub(super) use encode::Encoder;

use toolwright_core::event::split::split_part;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::{Event, Extra, Part};

/// The events of a part.
struct Steps {
    head: Head,
    extra: Extra,
    deltas: Vec<Delta>,
    tail: Tail,
}

impl Steps {
    fn of(part: Part) -> Steps {
        let (mut head, mut extra) = (Head::Text, Extra::NONE);
        let (mut deltas, mut tail) = (Vec::new(), Tail::default());
        let mut events = Vec::new();
        split_part(0, part, &mut events);
        for event in events {
            match event {
                Event::PartStart { head: own, extra: fields, .. } => (head, extra) = (own, fields),
                Event::PartDelta { delta, .. } => deltas.push(delta),
                Event::PartEnd { tail: own, .. } => tail = own,
                _ => {}
            }
        }
        Steps { head, extra, deltas, tail }
    }
}
