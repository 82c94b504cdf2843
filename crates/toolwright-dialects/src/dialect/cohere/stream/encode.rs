//! Encodes events as frames.

use std::collections::BTreeMap;

use toolwright_core::event::split::split_part;
use toolwright_core::event::{Delta, Head};
use toolwright_core::{Event, Extra, Stop, Usage, note};
use toolwright_json::{Json, Line, Object, object};

use super::super::wire::{DIALECT, PLAN, TOOL_PLAN};
use super::super::{part, response};
use crate::codec::StreamEncoder;
use crate::frame::{DONE, Frame};

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Encoder {
    /// The open parts and their form
    open: BTreeMap<usize, Slot>,
    contents: usize,
    calls: usize,
    stop: Stop,
    usage: Option<Usage>,
}

/// The position of a part on the wire.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Plan,
    Text(usize),
    /// With the index of the current section
    Thinking(usize, usize),
    Call(usize),
}

impl Encoder {
    fn part_start(&mut self, index: usize, head: Head, extra: &Extra, frames: &mut Vec<Frame>) {
        let slot = match head {
            Head::Text if extra.get(DIALECT, PLAN).is_some() => Slot::Plan,
            Head::Text | Head::Refusal => {
                Slot::Text(self.block(object! {"type": "text", "text": ""}, extra, frames))
            }
            Head::Reasoning => {
                let block = object! {"type": "thinking", "thinking": ""};
                Slot::Thinking(self.block(block, extra, frames), 0)
            }
            Head::Call { id, name, .. } => {
                let call = part::encode_call_head(id.as_deref(), &name, "", extra);
                frames.push(in_delta("tool-call-start", Some(self.calls), "tool_calls", call));
                self.calls += 1;
                Slot::Call(self.calls - 1)
            }
            Head::Whole(part) if part.as_call().is_some() => {
                let mut events = Vec::new();
                split_part(index, *part, &mut events);
                for event in events {
                    self.encode(event, frames);
                }
                return;
            }
            Head::Whole(part) => {
                if let Some(Json::Object(block)) = part::encode(&part) {
                    let at = self.block(block, extra, frames);
                    frames.push(frame("content-end", object! {"index": at}));
                }
                return;
            }
        };
        self.open.insert(index, slot);
    }

    /// Begins a content block and returns its index.
    fn block(&mut self, mut block: Object, extra: &Extra, frames: &mut Vec<Frame>) -> usize {
        extra.write_into(DIALECT, &mut block);
        frames.push(in_delta("content-start", Some(self.contents), "content", block));
        self.contents += 1;
        self.contents - 1
    }

    fn part_delta(&mut self, index: usize, delta: Delta, frames: &mut Vec<Frame>) {
        let Some(slot) = self.open.get_mut(&index) else { return };
        let (Delta::Text(text) | Delta::Arguments(text) | Delta::Reasoning { text, .. }) = &delta;
        let text = text.as_str();
        frames.push(match (slot, &delta) {
            (Slot::Plan, _) => in_delta("tool-plan-delta", None, TOOL_PLAN, text),
            (Slot::Text(at), _) => {
                in_delta("content-delta", Some(*at), "content", object! {"text": text})
            }
            (Slot::Thinking(at, open), Delta::Reasoning { section, .. }) => {
                // Sections are separated as in a complete reply.
                let gap = if section == open { "" } else { "\n\n" };
                *open = *section;
                let block = object! {"thinking": format!("{gap}{text}")};
                in_delta("content-delta", Some(*at), "content", block)
            }
            (Slot::Thinking(at, _), _) => {
                in_delta("content-delta", Some(*at), "content", object! {"thinking": text})
            }
            (Slot::Call(at), _) => {
                let call = object! {"function": object! {"arguments": text}};
                in_delta("tool-call-delta", Some(*at), "tool_calls", call)
            }
        });
    }

    fn part_end(&mut self, index: usize, frames: &mut Vec<Frame>) {
        match self.open.remove(&index) {
            Some(Slot::Text(at) | Slot::Thinking(at, _)) => {
                frames.push(frame("content-end", object! {"index": at}));
            }
            Some(Slot::Call(at)) => frames.push(frame("tool-call-end", object! {"index": at})),
            Some(Slot::Plan) | None => {}
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        let mut rest = self.stop.extra.for_dialect(DIALECT).cloned().unwrap_or_default();
        if let Some(Json::Object(message)) = rest.get_mut("message") {
            if let Some(Json::Array(citations)) = message.remove("citations") {
                for (at, citation) in citations.into_iter().enumerate() {
                    frames.push(in_delta("citation-start", Some(at), "citations", citation));
                    frames.push(frame("citation-end", object! {"index": at}));
                }
            }
            if message.is_empty() {
                rest.remove("message");
            }
        }
        let mut delta = object! {"finish_reason": response::encode_stop(&self.stop)};
        delta.insert("usage", response::encode_usage(self.usage.as_ref()));
        note::merge(&mut delta, &rest);
        frames.push(frame("message-end", object! {"delta": delta}));
        frames.push(Frame::data(DONE));
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(start) => {
                let message = object! {
                    "role": "assistant",
                    "content": Json::Array(vec![]),
                    "tool_plan": "",
                    "tool_calls": Json::Array(vec![]),
                    "citations": Json::Array(vec![]),
                };
                let mut object = object! {
                    "id": response::encode_id(start.id.as_deref()),
                    "delta": object! {"message": message},
                };
                start.extra.write_into(DIALECT, &mut object);
                frames.push(frame("message-start", object));
            }
            Event::PartStart { index, head, extra } => {
                self.part_start(index, head, &extra, frames);
            }
            Event::PartDelta { index, delta } => self.part_delta(index, delta, frames),
            Event::PartEnd { index, .. } => self.part_end(index, frames),
            Event::Stop(stop) => self.stop = stop,
            Event::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            Event::End => self.end(frames),
            Event::Fault(fault) => {
                let delta = object! {"finish_reason": "ERROR", "error": fault.message};
                frames.push(frame("message-end", object! {"delta": delta}));
            }
            Event::Ping => {}
        }
    }
}

/// Creates a frame with `delta.message.<key>`.
fn in_delta(
    name: &'static str,
    index: Option<usize>,
    key: &'static str,
    value: impl Into<Json>,
) -> Frame {
    let message = Object::from_iter([(key.into(), value.into())]);
    let mut object = Object::new();
    object.insert_some("index", index);
    object.insert("delta", object! {"message": message});
    frame(name, object)
}

/// A frame whose name is also its `type`.
fn frame(name: &'static str, fields: Object) -> Frame {
    Frame::named(name, Line::new().string("type", name).members(&fields).end())
}
