//! Streams: blocks by index, told apart by their deltas; counts come after the stop.
//!
//! Only blocks that need an id or a format have a start event. A text or a reasoning block is opened
//! by its first delta, so the encoder must not start one (wire facts §4).

mod held;

use std::collections::BTreeMap;

use self::held::Held;
use super::wire::{self, DIALECT};
use super::{fault, part, response};
use crate::dialect::{DecodeError, DecodeErrorKind, Fields, Seen, StreamDecoder, StreamEncoder};
use crate::event::emit::Emitter;
use crate::event::sequence::Sequencer;
use crate::event::split::split_part;
use crate::event::{Delta, Event, Head, Start, Tail};
use crate::extra::Extra;
use crate::frame::Frame;
use crate::json::{Json, Object, Path};
use crate::object;
use crate::part::{Body, Part, SectionKind};
use crate::response::Stop;
use crate::usage::Usage;

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    emit: Emitter,
    /// Blocks that are open, by the vendor's index (case 3)
    blocks: BTreeMap<u64, Block>,
    /// The stop, until `metadata` has told the rest
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Block {
    /// A part that grows as its deltas come
    Open(Open),
    /// A part that is said once it is whole
    Held(Held),
}

#[derive(Debug)]
struct Open {
    index: usize,
    kind: Kind,
    tail: Tail,
    citations: Vec<Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Seen, DecodeError> {
        if self.emit.is_ended() {
            return Ok(Seen::Known);
        }
        if frame.exception {
            self.emit.fault(fault::decode_frame(frame), out);
            return Ok(Seen::Known);
        }
        let value = Json::parse(&frame.data)
            .map_err(|error| DecodeError::new(DIALECT, &Path::ROOT, error))?;
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        // Padding, against guessing of texts by their lengths.
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
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        if let Some(stop) = self.stop.take() {
            self.emit.stop(stop, out);
        }
        self.emit.finish(out);
    }
}

impl Decoder {
    fn block_start(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<Seen, DecodeError> {
        let at = fields.u64("contentBlockIndex")?.unwrap_or(0);
        self.block_stop(at, out)?;
        let path = Path::ROOT.key("start");
        let (kind, own) = wire::member(fields.need("start")?, path)?;
        if kind == "toolUse" && own.get("type").is_none() {
            let mut own = Fields::new(own, path.key(&kind), DIALECT)?;
            let id = Some(own.need_string("toolUseId")?);
            let head = Head::Call { id, name: own.need_string("name")?, free: false };
            self.open(at, Kind::Call, head, own.rest(), out);
        } else if let Some(held) = Held::start(&kind, own) {
            self.blocks.insert(at, Block::Held(held));
        } else {
            return Ok(Seen::Unknown);
        }
        Ok(Seen::Known)
    }

    fn block_delta(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<Seen, DecodeError> {
        let at = fields.u64("contentBlockIndex")?.unwrap_or(0);
        let path = Path::ROOT.key("delta");
        let (kind, own) = wire::member(fields.need("delta")?, path)?;
        if let Some(Block::Held(held)) = self.blocks.get_mut(&at)
            && held.grow(&kind, &own)
        {
            return Ok(Seen::Known);
        }
        match (kind.as_ref(), own) {
            ("text", Json::String(text)) => {
                let index = self.grown(at, Kind::Text, Head::Text, out)?.index;
                self.emit.delta(index, Delta::Text(text), out);
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
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Known)
    }

    fn reasoning(&mut self, at: u64, own: Json, out: &mut Vec<Event>) -> Result<Seen, DecodeError> {
        let (kind, own) = wire::member(own, Path::ROOT.key("delta"))?;
        match (kind.as_ref(), own) {
            ("text", Json::String(text)) => {
                let index = self.grown(at, Kind::Reasoning, Head::Reasoning, out)?.index;
                let delta = Delta::Reasoning { section: 0, kind: SectionKind::Full, text };
                self.emit.delta(index, delta, out);
            }
            ("signature", Json::String(value)) => {
                let open = self.grown(at, Kind::Reasoning, Head::Reasoning, out)?;
                open.tail.signature = part::sign(Some(value));
            }
            ("redactedContent", Json::String(blob)) => {
                self.block_stop(at, out)?;
                self.blocks.insert(at, Block::Held(Held::redacted(blob)));
            }
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Known)
    }

    /// The open block that a delta belongs to: the one at its index if it is of its kind, else a new
    /// one.
    fn grown(
        &mut self,
        at: u64,
        kind: Kind,
        head: Head,
        out: &mut Vec<Event>,
    ) -> Result<&mut Open, DecodeError> {
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

    fn block_stop(&mut self, at: u64, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        match self.blocks.remove(&at) {
            None => {}
            Some(Block::Held(held)) => {
                self.emit.whole(part::decode(held.finish(), Path::ROOT)?, out)
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

    fn metadata(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
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

/// Writes a stream.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    sequencer: Sequencer,
    /// How many blocks are complete
    blocks: usize,
    current: Option<Current>,
    stop: Stop,
    usage: Usage,
}

/// The block that is open.
#[derive(Debug)]
struct Current {
    kind: Kind,
    /// Whether it has been opened on the wire
    said: bool,
    section: usize,
    citations: Option<Json>,
}

impl Encoder {
    fn part_start(&mut self, head: Head, extra: &Extra, frames: &mut Vec<Frame>) {
        let kind = match head {
            Head::Text | Head::Refusal => Kind::Text,
            Head::Reasoning => Kind::Reasoning,
            Head::Call { id, name, .. } => {
                let mut own = object! {"toolUseId": id.unwrap_or_default(), "name": name};
                extra.write_into(DIALECT, &mut own);
                self.block_start(wire::union("toolUse", own), frames);
                Kind::Call
            }
            Head::Whole(part) => return self.whole(*part, frames),
        };
        let citations = extra.get(DIALECT, "citations").cloned();
        self.current = Some(Current { kind, said: kind == Kind::Call, section: 0, citations });
    }

    /// Writes a part that came whole; one that a stream has no form for is left out.
    fn whole(&mut self, part: Part, frames: &mut Vec<Frame>) {
        let grows = match &part.body {
            Body::Text(_) | Body::Refusal(_) | Body::Call(_) => true,
            Body::Reasoning(reasoning) => !reasoning.redacted,
            _ => false,
        };
        if grows {
            let mut events = Vec::new();
            split_part(0, part, &mut events);
            for event in events {
                self.write(event, frames);
            }
        } else if let Some(pieces) = part::encode(&part).and_then(held::pieces) {
            if let Some(start) = pieces.start {
                self.block_start(start, frames);
            }
            for delta in pieces.deltas {
                self.block_delta(delta, frames);
            }
            self.block_stop(frames);
        }
    }

    fn part_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let Some(current) = &mut self.current else { return };
        current.said = true;
        let delta = match delta {
            Delta::Text(text) => wire::union("text", text),
            Delta::Arguments(text) => wire::union("toolUse", object! {"input": text}),
            Delta::Reasoning { section, text, .. } => {
                let gap = if section > current.section { "\n\n" } else { "" };
                current.section = section;
                wire::union("reasoningContent", object! {"text": format!("{gap}{text}")})
            }
        };
        self.block_delta(delta, frames);
    }

    fn part_end(&mut self, tail: &Tail, frames: &mut Vec<Frame>) {
        // Nothing is open after a part that came whole.
        let Some(current) = self.current.take() else { return };
        let own = tail.signature.as_ref().filter(|own| own.dialect.shares_signatures(DIALECT));
        let signature = own.filter(|_| current.kind == Kind::Reasoning);
        // A block without a start event is there only if it has a delta.
        match (current.kind, signature) {
            (Kind::Text, _) if !current.said => self.block_delta(wire::union("text", ""), frames),
            (_, Some(own)) => {
                let delta = object! {"signature": own.value.as_str()};
                self.block_delta(wire::union("reasoningContent", delta), frames);
            }
            (Kind::Reasoning, None) if !current.said => {
                self.block_delta(wire::union("reasoningContent", object! {"text": ""}), frames);
            }
            _ => {}
        }
        let late = tail.extra.get(DIALECT, "citations").cloned();
        if let (Kind::Text, Some(Json::Array(citations))) =
            (current.kind, late.or(current.citations))
        {
            for citation in citations {
                self.block_delta(wire::union("citation", citation), frames);
            }
        }
        self.block_stop(frames);
    }

    fn block_start(&self, start: Json, frames: &mut Vec<Frame>) {
        let event = object! {"contentBlockIndex": self.blocks, "start": start};
        frames.push(frame("contentBlockStart", event));
    }

    fn block_delta(&self, delta: Json, frames: &mut Vec<Frame>) {
        let event = object! {"contentBlockIndex": self.blocks, "delta": delta};
        frames.push(frame("contentBlockDelta", event));
    }

    fn block_stop(&mut self, frames: &mut Vec<Frame>) {
        frames.push(frame("contentBlockStop", object! {"contentBlockIndex": self.blocks}));
        self.blocks += 1;
    }

    fn message_stop(&mut self, stop: Stop, frames: &mut Vec<Frame>) {
        let mut event = object! {"stopReason": response::stop_word(&stop)};
        let additional = stop.extra.get(DIALECT, response::ADDITIONAL);
        event.insert_some(response::ADDITIONAL, additional.cloned());
        frames.push(frame("messageStop", event));
        self.stop = stop;
    }

    fn metadata(&mut self, frames: &mut Vec<Frame>) {
        let mut event = object! {"usage": response::encode_usage(&self.usage)};
        self.stop.extra.write_into(DIALECT, &mut event);
        for key in ["stopReason", response::ADDITIONAL, "output"] {
            event.remove(key);
        }
        response::encode_metrics(&mut event);
        frames.push(frame("metadata", event));
    }

    fn write(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(_) => frames.push(frame("messageStart", object! {"role": "assistant"})),
            Event::PartStart { head, extra, .. } => self.part_start(head, &extra, frames),
            Event::PartDelta { delta, .. } => self.part_delta(delta, frames),
            Event::PartEnd { tail, .. } => self.part_end(&tail, frames),
            Event::Usage(usage) => self.usage.update(usage),
            Event::Stop(stop) => self.message_stop(stop, frames),
            Event::End => self.metadata(frames),
            Event::Fault(fault) => frames.push(fault::encode_frame(&fault)),
            Event::Ping => {}
        }
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        let mut ready = Vec::new();
        self.sequencer.push(event, &mut ready);
        for event in ready {
            self.write(event, frames);
        }
    }
}

fn frame(name: &'static str, event: Object) -> Frame {
    Frame::named(name, Json::Object(event).to_string())
}
