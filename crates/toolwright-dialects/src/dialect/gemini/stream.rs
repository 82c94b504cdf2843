//! Streams: each chunk is a response whose parts continue the last one; calls are complete.

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::gather::Gatherer;
use toolwright_core::event::sequence::Sequencer;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::{Reasoning, SectionKind, Signature};
use toolwright_core::{Body, Event, Extra, FaultClass, Part, Stop, Usage};
use toolwright_json::{Json, Object, Path, Text, object};

use super::wire::{self, DIALECT};
use super::{fault, part, response};
use crate::codec::{FrameStatus, ReplyContext, Result, StreamDecoder, StreamEncoder, parse_frame};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    emit: Emitter,
    words: Option<Words>,
    calls: part::Assembler,
    /// The fields of the candidate so far
    candidate: Extra,
    /// The stop, held until the end: more text may follow the first finish reason
    stop: Option<Stop>,
    /// The last usage
    usage: Option<Usage>,
}

/// A text or a thought that may continue.
#[derive(Debug)]
struct Words {
    index: usize,
    thought: bool,
    extra: Extra,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        // Compatible servers end their streams as OpenAI does.
        if frame.is_done() {
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        let value = fault::unwrap(value);
        if value.get("error").is_some() {
            self.emit.fault(fault::decode_body(value, FaultClass::Internal)?, out);
            return Ok(FrameStatus::Known);
        }
        let mut fields = wire::open(value, Path::ROOT)?;
        if fields.require_reply(&response::FIELDS).is_err() {
            return Ok(FrameStatus::Unknown);
        }
        let candidates = fields.array("candidates")?;
        let usage = response::decode_usage(&mut fields)?;
        let block = response::decode_block(&fields).filter(|_| candidates.is_empty());
        self.emit.start(response::decode_start(fields)?, out);
        if let Some(usage) = usage {
            // Only the last report is complete: totals and details of earlier ones must not remain.
            self.emit.usage(Usage { extra: Extra::NONE, ..usage.clone() }, out);
            self.usage = Some(usage);
        }
        let path = Path::ROOT.key("candidates");
        for (index, wire) in candidates.into_iter().enumerate() {
            // Of several candidates only the first is decoded.
            if wire.get("index").is_none_or(|own| own.as_u64() == Some(0)) {
                self.candidate(wire, path.index(index), out)?;
            }
        }
        if block.is_some() {
            self.stop = block;
        }
        Ok(FrameStatus::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        if let Some(call) = self.calls.finish().filter(|_| self.stop.is_some()) {
            self.complete(call, out);
        }
        self.close(None, out);
        if let Some(mut stop) = self.stop.take() {
            stop.extra.update(std::mem::take(&mut self.candidate));
            self.emit.stop(stop, out);
        }
        if let Some(usage) = self.usage.take() {
            self.emit.usage(usage, out);
        }
        self.emit.finish(out);
    }
}

impl Decoder {
    fn candidate(&mut self, wire: Json, path: Path<'_>, out: &mut Vec<Event>) -> Result<()> {
        let own = response::decode_candidate(wire, path)?;
        for part in own.parts {
            self.part(part, out);
        }
        self.candidate.update(own.extra);
        if own.word.is_some() {
            self.stop = Some(response::decode_stop(own.word, Extra::NONE));
        }
        Ok(())
    }

    fn part(&mut self, part: Part, out: &mut Vec<Event>) {
        for part in self.calls.push(part) {
            self.complete(part, out);
        }
    }

    fn complete(&mut self, part: Part, out: &mut Vec<Event>) {
        if matches!(part.body, Body::Text(_) | Body::Reasoning(_)) {
            self.words(part, out);
        } else {
            self.close(None, out);
            self.emit.part(part, out);
        }
    }

    /// Text continues while its kind is the same. A signature, which may come without text, ends
    /// it; an empty text without one, as at the end of a response, is skipped.
    fn words(&mut self, part: Part, out: &mut Vec<Event>) {
        let (thought, text) = match part.body {
            Body::Reasoning(reasoning) => (true, reasoning.joined()),
            Body::Text(text) => (false, text.into_string()),
            _ => return,
        };
        if text.is_empty() && part.signature.is_none() && part.extra.is_empty() {
            return;
        }
        match &mut self.words {
            Some(words) if words.thought == thought => words.extra.update(part.extra),
            _ => {
                self.close(None, out);
                let head = if thought { Head::Reasoning } else { Head::Text };
                let Some(index) = self.emit.open(head, part.extra, out) else { return };
                self.words = Some(Words { index, thought, extra: Extra::NONE });
            }
        }
        let Some(words) = &self.words else { return };
        let delta = if thought {
            Delta::Reasoning { section: 0, kind: SectionKind::Full, text }
        } else {
            Delta::Text(text)
        };
        self.emit.delta(words.index, delta, out);
        if part.signature.is_some() {
            self.close(part.signature, out);
        }
    }

    fn close(&mut self, signature: Option<Signature>, out: &mut Vec<Event>) {
        if let Some(Words { index, extra, .. }) = self.words.take() {
            self.emit.close(index, Tail { signature, cache: None, extra }, out);
        }
    }
}

/// The encoder of a stream: bare payloads, because the SDK fails on names, comments and `[DONE]`.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    reply_context: ReplyContext,
    sequencer: Sequencer,
    gatherer: Gatherer,
    start: Start,
    /// Whether a chunk was sent; extra fields of the response are in the first
    begun: bool,
    stop: Stop,
    usage: Option<Usage>,
    /// The open text or thought, as an empty part, and its section
    words: Option<(Part, usize)>,
}

impl Encoder {
    pub(super) fn new(reply_context: &ReplyContext) -> Encoder {
        Encoder { reply_context: reply_context.clone(), ..Encoder::default() }
    }

    fn write(&mut self, event: Event, frames: &mut Vec<Frame>) {
        match event {
            Event::Start(start) => self.start = start,
            Event::PartStart { head, extra, .. } => self.part_start(head, extra, frames),
            Event::PartDelta { delta, .. } => self.part_delta(delta, frames),
            Event::PartEnd { tail, .. } => self.part_end(tail, frames),
            Event::Stop(stop) => self.stop = stop,
            Event::Usage(usage) => match &mut self.usage {
                Some(own) => own.update(usage),
                place => *place = Some(usage),
            },
            Event::End => self.end(frames),
            Event::Fault(fault) => {
                frames.push(Frame::data(fault::encode_body(&fault).compact()));
            }
            // There is no frame that the SDK would skip.
            Event::Ping => {}
        }
    }

    fn part_start(&mut self, head: Head, extra: Extra, frames: &mut Vec<Frame>) {
        let body = match head {
            Head::Whole(part) => return self.part(&part, frames),
            Head::Reasoning => Body::Reasoning(Reasoning::default()),
            Head::Text | Head::Refusal | Head::Call { .. } => Body::Text(Text::default()),
        };
        self.words = Some((Part::new(body).with_extra(extra), 0));
    }

    fn part_delta(&mut self, delta: Delta, frames: &mut Vec<Frame>) {
        let Some((words, last)) = &mut self.words else { return };
        let extra = std::mem::take(&mut words.extra);
        let body = match delta {
            Delta::Text(text) | Delta::Arguments(text) => Body::Text(text.into()),
            Delta::Reasoning { section, text, .. } => {
                let parted = section != std::mem::replace(last, section);
                let text = if parted { format!("\n\n{text}") } else { text };
                Body::Reasoning(Reasoning::text(text))
            }
        };
        self.part(&Part::new(body).with_extra(extra), frames);
    }

    /// Values that are known only at the end are sent without text.
    fn part_end(&mut self, tail: Tail, frames: &mut Vec<Frame>) {
        let Some((mut words, _)) = self.words.take() else { return };
        words.extra.update(tail.extra);
        words.signature = tail.signature.filter(|own| own.dialect == DIALECT);
        if words.signature.is_some() || !words.extra.is_empty() {
            self.part(&words, frames);
        }
    }

    fn part(&mut self, part: &Part, frames: &mut Vec<Frame>) {
        if let Some(part) = part::encode(part) {
            let candidate = response::encode_candidate(vec![part], None);
            self.chunk(object! {"candidates": vec![candidate]}, frames);
        }
    }

    fn end(&mut self, frames: &mut Vec<Frame>) {
        let mut object = Object::new();
        if self.begun || !response::is_blocked(&self.start.extra) {
            let nothing = Json::Object(object! {"text": ""});
            let candidate = response::encode_candidate(vec![nothing], Some(&self.stop));
            object.insert("candidates", vec![candidate]);
        }
        object.insert_some("usageMetadata", self.usage.as_ref().map(response::encode_usage));
        self.chunk(object, frames);
    }

    fn chunk(&mut self, mut object: Object, frames: &mut Vec<Frame>) {
        response::encode_start(&self.start, &self.reply_context, &mut object);
        if !std::mem::replace(&mut self.begun, true) {
            self.start.extra.write_into(DIALECT, &mut object);
        }
        frames.push(Frame::data(object.compact()));
    }
}

impl StreamEncoder for Encoder {
    fn encode(&mut self, event: Event, frames: &mut Vec<Frame>) {
        self.sequencer.push(event);
        while let Some(event) = self.sequencer.pop() {
            self.gatherer.push(event);
        }
        while let Some(event) = self.gatherer.pop() {
            self.write(event, frames);
        }
    }
}
