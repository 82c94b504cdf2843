//! Encodes events as frames, with complete calls in the last chunk, as the vendor sends them.

use toolwright_core::event::gather::Gatherer;
use toolwright_core::event::sequence::Sequencer;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::{Reasoning, Section, SectionKind};
use toolwright_core::{Body, Event, Extra, Part, Stop, Usage};
use toolwright_json::{Json, Object, object};

use super::super::wire::DIALECT;
use super::super::{fault, part, response};
use crate::codec::{ReplyContext, StreamEncoder};
use crate::frame::{DONE, Frame};

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Encoder {
    reply_context: ReplyContext,
    gatherer: Gatherer,
    sequencer: Sequencer,
    start: Start,
    /// The open thinking: the current section, and its extra fields
    thinking: Option<(usize, Extra)>,
    /// Calls so far. Clients number them by their position in one delta.
    calls: Vec<Json>,
    stop: Stop,
    usage: Usage,
}

impl Encoder {
    pub(in super::super) fn new(reply_context: &ReplyContext) -> Encoder {
        Encoder { reply_context: reply_context.clone(), ..Encoder::default() }
    }

    /// Encodes a chunk with one choice. The key `finish_reason` is required, even if it is null
    /// (`docs/dialects/mistral.md#stream`).
    fn chunk(&self, delta: Object, frames: &mut Vec<Frame>) {
        let choice = object! {"index": 0_u64, "delta": delta, "finish_reason": Json::Null};
        frames.push(Frame::data(self.body(choice).compact()));
    }

    fn body(&self, choice: Object) -> Object {
        let choices = vec![Json::Object(choice)];
        response::encode_start(&self.start, &self.reply_context, "chat.completion.chunk", choices)
    }

    fn content(&self, part: &Part, frames: &mut Vec<Frame>) {
        if let Some(chunk) = part::encode(part) {
            self.chunk(object! {"content": vec![chunk]}, frames);
        }
    }

    fn part_start(&mut self, head: Head, extra: Extra, frames: &mut Vec<Frame>) {
        match head {
            Head::Reasoning => self.thinking = Some((0, extra)),
            Head::Whole(part) => match part::encode_call(&part, self.calls.len()) {
                Some(call) => self.calls.push(call),
                None => self.content(&part, frames),
            },
            // The gatherer completed every call; a text sends its extra fields first.
            Head::Text | Head::Refusal | Head::Call { .. } => {
                if extra.for_dialect(DIALECT).is_some() {
                    self.content(&Part::text("").with_extra(extra), frames);
                }
            }
        }
    }

    fn part_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        match delta {
            Delta::Text(text) => self.chunk(object! {"content": text}, frames),
            Delta::Reasoning { section, kind, text } => {
                let mut sections = vec![Section { kind, text }];
                if let Some((own, _)) = &mut self.thinking
                    && *own != section
                {
                    *own = section;
                    sections.insert(0, Section { kind: SectionKind::Full, text: String::new() });
                }
                let reasoning = Reasoning { sections, redacted: false };
                self.content(&Part::new(Body::Reasoning(reasoning)), frames);
            }
            Delta::Arguments(_) => {}
        }
    }

    /// Sends the signature and the extra fields of thinking at its end.
    fn part_end(&mut self, tail: Tail, frames: &mut Vec<Frame>) {
        let Some((_, mut extra)) = self.thinking.take() else { return };
        extra.update(tail.extra);
        let signature = tail.signature.filter(|own| own.dialect == DIALECT);
        if signature.is_some() || extra.for_dialect(DIALECT).is_some() {
            let body = Body::Reasoning(Reasoning::default());
            self.content(&Part { signature, extra, ..Part::new(body) }, frames);
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        let mut message = object! {"content": ""};
        message.insert_filled("tool_calls", std::mem::take(&mut self.calls));
        let mut choice = response::encode_choice(&self.stop, message);
        let delta = choice.remove("message").unwrap_or_default();
        choice.insert("delta", delta);
        let mut body = self.body(choice);
        body.insert("usage", response::encode_usage(&self.usage));
        frames.push(Frame::data(body.compact()));
        frames.push(Frame::data(DONE));
    }

    fn write(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(start) => {
                self.start = start;
                self.chunk(object! {"role": "assistant", "content": ""}, frames);
            }
            Event::PartStart { head, extra, .. } => self.part_start(head, extra, frames),
            Event::PartDelta { delta, .. } => self.part_delta(delta, frames),
            Event::PartEnd { tail, .. } => self.part_end(tail, frames),
            Event::Stop(stop) => self.stop = stop,
            Event::Usage(usage) => self.usage.update(usage),
            Event::End => self.end(frames),
            Event::Fault(fault) => frames.push(Frame::data(fault::encode_body(&fault).compact())),
            // The format has no event for it.
            Event::Ping => {}
        }
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        self.gatherer.push(event);
        while let Some(event) = self.gatherer.pop() {
            self.sequencer.push(event);
        }
        while let Some(event) = self.sequencer.pop() {
            self.write(event, frames);
        }
    }
}
