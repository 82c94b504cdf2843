//! Streams, written. Items come one after another; the last event repeats them all.

use super::super::item::{self, Writer};
use super::super::part::{self, Side};
use super::super::wire::{DIALECT, JOINED};
use super::super::{fault, response};
use super::Steps;
use crate::dialect::{Asked, StreamEncoder};
use crate::event::join::Open;
use crate::event::sequence::Sequencer;
use crate::event::{Delta, Event, Head, Start, Tail};
use crate::extra::Extra;
use crate::fault::Fault;
use crate::frame::Frame;
use crate::json::{Json, Object};
use crate::message::Role;
use crate::object;
use crate::part::{Body, Part, SectionKind};
use crate::response::{Stop, StopReason};
use crate::usage::Usage;

/// Writes a stream.
#[derive(Debug)]
pub(in crate::dialect::openai_responses) struct Encoder {
    asked: Asked,
    sequencer: Sequencer,
    /// How many frames were written
    frames: usize,
    /// The response as it began, once it did
    response: Option<Object>,
    /// The parts that are complete
    parts: Vec<Part>,
    /// The item that is open, or was last
    item: Item,
    current: Option<Current>,
    stop: Stop,
    usage: Option<Usage>,
}

/// Where frames belong.
#[derive(Debug, Default)]
struct Item {
    /// How many items have begun
    count: usize,
    id: String,
    /// The first of the parts of a message that may have more of them
    message: Option<usize>,
}

/// The part that is open.
#[derive(Debug)]
struct Current {
    open: Open,
    kind: Kind,
    /// The tool's name, for calls
    name: String,
    /// What was said so far; of reasoning, in the section that is open
    text: String,
    /// The sections that were opened, each with its number among its kind
    sections: Vec<(SectionKind, usize)>,
    /// The end of a part that came whole
    tail: Option<Tail>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    /// Content of another kind, which comes whole
    Content,
    Function,
    Custom,
    Reasoning,
    /// An item of another kind, which comes whole
    Whole,
}

impl Encoder {
    pub(in crate::dialect::openai_responses) fn new(asked: &Asked) -> Encoder {
        Encoder {
            asked: asked.clone(),
            sequencer: Sequencer::default(),
            frames: 0,
            response: None,
            parts: Vec::new(),
            item: Item::default(),
            current: None,
            stop: Stop::default(),
            usage: None,
        }
    }

    /// Appends a frame, named as its `type` and numbered.
    fn frame(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let mut object = object! {"type": name, "sequence_number": self.frames};
        self.frames += 1;
        for (key, value) in fields {
            object.push(key, value);
        }
        frames.push(Frame::named(name, Json::Object(object).to_string()));
    }

    /// Appends a frame about the item that is open.
    fn item_frame(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let mut object = object! {
            "item_id": self.item.id.as_str(),
            "output_index": self.item.count.saturating_sub(1),
        };
        for (key, value) in fields {
            object.push(key, value);
        }
        self.frame(name, object, frames);
    }

    /// Appends a frame about a part of the message that is open.
    fn content_frame(&mut self, name: &str, fields: Object, frames: &mut Vec<Frame>) {
        let from = self.item.message.unwrap_or_default();
        let mut object = object! {"content_index": self.parts.len() - from};
        for (key, value) in fields {
            object.push(key, value);
        }
        self.item_frame(name, object, frames);
    }

    fn start(&mut self, start: &Start, frames: &mut Vec<Frame>) {
        let response = response::encode_start(start, &self.asked);
        for name in ["response.created", "response.in_progress"] {
            self.frame(name, object! {"response": response.clone()}, frames);
        }
        self.response = Some(response);
    }

    /// Writes the item that some parts make, as the next or as the one that is open.
    fn write_item(&self, number: usize, parts: &[Part]) -> Option<Object> {
        let id = self.response.as_ref().and_then(|own| own.get("id")).and_then(Json::as_str);
        let mut writer = Writer::response(id.unwrap_or_default(), number);
        match writer.parts(Role::Assistant, parts).pop() {
            Some(Json::Object(item)) => Some(item),
            _ => None,
        }
    }

    fn part_start(&mut self, head: Head, extra: Extra, frames: &mut Vec<Frame>) {
        let (steps, whole) = match head {
            Head::Whole(part) => (Steps::of(*part), true),
            head => (Steps { head, extra, deltas: vec![], tail: Tail::default() }, false),
        };
        let blank = Open::new(steps.head.clone(), steps.extra.clone()).close(Tail::default());
        let kind = kind_of(&blank);
        let is_content = matches!(kind, Kind::Text | Kind::Refusal | Kind::Content);
        let joins =
            is_content && self.item.message.is_some() && blank.extra.get(DIALECT, JOINED).is_some();
        if !joins {
            self.message_done(frames);
            let Some(item) = self.write_item(self.item.count, std::slice::from_ref(&blank)) else {
                return;
            };
            self.item.message = is_content.then_some(self.parts.len());
            self.item_added(kind, item, frames);
        }
        if let Some(part) = part::encode(&blank, Side::Output).filter(|_| is_content) {
            self.content_frame("response.content_part.added", object! {"part": part}, frames);
        }
        let name = blank.as_call().map_or(String::new(), |call| call.name.clone());
        self.current = Some(Current {
            open: Open::new(steps.head, steps.extra),
            kind,
            name,
            text: String::new(),
            sections: vec![],
            tail: whole.then_some(steps.tail),
        });
        for delta in steps.deltas {
            self.part_delta(delta, frames);
        }
    }

    /// Announces an item, without what is still to come.
    fn item_added(&mut self, kind: Kind, mut item: Object, frames: &mut Vec<Frame>) {
        let id = item.get("id").and_then(Json::as_str).unwrap_or_default();
        id.clone_into(&mut self.item.id);
        match kind {
            Kind::Text | Kind::Refusal | Kind::Content => {
                item.insert("content", Json::Array(vec![]));
            }
            Kind::Function => item.insert("arguments", ""),
            Kind::Custom => item.insert("input", ""),
            Kind::Reasoning | Kind::Whole => {}
        }
        if kind != Kind::Whole && item.contains_key("status") {
            item.insert("status", "in_progress");
        }
        let fields = object! {"output_index": self.item.count, "item": item};
        self.item.count += 1;
        self.frame("response.output_item.added", fields, frames);
    }

    fn part_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let Some(mut current) = self.current.take() else { return };
        match &delta {
            Delta::Text(text) => {
                current.text.push_str(text);
                let text = text.as_str();
                if current.kind == Kind::Refusal {
                    self.content_frame("response.refusal.delta", object! {"delta": text}, frames);
                } else {
                    let fields = object! {"delta": text, "logprobs": Json::Array(vec![])};
                    self.content_frame("response.output_text.delta", fields, frames);
                }
            }
            Delta::Arguments(text) => {
                current.text.push_str(text);
                self.arguments_delta(current.kind, text, frames);
            }
            Delta::Reasoning { section, kind, text } => {
                if *section >= current.sections.len() {
                    self.section_done(&mut current, frames);
                    let number = current.sections.iter().filter(|(own, _)| own == kind).count();
                    current.sections.push((*kind, number));
                    let (_, part, fields) = section_words(*kind, number, "");
                    self.item_frame(&format!("{part}.added"), fields, frames);
                }
                let (kind, number) = current.sections[(*section).min(current.sections.len() - 1)];
                current.text.push_str(text);
                let (name, _, mut fields) = section_words(kind, number, "");
                fields.remove("part");
                fields.push("delta", text.as_str());
                self.item_frame(&format!("{name}.delta"), fields, frames);
            }
        }
        current.open.grow(delta);
        self.current = Some(current);
    }

    fn arguments_delta(&mut self, kind: Kind, text: &str, frames: &mut Vec<Frame>) {
        let name = match kind {
            Kind::Custom => "response.custom_tool_call_input.delta",
            _ => "response.function_call_arguments.delta",
        };
        self.item_frame(name, object! {"delta": text}, frames);
    }

    /// Closes the section of reasoning that is open, if one is.
    fn section_done(&mut self, current: &mut Current, frames: &mut Vec<Frame>) {
        let Some((kind, number)) = current.sections.last().copied() else { return };
        let text = std::mem::take(&mut current.text);
        let (name, part, fields) = section_words(kind, number, &text);
        let mut words = fields.clone();
        words.remove("part");
        words.push("text", text);
        self.item_frame(&format!("{name}.done"), words, frames);
        self.item_frame(&format!("{part}.done"), fields, frames);
    }

    fn part_end(&mut self, tail: Tail, frames: &mut Vec<Frame>) {
        let Some(mut current) = self.current.take() else { return };
        let silent = current.text.is_empty();
        if current.kind == Kind::Reasoning {
            self.section_done(&mut current, frames);
        }
        let part = current.open.close(current.tail.unwrap_or(tail));
        match current.kind {
            Kind::Text => {
                let fields = object! {"text": current.text, "logprobs": Json::Array(vec![])};
                self.content_frame("response.output_text.done", fields, frames);
            }
            Kind::Refusal => {
                let fields = object! {"refusal": current.text};
                self.content_frame("response.refusal.done", fields, frames);
            }
            Kind::Function | Kind::Custom => {
                let text = part.as_call().map_or("", |call| call.arguments.as_str()).to_owned();
                if silent && !text.is_empty() {
                    self.arguments_delta(current.kind, &text, frames);
                }
                if current.kind == Kind::Custom {
                    let fields = object! {"input": text};
                    self.item_frame("response.custom_tool_call_input.done", fields, frames);
                } else {
                    let fields = object! {"arguments": text, "name": current.name};
                    self.item_frame("response.function_call_arguments.done", fields, frames);
                }
            }
            Kind::Content | Kind::Reasoning | Kind::Whole => {}
        }
        if matches!(current.kind, Kind::Text | Kind::Refusal | Kind::Content) {
            if let Some(wire) = part::encode(&part, Side::Output) {
                self.content_frame("response.content_part.done", object! {"part": wire}, frames);
            }
            self.parts.push(part);
        } else {
            self.parts.push(part);
            self.item_done(self.parts.len() - 1, frames);
        }
    }

    /// Ends the message that is open, if one is.
    fn message_done(&mut self, frames: &mut Vec<Frame>) {
        if let Some(from) = self.item.message.take() {
            self.item_done(from, frames);
        }
    }

    /// Ends an item, whose parts are the last ones from a number on.
    fn item_done(&mut self, from: usize, frames: &mut Vec<Frame>) {
        let number = self.item.count.saturating_sub(1);
        if let Some(item) = self.write_item(number, &self.parts[from..]) {
            let fields = object! {"output_index": number, "item": item};
            self.frame("response.output_item.done", fields, frames);
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        self.message_done(frames);
        let start = self.response.take().unwrap_or_default();
        let response = response::encode_end(start, &self.parts, &self.stop, self.usage.as_ref());
        let name = match response.get("status").and_then(Json::as_str) {
            Some("completed") => "response.completed",
            Some("failed") => "response.failed",
            _ => "response.incomplete",
        };
        self.frame(name, object! {"response": response}, frames);
    }

    /// Breaks off: within a response it is the response that failed.
    fn fault(&mut self, fault: &Fault, frames: &mut Vec<Frame>) {
        let Some(start) = self.response.take() else {
            return self.frame("error", fault::encode_event(fault), frames);
        };
        let stop = Stop::new(StopReason::Failed);
        let mut response = response::encode_end(start, &self.parts, &stop, self.usage.as_ref());
        response.insert("error", fault::encode_failed(fault));
        self.frame("response.failed", object! {"response": response}, frames);
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        let mut ready = Vec::new();
        self.sequencer.push(event, &mut ready);
        for event in ready {
            match event {
                Event::Start(start) => self.start(&start, frames),
                Event::PartStart { head, extra, .. } => self.part_start(head, extra, frames),
                Event::PartDelta { delta, .. } => self.part_delta(delta, frames),
                Event::PartEnd { tail, .. } => self.part_end(tail, frames),
                Event::Stop(stop) => self.stop = stop,
                Event::Usage(usage) => self.usage.get_or_insert_default().update(usage),
                Event::End => self.end(frames),
                Event::Fault(fault) => self.fault(&fault, frames),
                // The format has no event that says nothing.
                Event::Ping => {}
            }
        }
    }
}

fn kind_of(blank: &Part) -> Kind {
    match &blank.body {
        Body::Text(_) => Kind::Text,
        Body::Refusal(_) => Kind::Refusal,
        Body::Reasoning(_) => Kind::Reasoning,
        Body::Call(call) if matches!(call.arguments, crate::Arguments::Free(_)) => Kind::Custom,
        Body::Call(_) => Kind::Function,
        _ if item::is_content(Role::Assistant, blank) => Kind::Content,
        _ => Kind::Whole,
    }
}

/// The names of a section's events and of its part's events, and the fields that the latter share.
fn section_words(
    kind: SectionKind,
    number: usize,
    text: &str,
) -> (&'static str, &'static str, Object) {
    match kind {
        SectionKind::Summary => (
            "response.reasoning_summary_text",
            "response.reasoning_summary_part",
            object! {"summary_index": number, "part": object! {"type": "summary_text", "text": text}},
        ),
        SectionKind::Full => (
            "response.reasoning_text",
            "response.content_part",
            object! {"content_index": number, "part": object! {"type": "reasoning_text", "text": text}},
        ),
    }
}
