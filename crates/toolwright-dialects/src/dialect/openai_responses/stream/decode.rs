//! Decodes streams. The final form of an item is authoritative, except for content that was
//! streamed before; missing events are compensated by later ones.

use std::collections::BTreeMap;

use toolwright_core::event::emit::Emitter;
use toolwright_core::event::{Delta, Head, Tail};
use toolwright_core::part::SectionKind;
use toolwright_core::tool::split_name;
use toolwright_core::{Body, Event, Extra};
use toolwright_json::{Json, Path};

use super::super::wire::{DIALECT, SEARCH};
use super::super::{fault, part, response};
use super::Steps;
use super::piece::{Item, Kind, Piece};
use crate::codec::{Fields, FrameStatus, Result, StreamDecoder, parse_frame};
use crate::frame::Frame;

/// The decoder of a stream.
#[derive(Debug, Default)]
pub(in super::super) struct Decoder {
    emit: Emitter,
    /// The response's id, from which ids of items may be derived
    id: String,
    items: BTreeMap<u64, Item>,
}

impl StreamDecoder for Decoder {
    fn decode(&mut self, frame: &Frame, out: &mut Vec<Event>) -> Result<FrameStatus> {
        if frame.is_done() {
            return Ok(FrameStatus::Known);
        }
        let value = parse_frame(frame, DIALECT)?;
        let mut fields = Fields::new(value, Path::ROOT, DIALECT)?;
        let Some(name) = fields.string("type")?.or_else(|| frame.name.clone()) else {
            return Err(fields.missing("type"));
        };
        let name = name.strip_prefix("response.").unwrap_or(&name);
        match name {
            "created" | "in_progress" | "queued" => {
                let response = nested(&mut fields, "response")?;
                self.start(response, out)?;
            }
            "output_item.added" => self.added(fields, out)?,
            "output_item.done" => {
                let at = output_index(&mut fields)?;
                self.done(at, fields.need("item")?, out)?;
            }
            "content_part.added" => self.part_added(fields, out)?,
            "output_text.delta" | "refusal.delta" => {
                self.text(name, &mut fields, "delta", out)?;
            }
            "output_text.done" => self.text(name, &mut fields, "text", out)?,
            "refusal.done" => self.text(name, &mut fields, "refusal", out)?,
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                self.arguments(&mut fields, "delta", out)?;
            }
            "function_call_arguments.done" => self.arguments(&mut fields, "arguments", out)?,
            "custom_tool_call_input.done" => self.arguments(&mut fields, "input", out)?,
            "reasoning_summary_text.delta" => {
                self.reasoning(SectionKind::Summary, &mut fields, "delta", out)?;
            }
            "reasoning_summary_text.done" => {
                self.reasoning(SectionKind::Summary, &mut fields, "text", out)?;
            }
            "reasoning_text.delta" => {
                self.reasoning(SectionKind::Full, &mut fields, "delta", out)?;
            }
            "reasoning_text.done" => self.reasoning(SectionKind::Full, &mut fields, "text", out)?,
            // The end of the item repeats these.
            "content_part.done"
            | "output_text.annotation.added"
            | "reasoning_summary_part.added"
            | "reasoning_summary_part.done" => {}
            "completed" | "incomplete" | "failed" => self.end(name, fields, out)?,
            "error" => self.emit.fault(fault::decode_event(fields)?, out),
            // Progress of a hosted tool; the end of the item repeats all of it.
            _ if fields.peek("output_index").is_some() => {}
            _ => return Ok(FrameStatus::Unknown),
        }
        Ok(FrameStatus::Known)
    }

    fn finish(&mut self, out: &mut Vec<Event>) {
        self.emit.finish(out);
    }
}

fn output_index(fields: &mut Fields<'_>) -> Result<u64> {
    Ok(fields.u64("output_index")?.unwrap_or(0))
}

fn nested(fields: &mut Fields<'_>, key: &'static str) -> Result<Fields<'static>> {
    Fields::new(fields.need(key)?, Path::ROOT.key(key), DIALECT)
}

impl Decoder {
    fn start(&mut self, response: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let start = response::decode_start(response)?;
        self.id = start.id.clone().unwrap_or_default();
        self.emit.start(start, out);
        Ok(())
    }

    /// Returns the response's id and the index of an item.
    fn place(&self, at: u64) -> (&str, usize) {
        (&self.id, usize::try_from(at).unwrap_or(usize::MAX))
    }

    /// Returns an item that has begun, without what the encoder adds.
    fn begun(&self, at: u64, mut item: Json) -> Json {
        part::take_usual(&mut item, self.place(at), part::BEGUN);
        item
    }

    /// Opens a call or reasoning at once. A message waits for its content, any other item for its
    /// end.
    fn added(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let at = output_index(&mut fields)?;
        let wire = fields.need("item")?;
        if self.items.contains_key(&at) {
            return Ok(());
        }
        let mut parts = Vec::new();
        part::decode(self.begun(at, wire.clone()), Path::ROOT.key("item"), &mut parts)?;
        self.items.insert(at, Item { wire, ..Item::default() });
        let opens = match parts.first().map(|part| &part.body) {
            // The end of a search has another call id than its start.
            Some(Body::Call(call)) => split_name(&call.name) != (Some(""), SEARCH),
            Some(Body::Reasoning(_)) => true,
            _ => false,
        };
        if opens {
            let steps = Steps::of(parts.remove(0));
            self.open(at, 0, steps.head, steps.extra, out);
        }
        Ok(())
    }

    /// Opens a part of a message's content; parts of other types arrive with the end of the item.
    fn part_added(&mut self, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let at = output_index(&mut fields)?;
        let place = fields.u64("content_index")?.unwrap_or(0);
        let head = match nested(&mut fields, "part")?.tag("type") {
            Some("output_text") => Head::Text,
            Some("refusal") => Head::Refusal,
            _ => return Ok(()),
        };
        self.open_content(at, place, head, out);
        Ok(())
    }

    fn open_content(&mut self, at: u64, place: u64, head: Head, out: &mut Vec<Event>) {
        let item = self.items.entry(at).or_default();
        if item.pieces.contains_key(&place) {
            return;
        }
        let wire = item.wire.clone();
        let index = usize::try_from(place).unwrap_or(usize::MAX);
        let extra = part::begun(self.begun(at, wire), index);
        self.open(at, place, head, extra, out);
    }

    /// Opens a part, once.
    fn open(&mut self, at: u64, place: u64, head: Head, extra: Extra, out: &mut Vec<Event>) {
        let item = self.items.entry(at).or_default();
        if item.done || item.pieces.contains_key(&place) {
            return;
        }
        let kind = Kind::of(&head);
        if let Some(index) = self.emit.open(head, extra, out) {
            item.pieces.insert(place, Piece::new(index, kind));
        }
    }

    /// Appends to a text or refusal, which may not have been announced.
    fn text(
        &mut self,
        name: &str,
        fields: &mut Fields<'_>,
        key: &'static str,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let at = output_index(fields)?;
        let place = fields.u64("content_index")?.unwrap_or(0);
        let head = if name.starts_with("refusal") { Head::Refusal } else { Head::Text };
        self.open_content(at, place, head, out);
        let delta = Delta::Text(fields.need_string(key)?);
        self.append(at, place, delta, key != "delta", out);
        Ok(())
    }

    /// Appends to a call. One that was not announced waits for the end of its item.
    fn arguments(
        &mut self,
        fields: &mut Fields<'_>,
        key: &'static str,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let at = output_index(fields)?;
        let delta = Delta::Arguments(fields.need_string(key)?);
        self.append(at, 0, delta, key != "delta", out);
        Ok(())
    }

    /// Appends to a section of reasoning.
    fn reasoning(
        &mut self,
        kind: SectionKind,
        fields: &mut Fields<'_>,
        key: &'static str,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let at = output_index(fields)?;
        let number = match kind {
            SectionKind::Summary => fields.u64("summary_index")?.unwrap_or(0),
            SectionKind::Full => fields.u64("content_index")?.unwrap_or(0),
        };
        let text = fields.need_string(key)?;
        self.open(at, 0, Head::Reasoning, Extra::NONE, out);
        let piece = self.items.get_mut(&at).and_then(|item| item.pieces.get_mut(&0));
        let Some(piece) = piece else { return Ok(()) };
        let section = piece.section(kind, number);
        self.append(at, 0, Delta::Reasoning { section, kind, text }, key != "delta", out);
        Ok(())
    }

    /// Emits a delta, or a complete value if no delta came before it.
    fn append(&mut self, at: u64, place: u64, delta: Delta, is_whole: bool, out: &mut Vec<Event>) {
        let piece = self.items.get_mut(&at).and_then(|item| item.pieces.get_mut(&place));
        if let Some(piece) = piece
            && piece.takes(&delta, is_whole)
        {
            self.emit.delta(piece.index, delta, out);
        }
    }

    /// Processes a complete item: emits content that was not streamed and closes its parts.
    fn done(&mut self, at: u64, wire: Json, out: &mut Vec<Event>) -> Result<()> {
        let item = self.items.entry(at).or_default();
        if item.done {
            return Ok(());
        }
        item.done = true;
        let mut pieces = std::mem::take(&mut item.pieces);
        let mut parts = Vec::new();
        // An item with only deltas was never announced.
        if !wire.is_null() {
            part::decode_output(wire, Path::ROOT.key("item"), self.place(at), &mut parts)?;
        }
        for (place, part) in (0..).zip(parts) {
            match pieces.remove(&place) {
                Some(piece) => self.close(piece, Steps::of(part), out),
                None => self.emit.part(part, out),
            }
        }
        for piece in pieces.into_values() {
            self.emit.close(piece.index, Tail::default(), out);
        }
        Ok(())
    }

    fn close(&mut self, mut piece: Piece, steps: Steps, out: &mut Vec<Event>) {
        for delta in steps.deltas {
            if piece.takes(&delta, true) {
                self.emit.delta(piece.index, delta, out);
            }
        }
        let tail = Tail { extra: steps.extra, ..steps.tail };
        self.emit.close(piece.index, tail, out);
    }

    /// Returns the output index at which an item with the same id was streamed. The terminal event
    /// may omit items, so its positions are not the indexes.
    fn index_of(&self, item: &Json) -> Option<u64> {
        let id = item.get("id")?.as_str()?;
        let streamed = |own: &Item| own.wire.get("id").and_then(Json::as_str) == Some(id);
        self.items.iter().find(|(_, own)| streamed(own)).map(|(at, _)| *at)
    }

    /// Processes the terminal event, which repeats all items.
    fn end(&mut self, name: &str, mut fields: Fields<'_>, out: &mut Vec<Event>) -> Result<()> {
        let mut response = nested(&mut fields, "response")?;
        let output = response.array("output")?;
        let fault =
            if name == "failed" { Some(fault::decode_failed(&mut response)?) } else { None };
        let stop = response::decode_stop(&mut response)?;
        let usage = response::decode_usage(&mut response, Path::ROOT.key("response"))?;
        self.start(response, out)?;
        for (position, item) in (0..).zip(output) {
            self.done(self.index_of(&item).unwrap_or(position), item, out)?;
        }
        let open = self.items.iter().filter(|(_, item)| !item.done);
        let open: Vec<(u64, Json)> = open.map(|(at, item)| (*at, item.wire.clone())).collect();
        for (at, wire) in open {
            self.done(at, wire, out)?;
        }
        if let Some(fault) = fault {
            self.emit.fault(fault, out);
            return Ok(());
        }
        self.emit.stop(stop, out);
        if let Some(usage) = usage {
            self.emit.usage(usage, out);
        }
        self.emit.end(out);
        Ok(())
    }
}
