//! Streams: each line is a reply with a fragment of text or thinking, or with complete calls; the
//! last line has the stop reason and usage.

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::gather::Gatherer;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::{Body, Event, Extra, FaultClass, Part, Stop, Usage};
use toolwright_json::{Json, Line, Object, Path, object};

use super::wire::DIALECT;
use super::{fault, part, response};
use crate::codec::{
    Fields, FrameStatus, ReplyContext, Result, StreamDecoder, StreamEncoder, parse_frame,
};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    emit: Emitter,
    /// The part that the next fragment of its kind continues
    open: Option<(Kind, usize)>,
    calls: usize,
    /// Fields without a canonical name
    rest: Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        let value = parse_frame(frame, DIALECT)?;
        if value.get("error").is_some() {
            self.emit.fault(fault::decode_body(value, FaultClass::Internal)?, out);
            return Ok(FrameStatus::Known);
        }
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        let start = response::decode_start(&mut fields)?;
        let parts = response::decode_message(&mut fields, self.calls)?;
        let done = fields.boolean("done")?.unwrap_or(false);
        let usage = response::decode_usage(&mut fields)?;
        let stop = response::decode_stop(&mut fields)?;
        self.emit.start(start, out);
        for part in parts {
            self.part(part, out);
        }
        self.remember(fields.into_object());
        if done {
            let rest = std::mem::take(&mut self.rest);
            self.emit.stop(Stop { extra: response::merged(rest, stop.extra), ..stop }, out);
        }
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        self.emit.end(out);
        Ok(FrameStatus::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

impl Decoder {
    /// Continues a part, or begins one.
    fn part(&mut self, part: Part, out: &mut Vec<Event>) {
        let (kind, head, delta) = match part.body {
            Body::Text(text) => (Kind::Text, Head::Text, Delta::Text(text.into_string())),
            Body::Reasoning(reasoning) => {
                let (section, kind, text) = (0, SectionKind::Full, reasoning.joined());
                (Kind::Reasoning, Head::Reasoning, Delta::Reasoning { section, kind, text })
            }
            body => {
                self.close(out);
                self.calls += usize::from(matches!(body, Body::Call(_)));
                self.emit.part(Part { body, ..part }, out);
                return;
            }
        };
        if self.open.is_none_or(|(open, _)| open != kind) {
            self.close(out);
            self.open = self.emit.open(head, Extra::NONE, out).map(|index| (kind, index));
        }
        if let Some((_, index)) = self.open {
            self.emit.delta(index, delta, out);
        }
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        if let Some((_, index)) = self.open.take() {
            self.emit.close(index, Tail::default(), out);
        }
    }

    /// Stores fields without a canonical name: lists (`logprobs`) are extended line by line, other
    /// values are replaced.
    fn remember(&mut self, rest: Object) {
        for (key, value) in rest {
            match (self.rest.get_mut(&key), value) {
                (Some(Json::Array(own)), Json::Array(more)) => own.extend(more),
                (_, value) => self.rest.insert(key, value),
            }
        }
    }
}

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    reply_context: ReplyContext,
    gatherer: Gatherer,
    start: Start,
    /// The fields that every line repeats, encoded
    opening: Line,
    calls: usize,
    /// The index of the current section of thinking
    section: usize,
    stop: Stop,
    usage: Option<Usage>,
}

impl Encoder {
    pub(super) fn new(reply_context: &ReplyContext) -> Encoder {
        Encoder { reply_context: reply_context.clone(), ..Encoder::default() }
    }

    fn write(&mut self, event: Event, frames: &mut Vec<Frame>) {
        let message = match event {
            Event::Start(start) => {
                self.opening =
                    Line::new().members(&response::encode_start(&start, &self.reply_context));
                self.start = start;
                return;
            }
            Event::PartStart { head: Head::Whole(part), .. } => self.encode_complete(&part),
            Event::PartStart { .. } => {
                self.section = 0;
                return;
            }
            Event::PartDelta { delta, .. } => self.fragment(delta),
            Event::Stop(stop) => {
                self.stop = stop;
                return;
            }
            Event::Usage(usage) => {
                self.usage.get_or_insert_default().update(usage);
                return;
            }
            Event::End => {
                let message = part::encode_all("assistant", &[]);
                let (stop, usage) = (&self.stop, self.usage.as_ref());
                let last =
                    response::encode_last(&self.start, &self.reply_context, message, stop, usage);
                frames.push(frame(last));
                return;
            }
            Event::Fault(fault) => {
                frames.push(frame(fault::encode_body(&fault)));
                return;
            }
            Event::PartEnd { .. } | Event::Ping => return,
        };
        let own = object! {"message": message, "done": false};
        frames.push(Frame::data(self.opening.fork().members(&own).end()));
    }

    /// Encodes a complete part.
    fn encode_complete(&mut self, part: &Part) -> Object {
        let mut message = part::encode_all("assistant", std::slice::from_ref(part));
        if part.as_call().is_some() {
            message.insert("tool_calls", vec![part::encode_call(part, self.calls)]);
            self.calls += 1;
        }
        message
    }

    /// Encodes a piece of text or thinking; sections of thinking are separated as in a complete
    /// reply.
    fn fragment(&mut self, delta: Delta) -> Object {
        match delta {
            Delta::Text(text) | Delta::Arguments(text) => {
                object! {"role": "assistant", "content": text}
            }
            Delta::Reasoning { section, text, .. } => {
                let text = if section == self.section { text } else { format!("\n\n{text}") };
                self.section = section;
                object! {"role": "assistant", "content": "", "thinking": text}
            }
        }
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        self.gatherer.push(event);
        while let Some(event) = self.gatherer.pop() {
            self.write(event, frames);
        }
    }
}

fn frame(line: Object) -> Frame {
    Frame::data(line.compact())
}
