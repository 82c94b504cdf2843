//! Decodes the frames of a stream.

use std::collections::BTreeMap;

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::{Event, Extra, Stop};
use toolwright_json::{Json, Object, Path};

use super::super::wire::{self, DIALECT};
use super::super::{fault, part, response};
use super::Kind;
use super::held::Held;
use crate::codec::{
    DecodeError, DecodeErrorKind, Fields, FrameStatus, Result, StreamDecoder, parse_frame,
};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Decoder {
    emit: Emitter,
    /// Open blocks, by the vendor's index (case 3)
    blocks: BTreeMap<u64, Block>,
    /// The stop, until `metadata` completes it
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Block {
    /// A part that grows with its deltas
    Open(Open),
    /// A part that is emitted once it is complete
    Held(Held),
}

#[derive(Debug)]
struct Open {
    index: usize,
    kind: Kind,
    tail: Tail,
    citations: Vec<Json>,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        if self.emit.is_ended() {
            return Ok(FrameStatus::Known);
        }
        if frame.exception {
            self.emit.fault(fault::decode_frame(frame), out);
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        // Padding, which hides the lengths of texts.
        fields.take("p");
        match frame.name.as_deref() {
            Some("messageStart") => self.emit.start(Start::default(), out),
            Some("contentBlockStart") => return self.block_start(fields, out),
            Some("contentBlockDelta") => return self.block_delta(fields, out),
            Some("contentBlockStop") => {
                let at = fields.u64("contentBlockIndex")?.unwrap_or(0);
                self.block_stop(at, out)?;
            }
            Some("messageStop") => {
                while let Some(at) = self.blocks.keys().next().copied() {
                    self.block_stop(at, out)?;
                }
                self.stop = Some(response::decode_stop(&mut fields)?);
            }
            Some("metadata") => self.metadata(fields, out)?,
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        if let Some(stop) = self.stop.take() {
            self.emit.stop(stop, out);
        }
        self.emit.finish(out);
    }
}

impl Decoder {
    fn block_start(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<FrameStatus> {
        let at = fields.u64("contentBlockIndex")?.unwrap_or(0);
        self.block_stop(at, out)?;
        let path = Path::ROOT.key("start");
        let start = fields.take("start").unwrap_or_default();
        // A text may have an empty start event.
        if start.as_object().is_none_or(Object::is_empty) {
            return Ok(FrameStatus::Known);
        }
        let (kind, own) = wire::member(start, path)?;
        if kind == "toolUse" && !part::is_server_call(&own) {
            let mut own = Fields::new(own, path.key(&kind), DIALECT)?;
            part::note_type(&mut own, "tool_use");
            let id = Some(own.need_string("toolUseId")?);
            let head = Head::Call { id, name: own.need_string("name")?, free: false };
            self.open(at, Kind::Call, head, own.into_extra(), out);
        } else if let Some(held) = Held::start(&kind, own) {
            self.blocks.insert(at, Block::Held(held));
        } else {
            return Ok(FrameStatus::Unknown);
        }
        Ok(FrameStatus::Known)
    }

    fn block_delta(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<FrameStatus> {
        let at = fields.u64("contentBlockIndex")?.unwrap_or(0);
        let path = Path::ROOT.key("delta");
        let (kind, own) = wire::member(fields.need("delta")?, path)?;
        if let Some(Block::Held(held)) = self.blocks.get_mut(&at)
            && held.grow(&kind, &own)
        {
            return Ok(FrameStatus::Known);
        }
        match (kind.as_ref(), own) {
            ("text", Json::String(text)) => {
                let index = self.grown(at, Kind::Text, Head::Text, out)?.index;
                self.emit.delta(index, Delta::Text(text.into_string()), out);
            }
            ("citation", citation) => {
                self.grown(at, Kind::Text, Head::Text, out)?.citations.push(citation);
            }
            ("toolUse", own) => {
                let text = Fields::new(own, path.key(&kind), DIALECT)?.need_string("input")?;
                match self.blocks.get(&at) {
                    Some(Block::Open(Open { index, kind: Kind::Call, .. })) => {
                        self.emit.delta(*index, Delta::Arguments(text), out);
                    }
                    _ => return Err(broken("a delta of a call that is not open")),
                }
            }
            ("reasoningContent", own) => return self.reasoning(at, own, out),
            ("toolResult" | "image", _) => {
                return Err(broken("a delta of a block that is not open"));
            }
            ("text", _) => {
                return Err(DecodeError::expected(DIALECT, &path.key("text"), "a string"));
            }
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    fn reasoning(&mut self, at: u64, own: Json, out: &mut Vec<Event>) -> Result<FrameStatus> {
        let (kind, own) = wire::member(own, Path::ROOT.key("delta"))?;
        match (kind.as_ref(), own) {
            ("text", Json::String(text)) => {
                let index = self.grown(at, Kind::Reasoning, Head::Reasoning, out)?.index;
                let text = text.into_string();
                let delta = Delta::Reasoning { section: 0, kind: SectionKind::Full, text };
                self.emit.delta(index, delta, out);
            }
            ("signature", Json::String(value)) => {
                let open = self.grown(at, Kind::Reasoning, Head::Reasoning, out)?;
                open.tail.signature = part::sign(Some(value.into_string()));
            }
            ("redactedContent", Json::String(blob)) => {
                self.block_stop(at, out)?;
                self.blocks.insert(at, Block::Held(Held::redacted(blob.into_string())));
            }
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    /// Returns the open block of a delta: the one at its index if it has the same kind, or else a
    /// new one.
    fn grown(
        &mut self,
        at: u64,
        kind: Kind,
        head: Head,
        out: &mut Vec<Event>,
    ) -> Result<&mut Open> {
        let open = matches!(self.blocks.get(&at), Some(Block::Open(own)) if own.kind == kind);
        if !open {
            self.block_stop(at, out)?;
            self.open(at, kind, head, Extra::NONE, out);
        }
        match self.blocks.get_mut(&at) {
            Some(Block::Open(open)) => Ok(open),
            _ => Err(broken("a block after the stop")),
        }
    }

    fn open(&mut self, at: u64, kind: Kind, head: Head, extra: Extra, out: &mut Vec<Event>) {
        if let Some(index) = self.emit.open(head, extra, out) {
            let open = Open { index, kind, tail: Tail::default(), citations: Vec::new() };
            self.blocks.insert(at, Block::Open(open));
        }
    }

    fn block_stop(&mut self, at: u64, out: &mut Vec<Event>) -> Result<()> {
        match self.blocks.remove(&at) {
            None => {}
            Some(Block::Held(held)) => {
                self.emit.complete_part(part::decode(held.finish(), Path::ROOT)?, out);
            }
            Some(Block::Open(mut open)) => {
                if !open.citations.is_empty() {
                    open.tail.extra.insert(DIALECT, "citations", open.citations);
                }
                self.emit.close(open.index, open.tail, out);
            }
        }
        Ok(())
    }

    fn metadata(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let usage = response::decode_usage(&mut fields)?;
        let stop = self.stop.take();
        let stopped = stop.is_some();
        if let Some(mut stop) = stop {
            response::decode_details(fields, &mut stop);
            self.emit.stop(stop, out);
        }
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        if stopped {
            self.emit.end(out);
        }
        Ok(())
    }
}

fn broken(what: &'static str) -> DecodeError {
    DecodeError::new(DIALECT, &Path::ROOT, DecodeErrorKind::BrokenStream(what))
}
