//! The numbers on the frames that are written: which frame, which item, which part of it.

use crate::frame::Frame;
use crate::json::Object;
use crate::object;

/// Counts frames and items.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    frames: usize,
    /// How many items have begun
    pub(super) items: usize,
    /// The id of the last of them
    pub(super) id: String,
    /// Where the parts of a message begin, if the last item is one that may have more of them
    pub(super) message: Option<usize>,
}

impl Numbers {
    /// Appends a frame, named as its `type`.
    pub(super) fn frame(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let head = object! {"type": name, "sequence_number": self.frames};
        self.frames += 1;
        frames.push(Frame::named(name, head.compact_with(&fields)));
    }

    /// Appends a frame about the last item.
    pub(super) fn item(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let item = object! {
            "item_id": self.id.as_str(),
            "output_index": self.items.saturating_sub(1),
        };
        self.frame(name, joined(item, fields), frames);
    }

    /// Appends a frame about a part of the message that is open, given the number of parts so far.
    pub(super) fn content(
        &mut self,
        parts: usize,
        name: &str,
        fields: Object,
        frames: &mut Vec<Frame>,
    ) {
        let part = object! {"content_index": parts - self.message.unwrap_or(parts)};
        self.item(name, joined(part, fields), frames);
    }
}

fn joined(mut first: Object, rest: Object) -> Object {
    for (key, value) in rest {
        first.push(key, value);
    }
    first
}
