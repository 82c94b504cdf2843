//! The numbering of frames, items and parts.

use toolwright_json::{Line, Object};

use crate::frame::Frame;

/// Counts frames and items.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    frames: usize,
    /// Number of items that have begun
    pub(super) items: usize,
    /// The id of the last item
    pub(super) id: String,
    /// The index of the first part of the open message, if the last item is one
    pub(super) message: Option<usize>,
}

impl Numbers {
    /// Appends a frame, named as its `type`.
    pub(super) fn frame(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let line = self.begin(name).members(&fields);
        frames.push(Frame::named(name, line.end()));
    }

    /// Appends a frame about the last item.
    pub(super) fn item(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let line = self.about_item(name).members(&fields);
        frames.push(Frame::named(name, line.end()));
    }

    /// Appends a frame about a part of the open message, with the number of parts so far.
    pub(super) fn content(
        &mut self,
        parts: usize,
        name: &str,
        fields: Object,
        frames: &mut Vec<Frame>,
    ) {
        let index = parts - self.message.unwrap_or(parts);
        let line = self.about_item(name).count("content_index", index).members(&fields);
        frames.push(Frame::named(name, line.end()));
    }

    fn begin(&mut self, name: &str) -> Line {
        let line = Line::new().string("type", name).count("sequence_number", self.frames);
        self.frames += 1;
        line
    }

    fn about_item(&mut self, name: &str) -> Line {
        let last = self.items.saturating_sub(1);
        self.begin(name).string("item_id", &self.id).count("output_index", last)
    }
}
