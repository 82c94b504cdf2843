//! Emits events that satisfy the grammar, for any input of a vendor.

use std::collections::BTreeMap;

use crate::event::split::split_part;
use crate::event::{Delta, Event, Head, Kind, Start, Tail};
use crate::model::call::NULL;
use crate::model::extra::Extra;
use crate::model::fault::{Fault, FaultClass};
use crate::model::part::Body;
use crate::model::response::Stop;
use crate::model::usage::Usage;

/// Appends events and tracks open parts, so that no event is repeated or out of order.
#[derive(Debug, Default)]
pub struct Emitter {
    started: bool,
    stopped: bool,
    ended: bool,
    parts: usize,
    open: BTreeMap<usize, Progress>,
    calls: bool,
    refused: bool,
}

impl Emitter {
    /// Emits the start of the response, once.
    pub fn start(&mut self, start: Start, out: &mut Vec<Event>) {
        if !self.started && !self.ended {
            self.started = true;
            out.push(Event::Start(start));
        }
    }

    /// Whether the response has begun.
    pub fn is_started(&self) -> bool {
        self.started
    }

    /// Whether the response has ended.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Begins a part and returns its index; `None` after the end of the response.
    pub fn open(&mut self, head: Head, extra: Extra, out: &mut Vec<Event>) -> Option<usize> {
        if self.stopped || self.ended {
            return None;
        }
        self.start(Start::default(), out);
        let index = self.parts;
        self.parts += 1;
        match &head {
            Head::Call { .. } => self.calls = true,
            Head::Refusal => self.refused = true,
            Head::Whole(part) => self.record_body(&part.body),
            Head::Text | Head::Reasoning => {}
        }
        self.open.insert(index, Progress::new(&head));
        out.push(Event::PartStart { index, head, extra });
        Some(index)
    }

    fn record_body(&mut self, body: &Body) {
        self.calls |= matches!(body, Body::Call(_));
        self.refused |= matches!(body, Body::Refusal(_));
    }

    /// Whether a part is open and accepts a delta.
    #[inline]
    pub fn takes(&self, index: usize, delta: &Delta) -> bool {
        self.open.get(&index).is_some_and(|progress| progress.kind.takes(delta))
    }

    /// Adds a delta to an open part of its kind; an empty delta is skipped.
    #[inline]
    pub fn delta(&mut self, index: usize, delta: Delta, out: &mut Vec<Event>) {
        let Some(progress) = self.open.get_mut(&index) else { return };
        if !progress.kind.takes(&delta) {
            return;
        }
        let delta = match delta {
            Delta::Arguments(text) => {
                progress.push(&text);
                let Some(text) = progress.release(text) else { return };
                Delta::Arguments(text)
            }
            delta => delta,
        };
        let (Delta::Text(text) | Delta::Reasoning { text, .. } | Delta::Arguments(text)) = &delta;
        if !text.is_empty() {
            out.push(Event::PartDelta { index, delta });
        }
    }

    /// Whether the arguments of an open call are a complete JSON document.
    pub fn is_complete(&self, index: usize) -> bool {
        self.open.get(&index).is_some_and(Progress::is_complete)
    }

    /// Ends an open part.
    pub fn close(&mut self, index: usize, tail: Tail, out: &mut Vec<Event>) {
        if let Some(progress) = self.open.remove(&index) {
            progress.close(index, tail, out);
        }
    }

    /// Emits a complete part.
    pub fn complete_part(&mut self, part: crate::model::part::Part, out: &mut Vec<Event>) {
        if let Some(index) = self.open(Head::Whole(Box::new(part)), Extra::NONE, out) {
            self.close(index, Tail::default(), out);
        }
    }

    /// Emits a part that arrived at once as a sequence of events: a call is a start, one delta and
    /// an end (case 1).
    pub fn part(&mut self, part: crate::model::part::Part, out: &mut Vec<Event>) {
        if self.stopped || self.ended {
            return;
        }
        self.start(Start::default(), out);
        self.record_body(&part.body);
        split_part(self.parts, part, out);
        self.parts += 1;
    }

    /// Ends all open parts.
    pub fn close_all(&mut self, out: &mut Vec<Event>) {
        while let Some((index, progress)) = self.open.pop_first() {
            progress.close(index, Tail::default(), out);
        }
    }

    /// Emits the stop reason once, corrected by the content.
    pub fn stop(&mut self, mut stop: Stop, out: &mut Vec<Event>) {
        if self.stopped || self.ended {
            return;
        }
        self.start(Start::default(), out);
        self.close_all(out);
        stop.reason = stop.reason.reconciled(self.calls, self.refused);
        self.stopped = true;
        out.push(Event::Stop(stop));
    }

    /// Emits usage.
    pub fn usage(&mut self, usage: Usage, out: &mut Vec<Event>) {
        if !self.ended {
            self.start(Start::default(), out);
            out.push(Event::Usage(usage));
        }
    }

    /// Emits a keep-alive.
    pub fn ping(&mut self, out: &mut Vec<Event>) {
        if !self.ended {
            out.push(Event::Ping);
        }
    }

    /// Ends the response, if the stop reason was emitted.
    pub fn end(&mut self, out: &mut Vec<Event>) {
        if self.stopped && !self.ended {
            self.ended = true;
            out.push(Event::End);
        }
    }

    /// Ends the response with a fault.
    pub fn fault(&mut self, fault: Fault, out: &mut Vec<Event>) {
        if !self.ended {
            self.ended = true;
            self.open.clear();
            out.push(Event::Fault(fault));
        }
    }

    /// Ends the input: the response is complete if the stop reason was emitted, otherwise it was
    /// interrupted.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        self.end(out);
        self.fault(Fault::new(FaultClass::Internal, "the upstream's stream was cut off"), out);
    }
}

/// Tracks the JSON text of a part, to detect when a document is complete.
#[derive(Debug)]
struct Progress {
    kind: Kind,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The first byte of the document
    first: Option<u8>,
    /// Arguments that are held because they may become `null`; `None` once they cannot
    held: Option<String>,
}

impl Progress {
    fn new(head: &Head) -> Progress {
        let is_json = matches!(head, Head::Call { free: false, .. });
        Progress {
            kind: Kind::of(head),
            depth: 0,
            in_string: false,
            escaped: false,
            first: None,
            held: is_json.then(String::new),
        }
    }

    /// Returns the arguments that can be emitted after this text.
    fn release(&mut self, text: String) -> Option<String> {
        let Some(held) = &mut self.held else { return Some(text) };
        held.push_str(&text);
        if NULL.starts_with(held.trim()) {
            return None;
        }
        self.held.take()
    }

    /// Ends the part. `null` arguments are dropped.
    fn close(self, index: usize, tail: Tail, out: &mut Vec<Event>) {
        if let Some(held) = self.held.filter(|held| !held.trim().is_empty()) {
            let text = if held.trim() == NULL { "{}".to_owned() } else { held };
            out.push(Event::PartDelta { index, delta: Delta::Arguments(text) });
        }
        out.push(Event::PartEnd { index, tail });
    }

    fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            if byte.is_ascii_whitespace() {
                continue;
            }
            self.first.get_or_insert(byte);
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// The end of text that is not an object, array or string is unknown.
    fn is_complete(&self) -> bool {
        matches!(self.first, Some(b'{' | b'[' | b'"')) && self.depth == 0 && !self.in_string
    }
}
