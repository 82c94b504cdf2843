//! Decodes the frames of a stream.

use std::collections::BTreeMap;

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::{Body, Event, Extra, Fault, FaultClass, Part};
use toolwright_json::{Json, Path};

use super::super::wire::{DIALECT, TOOL_PLAN};
use super::super::{part, response};
use crate::codec::{
    DecodeError, DecodeErrorKind, Fields, FrameStatus, Result, StreamDecoder, parse_frame,
};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Decoder {
    emit: Emitter,
    plan: Option<usize>,
    /// The canonical index of each open block and call; none for a complete block
    open: BTreeMap<(Kind, u64), Option<usize>>,
    citations: Vec<Json>,
    logprobs: Vec<Json>,
}

/// What an index of the wire counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Content,
    Call,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        if frame.is_done() {
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        let kind = fields.need_string("type")?;
        let at = fields.u64("index")?.unwrap_or(0);
        let path = Path::ROOT.key("delta");
        let path = path.key("message");
        match kind.as_str() {
            "message-start" => {
                // The message in it is empty.
                fields.take("delta");
                let id = fields.string("id")?;
                self.emit.start(Start { id, model: None, extra: fields.into_extra() }, out);
            }
            "tool-plan-delta" => self.plan_delta(message(&mut fields, path)?, out)?,
            "content-start" => self.content_start(at, message(&mut fields, path)?, out)?,
            "content-delta" => {
                self.logprobs.extend(fields.take("logprobs"));
                self.content_delta(at, message(&mut fields, path)?, out)?;
            }
            "content-end" => self.close((Kind::Content, at), out),
            "tool-call-start" => self.call_start(at, message(&mut fields, path)?, out)?,
            "tool-call-delta" => self.call_delta(at, message(&mut fields, path)?, out)?,
            "tool-call-end" => self.close((Kind::Call, at), out),
            "citation-start" => {
                self.citations.push(message(&mut fields, path)?.need("citations")?);
            }
            "citation-end" => {}
            "message-end" => self.message_end(fields, out)?,
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

impl Decoder {
    fn plan_delta(&mut self, mut message: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let text = message.need_string(TOOL_PLAN)?;
        if self.plan.is_none() && !text.is_empty() {
            self.plan = self.emit.open(Head::Text, part::plan_part(String::new()).extra, out);
        }
        if let Some(index) = self.plan {
            self.emit.delta(index, Delta::Text(text), out);
        }
        Ok(())
    }

    fn content_start(
        &mut self,
        at: u64,
        mut message: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let key = (Kind::Content, at);
        let part = part::decode(message.need("content")?, message.path().key("content"))?;
        let (head, delta) = match part.body {
            Body::Text(text) => (Head::Text, Delta::Text(text.into_string())),
            Body::Reasoning(reasoning) => (Head::Reasoning, thought(reasoning.joined())),
            body => {
                self.begin(key, out);
                self.emit.complete_part(Part { body, ..part }, out);
                self.open.insert(key, None);
                return Ok(());
            }
        };
        self.open(key, head, part.extra, delta, out);
        Ok(())
    }

    fn content_delta(
        &mut self,
        at: u64,
        mut message: Fields<'_>,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let Some(index) = self.opened((Kind::Content, at))? else { return Ok(()) };
        let path = message.path();
        let mut block = Fields::new(message.need("content")?, path.key("content"), DIALECT)?;
        let deltas =
            [block.string("text")?.map(Delta::Text), block.string("thinking")?.map(thought)];
        for delta in deltas.into_iter().flatten() {
            if !self.emit.takes(index, &delta) {
                let kind = DecodeErrorKind::BrokenStream("a delta of another kind than its block");
                return Err(DecodeError::new(DIALECT, &path.key("content"), kind));
            }
            self.emit.delta(index, delta, out);
        }
        Ok(())
    }

    fn call_start(&mut self, at: u64, mut message: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let path = message.path();
        let path = path.key("tool_calls");
        let mut wire = message.need("tool_calls")?;
        // Arguments in the start event are a fragment like any other.
        let first = take_arguments(&mut wire, path)?;
        let part = part::decode_call(wire, path)?;
        if let Body::Call(call) = part.body {
            let head = Head::Call { id: call.id, name: call.name, free: false };
            self.open((Kind::Call, at), head, part.extra, Delta::Arguments(first), out);
        }
        Ok(())
    }

    fn call_delta(&mut self, at: u64, mut message: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let path = message.path();
        let mut wire = message.need("tool_calls")?;
        let text = take_arguments(&mut wire, path.key("tool_calls"))?;
        if let Some(index) = self.opened((Kind::Call, at))? {
            self.emit.delta(index, Delta::Arguments(text), out);
        }
        Ok(())
    }

    fn message_end(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let mut delta = Fields::new(fields.need("delta")?, Path::ROOT.key("delta"), DIALECT)?;
        if let Some(error) = delta.string("error")? {
            self.emit.fault(Fault::new(FaultClass::Internal, error), out);
            return Ok(());
        }
        let usage = response::decode_usage(&mut delta)?;
        if !self.citations.is_empty() {
            let mut message = delta.object("message")?.unwrap_or_default();
            message.insert("citations", std::mem::take(&mut self.citations));
            delta.put_back("message", message);
        }
        if !self.logprobs.is_empty() {
            delta.put_back("logprobs", std::mem::take(&mut self.logprobs));
        }
        self.emit.stop(response::decode_stop(delta)?, out);
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        self.emit.end(out);
        Ok(())
    }

    /// Opens a part at an index of the wire.
    fn open(
        &mut self,
        key: (Kind, u64),
        head: Head,
        extra: Extra,
        first: Delta,
        out: &mut Vec<Event>,
    ) {
        self.begin(key, out);
        if let Some(index) = self.emit.open(head, extra, out) {
            self.emit.delta(index, first, out);
            self.open.insert(key, Some(index));
        }
    }

    /// Ends what must be complete when a part begins: the plan, and an older part with the same
    /// index, because an index may be repeated (case 5).
    fn begin(&mut self, key: (Kind, u64), out: &mut Vec<Event>) {
        if let Some(plan) = self.plan.take() {
            self.emit.close(plan, Tail::default(), out);
        }
        self.close(key, out);
    }

    fn close(&mut self, key: (Kind, u64), out: &mut Vec<Event>) {
        if let Some(Some(index)) = self.open.remove(&key) {
            self.emit.close(index, Tail::default(), out);
        }
    }

    /// Returns the part of a delta; none for a complete block.
    fn opened(&self, key: (Kind, u64)) -> Result<Option<usize>> {
        self.open.get(&key).copied().ok_or_else(|| {
            let kind = DecodeErrorKind::BrokenStream("a delta of a part that is not open");
            DecodeError::new(DIALECT, &Path::ROOT.key("index"), kind)
        })
    }
}

/// Opens `delta.message`, which contains the content of an event.
fn message<'p>(fields: &mut Fields<'_>, path: Path<'p>) -> Result<Fields<'p>> {
    let mut delta = Fields::new(fields.need("delta")?, Path::ROOT.key("delta"), DIALECT)?;
    Fields::new(delta.need("message")?, path, DIALECT)
}

/// Takes the fragment of arguments out of a call.
fn take_arguments(call: &mut Json, path: Path<'_>) -> Result<String> {
    let function = call.as_object_mut().and_then(|call| call.get_mut("function"));
    match function.and_then(Json::as_object_mut).and_then(|own| own.remove("arguments")) {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::String(text)) => Ok(text.into_string()),
        Some(_) => {
            let path = path.key("function");
            Err(DecodeError::expected(DIALECT, &path.key("arguments"), "a string"))
        }
    }
}

fn thought(text: String) -> Delta {
    Delta::Reasoning { section: 0, kind: SectionKind::Full, text }
}
