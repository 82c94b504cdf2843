//! Decodes the frames of a stream.

use std::collections::BTreeMap;

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::{Body, Event, Extra, FaultClass, Part, Stop};
use toolwright_json::{Json, Path};

use super::super::wire::DIALECT;
use super::super::{fault, part, response};
use super::held::Held;
use crate::codec::{
    DecodeError, DecodeErrorKind, Fields, FrameStatus, Result, StreamDecoder, parse_frame,
};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Decoder {
    emit: Emitter,
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
enum Block {
    /// A part that grows with its deltas
    Open(Open),
    /// An opaque block, which becomes a part at its end
    Held(Held),
}

/// An open block: its canonical index, and values for its end.
#[derive(Debug)]
struct Open {
    index: usize,
    tail: Tail,
    citations: Vec<Json>,
    /// Arguments of the start event; used only if no fragment follows
    input: Option<String>,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        // Compatible servers end their streams as OpenAI does.
        if frame.is_done() {
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        if self.emit.is_ended() {
            return Ok(FrameStatus::Known);
        }
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        match fields.need_string("type")?.as_str() {
            "ping" => self.emit.ping(out),
            "message_start" => self.message_start(fields, out)?,
            "content_block_start" => self.block_start(fields, out)?,
            "content_block_delta" => return self.block_delta(fields, out),
            "content_block_stop" => {
                let at = fields.u64("index")?.unwrap_or(0);
                self.block_stop(at, out)?;
            }
            "message_delta" => self.message_delta(fields, out)?,
            "message_stop" => {
                self.stop_all(out)?;
                self.emit.stop(Stop::default(), out);
                self.emit.end(out);
            }
            "error" => {
                let fault =
                    fault::decode_body(Json::Object(fields.into_object()), FaultClass::Internal)?;
                self.emit.fault(fault, out);
            }
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    fn is_delta_only(&self, frame: &Frame) -> bool {
        matches!(frame.name.as_deref(), Some("content_block_delta" | "ping"))
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

impl Decoder {
    fn message_start(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let path = Path::ROOT.key("message");
        let mut message = Fields::new(fields.need("message")?, path, DIALECT)?;
        let usage = response::decode_usage(&mut message, path)?;
        self.emit.start(response::decode_start(message)?, out);
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        Ok(())
    }

    fn block_start(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let at = fields.u64("index")?.unwrap_or(0);
        self.block_stop(at, out)?;
        let part = part::decode(fields.need("content_block")?, Path::ROOT.key("content_block"))?;
        let mut open = Open {
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
            Body::Text(text) => (Head::Text, Some(Delta::Text(text.into_string()))),
            Body::Reasoning(reasoning) if !reasoning.redacted => {
                let text = reasoning.joined();
                (
                    Head::Reasoning,
                    Some(Delta::Reasoning { section: 0, kind: SectionKind::Full, text }),
                )
            }
            Body::Call(call) => {
                open.input = Some(call.arguments.as_str().to_owned()).filter(|text| text != "{}");
                (Head::Call { id: call.id, name: call.name, free: false }, None)
            }
            // Only opaque blocks have other deltas.
            Body::Opaque(opaque) => {
                self.blocks.insert(at, Block::Held(Held::start(opaque.value)));
                return Ok(());
            }
            body => {
                self.emit.complete_part(Part { body, ..part }, out);
                return Ok(());
            }
        };
        if let Some(index) = self.emit.open(head, part.extra, out) {
            open.index = index;
            if let Some(delta) = first {
                self.emit.delta(index, delta, out);
            }
            self.blocks.insert(at, Block::Open(open));
        }
        Ok(())
    }

    fn block_delta(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<FrameStatus> {
        let at = fields.u64("index")?.unwrap_or(0);
        let mut delta = Fields::new(fields.need("delta")?, Path::ROOT.key("delta"), DIALECT)?;
        let kind = delta.need_string("type")?;
        let open = match self.blocks.get_mut(&at) {
            Some(Block::Open(open)) => open,
            Some(Block::Held(held)) => {
                held.grow(delta);
                return Ok(FrameStatus::Known);
            }
            None => {
                let kind = DecodeErrorKind::BrokenStream("a delta of a block that is not open");
                return Err(DecodeError::new(DIALECT, &Path::ROOT.key("index"), kind));
            }
        };
        let event = match kind.as_str() {
            "text_delta" => Delta::Text(delta.need_string("text")?),
            "input_json_delta" => {
                let text = delta.need_string("partial_json")?;
                if !text.is_empty() {
                    open.input = None;
                }
                Delta::Arguments(text)
            }
            "thinking_delta" => {
                let text = delta.need_string("thinking")?;
                Delta::Reasoning { section: 0, kind: SectionKind::Full, text }
            }
            "signature_delta" => {
                open.tail.signature = part::sign(delta.string("signature")?);
                return Ok(FrameStatus::Known);
            }
            "citations_delta" => {
                open.citations.push(delta.need("citation")?);
                return Ok(FrameStatus::Known);
            }
            _ => return Ok(FrameStatus::Unknown),
        };
        if !self.emit.takes(open.index, &event) {
            let kind = DecodeErrorKind::BrokenStream("a delta of another kind than its block");
            return Err(DecodeError::new(DIALECT, &Path::ROOT.key("delta"), kind));
        }
        self.emit.delta(open.index, event, out);
        Ok(FrameStatus::Known)
    }

    fn block_stop(&mut self, at: u64, out: &mut Vec<Event>) -> Result<()> {
        match self.blocks.remove(&at) {
            None => {}
            Some(Block::Held(held)) => {
                let path = Path::ROOT.key("content_block");
                self.emit.complete_part(part::decode(held.finish(), path)?, out);
            }
            Some(Block::Open(mut open)) => {
                if let Some(input) = open.input {
                    self.emit.delta(open.index, Delta::Arguments(input), out);
                }
                if !open.citations.is_empty() {
                    open.tail.extra.insert(DIALECT, "citations", open.citations);
                }
                self.emit.close(open.index, open.tail, out);
            }
        }
        Ok(())
    }

    /// Ends the open blocks, in order.
    fn stop_all(&mut self, out: &mut Vec<Event>) -> Result<()> {
        while let Some(at) = self.blocks.keys().next().copied() {
            self.block_stop(at, out)?;
        }
        Ok(())
    }

    fn message_delta(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        self.stop_all(out)?;
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
