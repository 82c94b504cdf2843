//! Encodes events as chunks: role, fragments, stop reason, usage, `[DONE]`.

use std::collections::BTreeMap;

use toolwright_core::event::split::split_part;
use toolwright_core::event::{Delta, Head, Start};
use toolwright_core::part::Opaque;
use toolwright_core::{Body, Event, Extra, Part, Stop, Usage, note};
use toolwright_json::{Json, Line, Object, object};

use crate::codec::{ReplyContext, StreamEncoder};
use crate::dialect::openai_chat::quirks::{Quirks, UsagePlace};
use crate::dialect::openai_chat::response::{self, Rest};
use crate::dialect::openai_chat::{fault, part, wire};
use crate::frame::{DONE, Frame};

/// The encoder of a stream.
#[derive(Debug)]
pub(in crate::dialect::openai_chat) struct Encoder {
    quirks: &'static Quirks,
    reply_context: ReplyContext,
    /// The fields that every chunk repeats
    head: Object,
    /// The same, encoded
    opening: Line,
    /// The same, up to the text of a delta
    delta: Line,
    parts: BTreeMap<usize, OpenPart>,
    calls: usize,
    stop: Stop,
    usage: Option<Usage>,
}

/// An open part, by the field of its deltas.
#[derive(Debug, Clone, Copy)]
enum OpenPart {
    Content,
    Refusal,
    Reasoning { key: &'static str, section: usize },
    Call { at: usize, kind: &'static str, text: &'static str },
}

impl Encoder {
    pub(in crate::dialect::openai_chat) fn new(
        reply_context: &ReplyContext,
        quirks: &'static Quirks,
    ) -> Encoder {
        Encoder {
            quirks,
            reply_context: reply_context.clone(),
            head: Object::new(),
            opening: Line::new(),
            delta: choice(&Line::new()),
            parts: BTreeMap::new(),
            calls: 0,
            stop: Stop::default(),
            usage: None,
        }
    }

    fn start(&mut self, start: &Start, frames: &mut Vec<Frame>) {
        self.head = response::encode_start(
            "chat.completion.chunk",
            start,
            &self.reply_context,
            self.quirks,
        );
        self.opening = Line::new().members(&self.head);
        self.delta = choice(&self.opening);
        self.delta(frames, |line| line.string("role", "assistant").string("content", ""));
    }

    fn chunk(&self, choices: Vec<Json>, usage: Option<Object>, frames: &mut Vec<Frame>) {
        let mut own = object! {"choices": choices};
        if usage.is_some() || self.reply_context.stream_usage {
            own.push("usage", usage);
        }
        frames.push(Frame::data(self.opening.fork().members(&own).end()));
    }

    /// Encodes a chunk with a delta only, as most chunks are.
    fn delta(&self, frames: &mut Vec<Frame>, say: impl FnOnce(Line) -> Line) {
        let choice = say(self.delta.fork()).close().null("logprobs").null("finish_reason");
        let chunk = choice.close_only();
        let chunk = if self.reply_context.stream_usage { chunk.null("usage") } else { chunk };
        frames.push(Frame::data(chunk.end()));
    }

    fn call(&self, call: Object, frames: &mut Vec<Frame>) {
        self.delta(frames, |line| line.open_only("tool_calls").members(&call).close_only());
    }

    fn part_start(&mut self, index: usize, head: Head, extra: &Extra, frames: &mut Vec<Frame>) {
        let place = match head {
            Head::Text => OpenPart::Content,
            Head::Refusal => OpenPart::Refusal,
            Head::Reasoning => {
                OpenPart::Reasoning { key: part::reasoning_key(extra, self.quirks), section: 0 }
            }
            Head::Call { id, name, free } => {
                let (kind, text) =
                    if free { ("custom", "input") } else { ("function", "arguments") };
                let at = self.calls;
                self.calls += 1;
                let outer = object! {"index": at, "id": id.unwrap_or_default(), "type": kind};
                let mut inner = object! {"name": name};
                inner.insert(text, "");
                let call = wire::nest(outer, kind, inner, extra, self.quirks);
                self.call(call, frames);
                OpenPart::Call { at, kind, text }
            }
            Head::Whole(part) => return self.encode_complete(index, *part, frames),
        };
        self.parts.insert(index, place);
    }

    fn encode_complete(&mut self, index: usize, part: Part, frames: &mut Vec<Frame>) {
        match part.body {
            Body::Reasoning(ref own) if own.redacted => {}
            Body::Reasoning(_) | Body::Text(_) | Body::Refusal(_) | Body::Call(_) => {
                let mut events = Vec::new();
                split_part(index, part, &mut events);
                for event in events {
                    self.encode(event, frames);
                }
            }
            Body::Opaque(Opaque { value: Json::Object(mut call), .. })
                if part.extra.get(self.quirks.dialect, wire::PLACE).is_some() =>
            {
                call.insert("index", self.calls);
                self.calls += 1;
                self.call(call, frames);
            }
            _ => {}
        }
    }

    fn part_delta(&mut self, index: usize, delta: Delta, frames: &mut Vec<Frame>) {
        let Some(place) = self.parts.get_mut(&index) else { return };
        match (*place, delta) {
            (OpenPart::Content, Delta::Text(text)) => {
                self.delta(frames, |line| line.string("content", &text));
            }
            (OpenPart::Refusal, Delta::Text(text)) => {
                self.delta(frames, |line| line.string("refusal", &text));
            }
            (OpenPart::Reasoning { key, section }, Delta::Reasoning { section: now, text, .. }) => {
                let gap = if now == section { "" } else { "\n\n" };
                *place = OpenPart::Reasoning { key, section: now };
                self.delta(frames, |line| line.string(key, &format!("{gap}{text}")));
            }
            (OpenPart::Call { at, kind, text: key }, Delta::Arguments(text)) => {
                self.delta(frames, |line| {
                    let call = line.open_only("tool_calls").count("index", at).open(kind);
                    call.string(key, &text).close().close_only()
                });
            }
            _ => {}
        }
    }

    /// Sends values that are known only at the end of a call.
    fn part_end(&mut self, index: usize, extra: &Extra, frames: &mut Vec<Frame>) {
        let Some(OpenPart::Call { at, kind, .. }) = self.parts.remove(&index) else { return };
        if extra.for_dialect(self.quirks.dialect).is_some() {
            let outer = object! {"index": at};
            let call = wire::nest(outer, kind, Object::new(), extra, self.quirks);
            self.call(call, frames);
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        let rest = Rest::of(&self.stop, self.quirks);
        let mut delta = Object::new();
        note::merge(&mut delta, &rest.message);
        let mut choice = object! {"index": 0_usize, "delta": delta};
        response::finish(&mut choice, &rest.choice, &self.stop);
        let mut choices = vec![Json::Object(choice)];
        choices.extend(rest.others.into_iter().map(as_delta));
        note::merge(&mut self.head, &rest.late);
        self.opening = Line::new().members(&self.head);
        let usage = self.usage.as_ref().map(|usage| response::encode_usage(usage, self.quirks));
        let (last, own) = match self.quirks.stream_usage {
            UsagePlace::LastChunk => (usage, None),
            UsagePlace::OwnChunk => (None, usage.filter(|_| self.reply_context.stream_usage)),
        };
        self.chunk(choices, last, frames);
        if own.is_some() {
            self.chunk(vec![], own, frames);
        }
        frames.push(Frame::data(DONE));
    }
}

/// Returns a chunk up to the text of its delta.
fn choice(opening: &Line) -> Line {
    opening.fork().open_only("choices").count("index", 0).open("delta")
}

/// Converts a choice of a complete reply to that of a chunk.
fn as_delta(mut choice: Json) -> Json {
    let Some(own) = choice.as_object_mut() else { return choice };
    if let Some(mut message) = own.remove("message") {
        if let Some(Json::Array(calls)) =
            message.as_object_mut().and_then(|own| own.get_mut("tool_calls"))
        {
            for (at, call) in calls.iter_mut().enumerate() {
                if let Some(call) = call.as_object_mut() {
                    call.insert("index", at);
                }
            }
        }
        own.insert("delta", message);
    }
    choice
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(start) => self.start(&start, frames),
            Event::PartStart { index, head, extra } => {
                self.part_start(index, head, &extra, frames);
            }
            Event::PartDelta { index, delta } => self.part_delta(index, delta, frames),
            Event::PartEnd { index, tail } => self.part_end(index, &tail.extra, frames),
            Event::Stop(stop) => self.stop = stop,
            Event::Usage(usage) => match &mut self.usage {
                Some(own) => own.update(usage),
                place => *place = Some(usage),
            },
            Event::End => self.end(frames),
            Event::Fault(fault) => {
                let body = fault::encode_body(&fault, self.quirks);
                frames.push(Frame::data(body.compact()));
            }
            // Keep-alives are comments here, which are not frames.
            Event::Ping => {}
        }
    }
}
