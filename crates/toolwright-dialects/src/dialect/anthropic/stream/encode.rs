//! Encodes events as frames, one block after another.

use toolwright_core::event::sequence::Sequencer;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::{Event, Extra, Stop, Usage};
use toolwright_json::{Json, Line, Object, object};

use super::super::wire::DIALECT;
use super::super::{fault, part, response};
use super::held;
use crate::codec::{ReplyContext, StreamEncoder};
use crate::frame::Frame;

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Encoder {
    reply_context: ReplyContext,
    sequencer: Sequencer,
    /// The start, held until the next event so that early usage is included
    start: Option<Start>,
    stop: Stop,
    usage: Usage,
    blocks: usize,
    tail_kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    Reasoning,
    #[default]
    Other,
}

impl Encoder {
    pub(in super::super) fn new(reply_context: &ReplyContext) -> Encoder {
        Encoder { reply_context: reply_context.clone(), ..Encoder::default() }
    }

    fn message_start(&mut self, frames: &mut Vec<Frame>) {
        let Some(start) = self.start.take() else { return };
        let mut message = response::encode_start(&start, &self.reply_context, vec![]);
        message.insert("stop_reason", Json::Null);
        message.insert("stop_sequence", Json::Null);
        message.insert("usage", response::encode_usage(&self.usage));
        start.extra.write_into(DIALECT, &mut message);
        frames.push(frame("message_start", object! {"message": message}));
    }

    fn block_start(&mut self, head: Head, extra: &Extra, frames: &mut Vec<Frame>) {
        self.tail_kind =
            if matches!(head, Head::Reasoning) { Kind::Reasoning } else { Kind::Other };
        let mut delta = None;
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
                        delta = Some(input_delta(arguments));
                        block
                    }
                    (None, Some(Json::Object(mut block))) => {
                        delta = held::pieces(&mut block);
                        block
                    }
                    _ => object! {"type": "text", "text": ""},
                }
            }
        };
        extra.write_into(DIALECT, &mut block);
        frames.push(frame(
            "content_block_start",
            object! {"index": self.blocks, "content_block": block},
        ));
        if let Some(delta) = delta {
            self.delta(delta, frames);
        }
    }

    fn block_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let delta = match delta {
            Delta::Text(text) => object! {"type": "text_delta", "text": text},
            Delta::Arguments(text) => input_delta(text),
            Delta::Reasoning { text, .. } => object! {"type": "thinking_delta", "thinking": text},
        };
        self.delta(delta, frames);
    }

    fn delta(&self, delta: Object, frames: &mut Vec<Frame>) {
        frames.push(frame("content_block_delta", object! {"index": self.blocks, "delta": delta}));
    }

    fn block_stop(&mut self, tail: &Tail, frames: &mut Vec<Frame>) {
        let own = tail.signature.as_ref().filter(|own| own.dialect.shares_signatures(DIALECT));
        if let (Kind::Reasoning, Some(own)) = (self.tail_kind, own) {
            let delta = object! {"type": "signature_delta", "signature": own.value.as_str()};
            self.delta(delta, frames);
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

fn input_delta(text: String) -> Object {
    object! {"type": "input_json_delta", "partial_json": text}
}

/// A frame whose name is also its `type`, without which the SDK skips it.
fn frame(name: &'static str, fields: Object) -> Frame {
    Frame::named(name, Line::new().string("type", name).members(&fields).end())
}
