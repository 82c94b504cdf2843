//! Encodes events as frames, one block after another.

use toolwright_core::event::sequence::Sequencer;
use toolwright_core::event::split::split_part;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::{Body, Event, Extra, Part, Stop, Usage};
use toolwright_json::{Json, Object, object};

use super::super::wire::{self, DIALECT};
use super::super::{fault, part, response};
use super::{Kind, held};
use crate::codec::StreamEncoder;
use crate::frame::Frame;

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Encoder {
    sequencer: Sequencer,
    /// Number of complete blocks
    blocks: usize,
    current: Option<Current>,
    stop: Stop,
    usage: Usage,
}

/// The open block.
#[derive(Debug)]
struct Current {
    kind: Kind,
    /// Whether it was opened on the wire
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
                part::encode_type(extra, &mut own);
                extra.write_into(DIALECT, &mut own);
                self.block_start(wire::union("toolUse", own), frames);
                Kind::Call
            }
            Head::Whole(part) => return self.encode_complete(*part, frames),
        };
        let citations = extra.get(DIALECT, "citations").cloned();
        self.current = Some(Current { kind, said: kind == Kind::Call, section: 0, citations });
    }

    /// Encodes a complete part; one that a stream cannot express is left out.
    fn encode_complete(&mut self, part: Part, frames: &mut Vec<Frame>) {
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
        // Nothing is open after a complete part.
        let Some(current) = self.current.take() else { return };
        let own = tail.signature.as_ref().filter(|own| own.dialect.shares_signatures(DIALECT));
        let signature = own.filter(|_| current.kind == Kind::Reasoning);
        // A block without a start event exists only if it has a delta.
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
        self.sequencer.push(event);
        while let Some(event) = self.sequencer.pop() {
            self.write(event, frames);
        }
    }
}

fn frame(name: &'static str, event: Object) -> Frame {
    Frame::named(name, event.compact())
}
