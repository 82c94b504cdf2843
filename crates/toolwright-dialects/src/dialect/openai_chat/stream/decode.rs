//! Decodes chunks.

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Start, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::{Event, Extra, Usage};
use toolwright_json::{Json, Object, Path};

use super::calls::{Calls, Fragment};
use super::piece;
use crate::codec::{
    DecodeError, DecodeErrorKind, Fields, FrameStatus, Result, StreamDecoder, parse_frame,
};
use crate::dialect::openai_chat::response::{self, Rest};
use crate::dialect::openai_chat::{Quirks, fault, part};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug)]
pub(in crate::dialect::openai_chat) struct Decoder {
    quirks: &'static Quirks,
    emit: Emitter,
    /// The fields of the response so far; some vendors send a first chunk with few of them
    start: Start,
    /// The open text, refusal or thinking
    words: Option<(TextKind, usize)>,
    calls: Calls,
    /// The stop is held until the end: some vendors send it twice, or too early (case 17)
    word: Option<String>,
    rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Refusal,
    Reasoning,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        if self.emit.is_ended() {
            return Ok(FrameStatus::Known);
        }
        if frame.is_done() {
            if self.emit.is_started() {
                self.complete(out);
            }
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, self.quirks.dialect)?;
        let mut fields = Fields::new(value, Path::ROOT, self.quirks.dialect)?;
        if fields.peek("error").is_some() {
            let fault = fault::decode_stream(Json::Object(fields.into_object()), self.quirks);
            self.emit.fault(fault, out);
            return Ok(FrameStatus::Known);
        }
        let choices = fields.array("choices")?;
        let usage = match response::decode_usage(&mut fields, self.quirks)? {
            None => groq_usage(&mut fields, self.quirks)?,
            usage => usage,
        };
        // Random characters that hide the lengths of texts.
        fields.take("obfuscation");
        self.describe(response::decode_start(fields)?);
        if !self.emit.is_started() && (!choices.is_empty() || usage.is_some()) {
            self.emit.start(self.start.clone(), out);
        }
        let mut seen = FrameStatus::Known;
        for (at, choice) in choices.into_iter().enumerate() {
            if choice.get("index").and_then(Json::as_u64).unwrap_or(0) > 0 {
                seen = FrameStatus::Unknown;
            } else {
                self.choice(choice, at, out)?;
            }
        }
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        Ok(seen)
    }

    fn is_delta_only(&self, frame: &Frame) -> bool {
        self.emit.is_started() && piece::is_mere(&frame.data)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        if self.word.is_some() {
            self.complete(out);
        }
        self.emit.finish(out);
    }
}

impl Decoder {
    pub(in crate::dialect::openai_chat) fn new(quirks: &'static Quirks) -> Decoder {
        Decoder {
            quirks,
            emit: Emitter::default(),
            start: Start::default(),
            words: None,
            calls: Calls::default(),
            word: None,
            rest: Rest::default(),
        }
    }

    /// Takes the fields of the response from a chunk; those after the start belong to the stop.
    fn describe(&mut self, chunk: Start) {
        if self.emit.is_started() {
            let known = self.start.extra.fields();
            for (key, value) in chunk.extra.fields().into_iter().flat_map(Object::iter) {
                if known.is_none_or(|known| !known.contains_key(key)) {
                    self.rest.late.insert(key.to_owned(), value.clone());
                }
            }
        } else {
            self.start.id = chunk.id.or(self.start.id.take());
            self.start.model = chunk.model.or(self.start.model.take());
            self.start.extra.update(chunk.extra);
        }
    }

    fn choice(&mut self, wire: Json, at: usize, out: &mut Vec<Event>) -> Result<()> {
        let quirks = self.quirks;
        let path = Path::ROOT.key("choices");
        let path = path.index(at);
        let mut choice = Fields::new(wire, path, quirks.dialect)?;
        if let Some(delta) = choice.take("delta") {
            self.delta(Fields::new(delta, path.key("delta"), quirks.dialect)?, out)?;
        }
        // Moonshot sends usage here.
        if let Some(usage) = response::decode_usage(&mut choice, quirks)? {
            self.emit.usage(usage, out);
        }
        let word = response::take_choice(&mut choice)?;
        self.word = self.word.take().or(word);
        for (key, value) in choice.into_object() {
            match self.rest.choice.get_mut(&key) {
                Some(own) if key == "logprobs" => grow(own, value),
                Some(_) if value.is_null() => {}
                _ => self.rest.choice.insert(key, value),
            }
        }
        Ok(())
    }

    fn delta(&mut self, mut delta: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let path = delta.path();
        delta.take("role");
        if let Some((key, text)) = part::take_reasoning(&mut delta, self.quirks) {
            let extra = part::reasoning_extra(key, self.quirks);
            self.append_text(TextKind::Reasoning, text, extra, out);
        }
        if let Some(text) = delta.string("content")? {
            self.append_text(TextKind::Text, text, Extra::NONE, out);
        }
        if let Some(text) = delta.string("refusal")? {
            self.append_text(TextKind::Refusal, text, Extra::NONE, out);
        }
        if let Some(call) = delta.take("function_call") {
            let path = path.key("function_call");
            self.fragment(Fragment::decode_legacy(call, path, self.quirks)?, &path, out)?;
        }
        let calls = path.key("tool_calls");
        for (at, call) in delta.array("tool_calls")?.into_iter().enumerate() {
            let path = calls.index(at);
            if part::is_hosted_call(&call) {
                self.close_complete(out);
                self.emit.complete_part(part::decode_call(call, path, self.quirks)?, out);
                continue;
            }
            let fragment = Fragment::decode(call, path, self.quirks)?;
            self.fragment(fragment, &path, out)?;
        }
        for (key, value) in delta.into_object() {
            match self.rest.message.get_mut(&key) {
                Some(own) => grow(own, value),
                None if key == "obfuscation" => {}
                None => self.rest.message.insert(key, value),
            }
        }
        Ok(())
    }

    fn append_text(&mut self, kind: TextKind, text: String, extra: Extra, out: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        let index = match self.words {
            Some((own, index)) if own == kind => index,
            _ => {
                self.close_complete(out);
                let head = match kind {
                    TextKind::Text => Head::Text,
                    TextKind::Refusal => Head::Refusal,
                    TextKind::Reasoning => Head::Reasoning,
                };
                let Some(index) = self.emit.open(head, extra, out) else { return };
                self.words = Some((kind, index));
                index
            }
        };
        let delta = match kind {
            TextKind::Reasoning => Delta::Reasoning { section: 0, kind: SectionKind::Full, text },
            _ => Delta::Text(text),
        };
        self.emit.delta(index, delta, out);
    }

    fn fragment(
        &mut self,
        fragment: Fragment,
        path: &Path<'_>,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let done = if let Some(at) = self.calls.place(&fragment, &self.emit) {
            self.calls.grow(at, fragment, &mut self.emit, out)
        } else if fragment.is_silent() {
            Ok(())
        } else {
            self.close_complete(out);
            self.calls.begin(fragment, &mut self.emit, out)
        };
        done.map_err(|what| {
            DecodeError::new(self.quirks.dialect, path, DecodeErrorKind::BrokenStream(what))
        })
    }

    /// Closes complete parts, before another part begins.
    fn close_complete(&mut self, out: &mut Vec<Event>) {
        if let Some((_, index)) = self.words.take() {
            self.emit.close(index, Tail::default(), out);
        }
        self.calls.close_complete(&mut self.emit, out);
    }

    fn complete(&mut self, out: &mut Vec<Event>) {
        self.close_complete(out);
        self.calls.close(&mut self.emit, out);
        let stop = std::mem::take(&mut self.rest).stop(self.word.take(), self.quirks);
        self.emit.stop(stop, out);
        self.emit.end(out);
    }
}

/// Takes usage from `x_groq`, in the last chunk of Groq.
fn groq_usage(fields: &mut Fields<'_>, quirks: &Quirks) -> Result<Option<Usage>> {
    let Some(own) = fields.take("x_groq") else { return Ok(None) };
    let mut own = Fields::new(own, Path::ROOT.key("x_groq"), quirks.dialect)?;
    let usage = response::decode_usage(&mut own, quirks)?;
    fields.put_back_rest("x_groq", own.into_object());
    Ok(usage)
}

/// Merges a later chunk, as the SDK does: strings and lists are extended, objects merged.
fn grow(own: &mut Json, later: Json) {
    match (own, later) {
        (_, Json::Null) => {}
        (Json::String(own), Json::String(later)) => own.edit(|own| own.push_str(&later)),
        (Json::Array(own), Json::Array(later)) => own.extend(later),
        (Json::Object(own), Json::Object(later)) => {
            for (key, value) in later {
                match own.get_mut(&key) {
                    Some(own) => grow(own, value),
                    None => own.insert(key, value),
                }
            }
        }
        (own, later) => *own = later,
    }
}
