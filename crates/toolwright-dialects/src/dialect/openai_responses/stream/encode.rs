//! Encodes streams. Items come one after another; the last event repeats them all.

use toolwright_core::event::join::Open;
use toolwright_core::event::sequence::Sequencer;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::tool::split_name;
use toolwright_core::{Arguments, Body, Event, Extra, Fault, Part, Role, Stop, StopReason, Usage};
use toolwright_json::{Json, Object, object};

use super::super::part::content::{self, Side};
use super::super::part::{self, Writer};
use super::super::{fault, response};
use super::Steps;
use super::number::Numbers;
use super::section::Sections;
use crate::codec::{ReplyContext, StreamEncoder};
use crate::frame::Frame;

/// The encoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Encoder {
    reply_context: ReplyContext,
    sequencer: Sequencer,
    /// The response, once it has begun
    response: Option<Object>,
    /// The parts that are complete
    parts: Vec<Part>,
    number: Numbers,
    current: Option<Current>,
    stop: Stop,
    usage: Option<Usage>,
}

/// The open part.
#[derive(Debug)]
struct Current {
    open: Open,
    kind: Kind,
    /// The tool's name, for calls
    name: String,
    /// The content so far, if it is not reasoning
    text: String,
    sections: Sections,
    /// The end of a complete part
    tail: Option<Tail>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    /// Content of another type, which is complete
    Content,
    Function,
    Custom,
    /// A tool that the client runs by its type: its input is complete
    Client,
    Reasoning,
    /// An item of another type, which is complete
    Whole,
}

impl Encoder {
    pub(in super::super) fn new(reply_context: &ReplyContext) -> Encoder {
        Encoder { reply_context: reply_context.clone(), ..Encoder::default() }
    }

    fn start(&mut self, start: &Start, frames: &mut Vec<Frame>) {
        let response = response::encode_start(start, &self.reply_context);
        for name in ["response.created", "response.in_progress"] {
            self.number.frame(name, object! {"response": response.clone()}, frames);
        }
        self.response = Some(response);
    }

    /// Encodes the item of some parts, as the next or as the open one.
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
        let joins = is_content && self.number.message.is_some() && part::is_joined(&blank);
        if !joins {
            self.message_done(frames);
            let Some(item) = self.write_item(self.number.items, std::slice::from_ref(&blank))
            else {
                return;
            };
            self.number.message = is_content.then_some(self.parts.len());
            self.item_added(kind, item, frames);
        }
        if let Some(part) = content::encode(&blank, Side::Output).filter(|_| is_content) {
            self.number.content(
                self.parts.len(),
                "response.content_part.added",
                object! {"part": part},
                frames,
            );
        }
        let name = blank.as_call().map_or(String::new(), |call| call.name.clone());
        self.current = Some(Current {
            open: Open::new(steps.head, steps.extra),
            kind,
            name,
            text: String::new(),
            sections: Sections::default(),
            tail: whole.then_some(steps.tail),
        });
        for delta in steps.deltas {
            self.part_delta(delta, frames);
        }
    }

    /// Announces an item, without the content that follows.
    fn item_added(&mut self, kind: Kind, mut item: Object, frames: &mut Vec<Frame>) {
        let id = item.get("id").and_then(Json::as_str).unwrap_or_default();
        id.clone_into(&mut self.number.id);
        match kind {
            Kind::Text | Kind::Refusal | Kind::Content => {
                item.insert("content", Json::Array(vec![]));
            }
            Kind::Function => item.insert("arguments", ""),
            Kind::Custom => item.insert("input", ""),
            Kind::Client | Kind::Reasoning | Kind::Whole => {}
        }
        if kind != Kind::Whole && item.contains_key("status") {
            item.insert("status", part::BEGUN);
        }
        let fields = object! {"output_index": self.number.items, "item": item};
        self.number.items += 1;
        self.number.frame("response.output_item.added", fields, frames);
    }

    fn part_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let Some(mut current) = self.current.take() else { return };
        match &delta {
            Delta::Text(text) => {
                current.text.push_str(text);
                let text = text.as_str();
                if current.kind == Kind::Refusal {
                    self.number.content(
                        self.parts.len(),
                        "response.refusal.delta",
                        object! {"delta": text},
                        frames,
                    );
                } else {
                    let fields = object! {"delta": text, "logprobs": Json::Array(vec![])};
                    self.number.content(
                        self.parts.len(),
                        "response.output_text.delta",
                        fields,
                        frames,
                    );
                }
            }
            Delta::Arguments(text) => {
                current.text.push_str(text);
                self.arguments_delta(current.kind, text, frames);
            }
            Delta::Reasoning { section, kind, text } => {
                current.sections.append(*section, *kind, text, &mut self.number, frames);
            }
        }
        current.open.grow(&delta);
        self.current = Some(current);
    }

    fn arguments_delta(&mut self, kind: Kind, text: &str, frames: &mut Vec<Frame>) {
        let name = match kind {
            Kind::Client => return,
            Kind::Custom => "response.custom_tool_call_input.delta",
            _ => "response.function_call_arguments.delta",
        };
        self.number.item(name, object! {"delta": text}, frames);
    }

    fn part_end(&mut self, tail: Tail, frames: &mut Vec<Frame>) {
        let Some(mut current) = self.current.take() else { return };
        let silent = current.text.is_empty();
        if current.kind == Kind::Reasoning {
            current.sections.close(&mut self.number, frames);
        }
        let part = current.open.close(current.tail.unwrap_or(tail));
        match current.kind {
            Kind::Text => {
                let fields = object! {"text": current.text, "logprobs": Json::Array(vec![])};
                self.number.content(self.parts.len(), "response.output_text.done", fields, frames);
            }
            Kind::Refusal => {
                let fields = object! {"refusal": current.text};
                self.number.content(self.parts.len(), "response.refusal.done", fields, frames);
            }
            Kind::Function | Kind::Custom => {
                let text = part.as_call().map_or("", |call| call.arguments.as_str()).to_owned();
                if silent && !text.is_empty() {
                    self.arguments_delta(current.kind, &text, frames);
                }
                if current.kind == Kind::Custom {
                    let fields = object! {"input": text};
                    self.number.item("response.custom_tool_call_input.done", fields, frames);
                } else {
                    let fields = object! {"arguments": text, "name": split_name(&current.name).1};
                    self.number.item("response.function_call_arguments.done", fields, frames);
                }
            }
            Kind::Content | Kind::Client | Kind::Reasoning | Kind::Whole => {}
        }
        if matches!(current.kind, Kind::Text | Kind::Refusal | Kind::Content) {
            if let Some(wire) = content::encode(&part, Side::Output) {
                self.number.content(
                    self.parts.len(),
                    "response.content_part.done",
                    object! {"part": wire},
                    frames,
                );
            }
            self.parts.push(part);
        } else {
            self.parts.push(part);
            self.item_done(self.parts.len() - 1, frames);
        }
    }

    /// Ends the open message, if there is one.
    fn message_done(&mut self, frames: &mut Vec<Frame>) {
        if let Some(from) = self.number.message.take() {
            self.item_done(from, frames);
        }
    }

    /// Ends an item, whose parts start at an index.
    fn item_done(&mut self, from: usize, frames: &mut Vec<Frame>) {
        let number = self.number.items.saturating_sub(1);
        if let Some(item) = self.write_item(number, &self.parts[from..]) {
            let fields = object! {"output_index": number, "item": item};
            self.number.frame("response.output_item.done", fields, frames);
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
        self.number.frame(name, object! {"response": response}, frames);
    }

    /// Ends with a fault: a response that has begun has failed.
    fn fault(&mut self, fault: &Fault, frames: &mut Vec<Frame>) {
        let Some(start) = self.response.take() else {
            return self.number.frame("error", fault::encode_event(fault), frames);
        };
        let stop = Stop::new(StopReason::Failed);
        let mut response = response::encode_end(start, &self.parts, &stop, self.usage.as_ref());
        response.insert("error", fault::encode_failed(fault));
        self.number.frame("response.failed", object! {"response": response}, frames);
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        self.sequencer.push(event);
        while let Some(event) = self.sequencer.pop() {
            match event {
                Event::Start(start) => self.start(&start, frames),
                Event::PartStart { head, extra, .. } => self.part_start(head, extra, frames),
                Event::PartDelta { delta, .. } => self.part_delta(delta, frames),
                Event::PartEnd { tail, .. } => self.part_end(tail, frames),
                Event::Stop(stop) => self.stop = stop,
                Event::Usage(usage) => self.usage.get_or_insert_default().update(usage),
                Event::End => self.end(frames),
                Event::Fault(fault) => self.fault(&fault, frames),
                // The format has no keep-alive event.
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
        Body::Call(call) if part::client::of_call(call).is_some() => Kind::Client,
        Body::Call(call) if matches!(call.arguments, Arguments::Free(_)) => Kind::Custom,
        Body::Call(_) => Kind::Function,
        _ if part::is_content(Role::Assistant, blank) => Kind::Content,
        _ => Kind::Whole,
    }
}
