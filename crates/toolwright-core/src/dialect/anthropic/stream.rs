//! Streams: blocks by index, never interleaved, counts at both ends.

use std::collections::BTreeMap;

use super::wire::DIALECT;
use super::{fault, part, response};
use crate::dialect::{
    Asked, DecodeError, DecodeErrorKind, Fields, Seen, StreamDecoder, StreamEncoder,
};
use crate::event::emit::Emitter;
use crate::event::sequence::Sequencer;
use crate::event::{Delta, Event, Head, Start, Tail};
use crate::extra::Extra;
use crate::fault::FaultClass;
use crate::frame::Frame;
use crate::json::{Json, Line, Object, Path};
use crate::object;
use crate::part::{Body, SectionKind};
use crate::response::Stop;
use crate::usage::Usage;

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    emit: Emitter,
    blocks: BTreeMap<u64, Block>,
}

/// A block that is open: our index, and what its end will say.
#[derive(Debug)]
struct Block {
    index: usize,
    tail: Tail,
    citations: Vec<Json>,
    /// Arguments that came with the start; they count only if no fragment follows
    input: Option<String>,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<Seen, DecodeError> {
        let value = Json::parse(&frame.data)
            .map_err(|error| DecodeError::new(DIALECT, &Path::ROOT, error))?;
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        match fields.need_string("type")?.as_str() {
            "ping" => self.emit.ping(out),
            "message_start" => self.message_start(fields, out)?,
            "content_block_start" => self.block_start(fields, out)?,
            "content_block_delta" => return self.block_delta(fields, out),
            "content_block_stop" => {
                let index = fields.u64("index")?.unwrap_or(0);
                self.block_stop(index, out);
            }
            "message_delta" => self.message_delta(fields, out)?,
            "message_stop" => {
                self.emit.stop(Stop::default(), out);
                self.emit.end(out);
            }
            "error" => {
                let fault =
                    fault::decode_body(Json::Object(fields.into_object()), FaultClass::Internal)?;
                self.emit.fault(fault, out);
            }
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Known)
    }

    fn is_mere_piece(&self, frame: &Frame) -> bool {
        matches!(frame.name.as_deref(), Some("content_block_delta" | "ping"))
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

impl Decoder {
    fn message_start(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let path = Path::ROOT.key("message");
        let mut message = Fields::new(fields.need("message")?, path, DIALECT)?;
        let usage = response::decode_usage(&mut message, path)?;
        self.emit.start(response::decode_start(message)?, out);
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        Ok(())
    }

    fn block_start(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let at = fields.u64("index")?.unwrap_or(0);
        self.block_stop(at, out);
        let part = part::decode(fields.need("content_block")?, Path::ROOT.key("content_block"))?;
        let mut block = Block {
            index: 0,
            tail: Tail {
                signature: part.signature.clone(),
                cache: part.cache.clone(),
                extra: Extra::NONE,
            },
            citations: Vec::new(),
            input: None,
        };
        let (head, first) = match part.body {
            Body::Text(text) => (Head::Text, Some(Delta::Text(text))),
            Body::Reasoning(reasoning) if !reasoning.redacted => {
                let text = reasoning.joined();
                (
                    Head::Reasoning,
                    Some(Delta::Reasoning { section: 0, kind: SectionKind::Full, text }),
                )
            }
            Body::Call(call) => {
                block.input = Some(call.arguments.as_str().to_owned()).filter(|text| text != "{}");
                (Head::Call { id: call.id, name: call.name, free: false }, None)
            }
            body => {
                self.emit.whole(crate::Part { body, ..part }, out);
                return Ok(());
            }
        };
        if let Some(index) = self.emit.open(head, part.extra, out) {
            block.index = index;
            if let Some(delta) = first {
                self.emit.delta(index, delta, out);
            }
            self.blocks.insert(at, block);
        }
        Ok(())
    }

    fn block_delta(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<Seen, DecodeError> {
        let at = fields.u64("index")?.unwrap_or(0);
        let mut delta = Fields::new(fields.need("delta")?, Path::ROOT.key("delta"), DIALECT)?;
        let kind = delta.need_string("type")?;
        // A block that came whole has no deltas; one that was never opened is an error.
        let Some(block) = self.blocks.get_mut(&at) else {
            let kind = DecodeErrorKind::BrokenStream("a delta of a block that is not open");
            return Err(DecodeError::new(DIALECT, &Path::ROOT.key("index"), kind));
        };
        let event = match kind.as_str() {
            "text_delta" => Delta::Text(delta.need_string("text")?),
            "input_json_delta" => {
                let text = delta.need_string("partial_json")?;
                if !text.is_empty() {
                    block.input = None;
                }
                Delta::Arguments(text)
            }
            "thinking_delta" => {
                let text = delta.need_string("thinking")?;
                Delta::Reasoning { section: 0, kind: SectionKind::Full, text }
            }
            "signature_delta" => {
                block.tail.signature = part::sign(delta.string("signature")?);
                return Ok(Seen::Known);
            }
            "citations_delta" => {
                block.citations.push(delta.need("citation")?);
                return Ok(Seen::Known);
            }
            _ => return Ok(Seen::Unknown),
        };
        if !self.emit.takes(block.index, &event) {
            let kind = DecodeErrorKind::BrokenStream("a delta of another kind than its block");
            return Err(DecodeError::new(DIALECT, &Path::ROOT.key("delta"), kind));
        }
        self.emit.delta(block.index, event, out);
        Ok(Seen::Known)
    }

    fn block_stop(&mut self, at: u64, out: &mut Vec<Event>) {
        let Some(mut block) = self.blocks.remove(&at) else { return };
        if let Some(input) = block.input {
            self.emit.delta(block.index, Delta::Arguments(input), out);
        }
        if !block.citations.is_empty() {
            block.tail.extra.insert(DIALECT, "citations", block.citations);
        }
        self.emit.close(block.index, block.tail, out);
    }

    fn message_delta(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let open: Vec<u64> = self.blocks.keys().copied().collect();
        for at in open {
            self.block_stop(at, out);
        }
        let usage = response::decode_usage(&mut fields, Path::ROOT)?;
        let mut delta = Fields::new(fields.need("delta")?, Path::ROOT.key("delta"), DIALECT)?;
        if let Some(stop) = response::decode_stop(&mut delta)? {
            self.emit.stop(stop, out);
        }
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        Ok(())
    }
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct Encoder {
    asked: Asked,
    sequencer: Sequencer,
    /// The start, held until the next event so that early counts go with it
    start: Option<Start>,
    stop: Stop,
    usage: Usage,
    blocks: usize,
    tail_kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reasoning,
    Other,
}

impl Encoder {
    pub(super) fn new(asked: &Asked) -> Encoder {
        Encoder {
            asked: asked.clone(),
            sequencer: Sequencer::default(),
            start: None,
            stop: Stop::default(),
            usage: Usage::default(),
            blocks: 0,
            tail_kind: Kind::Other,
        }
    }

    fn message_start(&mut self, frames: &mut Vec<Frame>) {
        let Some(start) = self.start.take() else { return };
        let mut message = response::encode_start(&start, &self.asked, vec![]);
        message.insert("stop_reason", Json::Null);
        message.insert("stop_sequence", Json::Null);
        message.insert("usage", response::encode_usage(&self.usage));
        start.extra.write_into(DIALECT, &mut message);
        frames.push(frame("message_start", object! {"message": message}));
    }

    fn block_start(&mut self, head: Head, extra: &Extra, frames: &mut Vec<Frame>) {
        self.tail_kind =
            if matches!(head, Head::Reasoning) { Kind::Reasoning } else { Kind::Other };
        let mut deltas = Vec::new();
        let mut block = match head {
            Head::Text | Head::Refusal => object! {"type": "text", "text": ""},
            Head::Reasoning => object! {"type": "thinking", "thinking": "", "signature": ""},
            Head::Call { id, name, .. } => object! {
                "type": "tool_use", "id": id.unwrap_or_default(), "name": name, "input": Object::new(),
            },
            Head::Whole(part) => {
                let arguments = part.as_call().map(|call| call.arguments.as_str().to_owned());
                match (arguments, part::encode(*part)) {
                    (Some(arguments), Some(Json::Object(mut block))) => {
                        block.insert("input", Object::new());
                        deltas.push(Delta::Arguments(arguments));
                        block
                    }
                    (_, Some(Json::Object(block))) => block,
                    _ => object! {"type": "text", "text": ""},
                }
            }
        };
        extra.write_into(DIALECT, &mut block);
        frames.push(frame(
            "content_block_start",
            object! {"index": self.blocks, "content_block": block},
        ));
        for delta in deltas {
            self.block_delta(delta, frames);
        }
    }

    fn block_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let delta = match delta {
            Delta::Text(text) => object! {"type": "text_delta", "text": text},
            Delta::Arguments(text) => object! {"type": "input_json_delta", "partial_json": text},
            Delta::Reasoning { text, .. } => object! {"type": "thinking_delta", "thinking": text},
        };
        frames.push(frame("content_block_delta", object! {"index": self.blocks, "delta": delta}));
    }

    fn block_stop(&mut self, tail: &Tail, frames: &mut Vec<Frame>) {
        let own = tail.signature.as_ref().filter(|own| own.dialect.shares_signatures(DIALECT));
        if let (Kind::Reasoning, Some(own)) = (self.tail_kind, own) {
            let delta = object! {"type": "signature_delta", "signature": own.value.as_str()};
            frames
                .push(frame("content_block_delta", object! {"index": self.blocks, "delta": delta}));
        }
        frames.push(frame("content_block_stop", object! {"index": self.blocks}));
        self.blocks += 1;
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        let delta = response::encode_stop(&self.stop);
        let usage = response::encode_usage(&self.usage);
        frames.push(frame("message_delta", object! {"delta": delta, "usage": usage}));
        frames.push(frame("message_stop", Object::new()));
    }

    fn write(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(start) => {
                self.start = Some(start);
                return;
            }
            Event::Usage(usage) => {
                self.usage.update(usage);
                return;
            }
            _ => self.message_start(frames),
        }
        match event {
            Event::PartStart { head, extra, .. } => self.block_start(head, &extra, frames),
            Event::PartDelta { delta, .. } => self.block_delta(delta, frames),
            Event::PartEnd { tail, .. } => self.block_stop(&tail, frames),
            Event::Stop(stop) => self.stop = stop,
            Event::End => self.end(frames),
            Event::Fault(fault) => {
                frames.push(Frame::named("error", fault::encode_body(&fault).compact()));
            }
            Event::Ping => frames.push(frame("ping", Object::new())),
            Event::Start(_) | Event::Usage(_) => {}
        }
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        self.sequencer.push(event);
        while let Some(event) = self.sequencer.pop() {
            self.write(event, frames);
        }
    }
}

/// A frame whose name is also its `type`, without which the SDK skips it.
fn frame(name: &'static str, fields: Object) -> Frame {
    Frame::named(name, Line::new().string("type", name).members(&fields).end())
}
