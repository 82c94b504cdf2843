//! Decodes the frames of a stream.

use std::collections::BTreeMap;

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::part::{Reasoning, Section};
use toolwright_core::{Body, Event, Extra, Part};
use toolwright_json::{Json, Object, Path};

use super::super::wire::DIALECT;
use super::super::{fault, part, response};
use crate::codec::{
    DecodeError, DecodeErrorKind, Fields, FrameStatus, Result, StreamDecoder, parse_frame,
};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Decoder {
    emit: Emitter,
    content: Option<Content>,
    calls: BTreeMap<u64, OpenCall>,
    /// Number of calls
    count: u64,
    /// Extra fields of the choice, until it stops
    rest: Object,
}

/// The open text or thinking. Consecutive chunks of one kind are one part.
#[derive(Debug)]
struct Content {
    index: usize,
    /// The current section, if this is thinking
    section: Option<usize>,
    tail: Tail,
}

/// An open call. Mistral sends complete calls; fragments as in `OpenAI` are decoded, too.
#[derive(Debug)]
struct OpenCall {
    index: usize,
    id: Option<String>,
    name: String,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        if frame.is_done() {
            self.stop(None, out);
            self.emit.end(out);
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        if fault::is_fault(&value) {
            self.emit.fault(fault::decode_body(value, None)?, out);
            return Ok(FrameStatus::Known);
        }
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        if fields.peek("choices").is_none() {
            return Ok(FrameStatus::Unknown);
        }
        let choices = fields.array("choices")?;
        let usage = response::decode_usage(&mut fields, Path::ROOT)?;
        self.emit.start(response::decode_start(fields)?, out);
        let mut seen = FrameStatus::Known;
        for (at, choice) in choices.into_iter().enumerate() {
            let path = Path::ROOT.key("choices");
            let mut choice = Fields::new(choice, path.index(at), DIALECT)?;
            if choice.u64("index")?.unwrap_or(0) == 0 {
                self.choice(choice, out)?;
            } else {
                seen = FrameStatus::Unknown;
            }
        }
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        Ok(seen)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

impl Decoder {
    fn choice(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let path = fields.path();
        let path = path.key("delta");
        let mut delta = Fields::new(fields.need("delta")?, path, DIALECT)?;
        match delta.take("content") {
            None => {}
            Some(Json::String(text)) => self.text(text.into_string(), Extra::NONE, out),
            Some(Json::Array(chunks)) => {
                for (at, chunk) in chunks.into_iter().enumerate() {
                    self.chunk(part::decode(chunk, path.key("content").index(at))?, out);
                }
            }
            Some(_) => return Err(delta.expected("content", "a string or an array of chunks")),
        }
        for (at, call) in delta.array("tool_calls")?.into_iter().enumerate() {
            self.call(call, path.key("tool_calls").index(at), out)?;
        }
        delta.take("role");
        fields.put_back_rest("message", delta.into_object());
        let word = fields.string("finish_reason")?;
        grow(&mut self.rest, fields.into_object());
        if word.is_some() {
            self.stop(word, out);
        }
        Ok(())
    }

    fn chunk(&mut self, part: Part, out: &mut Vec<Event>) {
        match part.body {
            Body::Text(text) => {
                if !part.extra.is_empty() {
                    self.close_content(out);
                }
                self.text(text.into_string(), part.extra, out);
            }
            Body::Reasoning(reasoning) => {
                let tail = Tail { signature: part.signature, cache: None, extra: part.extra };
                self.thinking(reasoning, tail, out);
            }
            _ => {
                self.close_content(out);
                self.close_calls(out);
                self.emit.complete_part(part, out);
            }
        }
    }

    fn text(&mut self, text: String, extra: Extra, out: &mut Vec<Event>) {
        if text.is_empty() && extra.is_empty() {
            return;
        }
        if self.content.as_ref().is_none_or(|own| own.section.is_some()) {
            self.open(Head::Text, None, extra, out);
        }
        if let Some(content) = &self.content {
            self.emit.delta(content.index, Delta::Text(text), out);
        }
    }

    /// Decodes thinking. Pieces of a chunk continue the current section; each further piece is a
    /// new section. A signature ends the thinking that it signs.
    fn thinking(&mut self, reasoning: Reasoning, tail: Tail, out: &mut Vec<Event>) {
        let goes_on = |own: &Content| own.section.is_some() && own.tail.signature.is_none();
        if !self.content.as_ref().is_some_and(goes_on) {
            self.open(Head::Reasoning, Some(0), Extra::NONE, out);
        }
        let Some(content) = &mut self.content else { return };
        let first = content.section.unwrap_or(0);
        for (at, Section { kind, text }) in reasoning.sections.into_iter().enumerate() {
            let section = first + at;
            content.section = Some(section);
            self.emit.delta(content.index, Delta::Reasoning { section, kind, text }, out);
        }
        content.tail.signature = tail.signature.or(content.tail.signature.take());
        content.tail.extra.update(tail.extra);
    }

    fn open(&mut self, head: Head, section: Option<usize>, extra: Extra, out: &mut Vec<Event>) {
        self.close_content(out);
        self.close_calls(out);
        let index = self.emit.open(head, extra, out);
        self.content = index.map(|index| Content { index, section, tail: Tail::default() });
    }

    /// Decodes a call or a fragment: a new id, another name, or a name after complete arguments
    /// starts a new call even if the index repeats (case 5).
    fn call(&mut self, wire: Json, path: Path<'_>, out: &mut Vec<Event>) -> Result<()> {
        let mut own = part::decode_fragment(wire, path)?;
        let at = own.index.unwrap_or(0);
        let name = own.name.as_ref().filter(|name| !name.is_empty());
        let goes_on = self.calls.get(&at).is_some_and(|open| {
            own.id.as_ref().is_none_or(|id| open.id.as_ref() == Some(id))
                && name.is_none_or(|name| *name == open.name && !self.emit.is_complete(open.index))
        });
        if !goes_on {
            let extra = own.extra(self.count);
            let Some(name) = own.name else {
                let kind = DecodeErrorKind::BrokenStream("a fragment of a call that is not open");
                return Err(DecodeError::new(DIALECT, &path, kind));
            };
            self.close_content(out);
            self.close_calls(out);
            if let Some(open) = self.calls.remove(&at) {
                self.emit.close(open.index, Tail::default(), out);
            }
            let head = Head::Call { id: own.id.clone(), name: name.clone(), free: false };
            let Some(index) = self.emit.open(head, extra, out) else { return Ok(()) };
            self.count += 1;
            self.calls.insert(at, OpenCall { index, id: own.id, name });
        }
        if let Some(open) = self.calls.get(&at) {
            self.emit.delta(open.index, Delta::Arguments(own.text), out);
        }
        Ok(())
    }

    fn close_content(&mut self, out: &mut Vec<Event>) {
        if let Some(content) = self.content.take() {
            self.emit.close(content.index, content.tail, out);
        }
    }

    /// Ends the calls whose arguments are complete.
    fn close_calls(&mut self, out: &mut Vec<Event>) {
        let emit = &mut self.emit;
        self.calls.retain(|_, call| {
            let complete = emit.is_complete(call.index);
            if complete {
                emit.close(call.index, Tail::default(), out);
            }
            !complete
        });
    }

    fn stop(&mut self, word: Option<String>, out: &mut Vec<Event>) {
        self.close_content(out);
        let rest = std::mem::take(&mut self.rest);
        self.emit.stop(response::decode_stop(word, rest), out);
    }
}

/// Merges the fields of a later chunk: lists are extended, everything else is replaced.
fn grow(own: &mut Object, later: Object) {
    for (key, value) in later {
        match (own.get_mut(&key), value) {
            (Some(Json::Object(own)), Json::Object(value)) => grow(own, value),
            (Some(Json::Array(own)), Json::Array(value)) => own.extend(value),
            (_, value) => own.insert(key, value),
        }
    }
}
