//! Encodes reasoning section by section: summaries and thinking, each with its own events.

use toolwright_core::part::SectionKind;
use toolwright_json::{Object, object};

use super::number::Numbers;
use crate::frame::Frame;

/// The sections of the open reasoning. Only the last of them is open.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// Each with its index among its kind
    opened: Vec<(SectionKind, usize)>,
    /// The text of the last one
    text: String,
}

impl Sections {
    /// Appends text to a section, which is opened if it is new.
    pub(super) fn append(
        &mut self,
        section: usize,
        kind: SectionKind,
        text: &str,
        number: &mut Numbers,
        frames: &mut Vec<Frame>,
    ) {
        if section >= self.opened.len() {
            self.close(number, frames);
            let own = self.opened.iter().filter(|(own, _)| *own == kind).count();
            self.opened.push((kind, own));
            let mut fields = place(kind, own);
            fields.push("part", part(kind, ""));
            number.item(&format!("{}.added", part_event(kind)), fields, frames);
        }
        let at = section.min(self.opened.len() - 1);
        let (kind, own) = self.opened[at];
        self.text.push_str(text);
        let mut fields = place(kind, own);
        fields.push("delta", text);
        number.item(&format!("{}.delta", text_event(kind)), fields, frames);
    }

    /// Closes the last section, if there is one.
    pub(super) fn close(&mut self, number: &mut Numbers, frames: &mut Vec<Frame>) {
        let Some((kind, own)) = self.opened.last().copied() else { return };
        let text = std::mem::take(&mut self.text);
        let mut fields = place(kind, own);
        fields.push("text", text.as_str());
        number.item(&format!("{}.done", text_event(kind)), fields, frames);
        let mut fields = place(kind, own);
        fields.push("part", part(kind, &text));
        number.item(&format!("{}.done", part_event(kind)), fields, frames);
    }
}

fn text_event(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Summary => "response.reasoning_summary_text",
        SectionKind::Full => "response.reasoning_text",
    }
}

fn part_event(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Summary => "response.reasoning_summary_part",
        SectionKind::Full => "response.content_part",
    }
}

fn place(kind: SectionKind, number: usize) -> Object {
    match kind {
        SectionKind::Summary => object! {"summary_index": number},
        SectionKind::Full => object! {"content_index": number},
    }
}

fn part(kind: SectionKind, text: &str) -> Object {
    match kind {
        SectionKind::Summary => object! {"type": "summary_text", "text": text},
        SectionKind::Full => object! {"type": "reasoning_text", "text": text},
    }
}
