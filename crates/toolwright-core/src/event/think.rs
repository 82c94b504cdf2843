//! Separates thinking from text: a leading `<think>…</think>` becomes reasoning.
//!
//! Open models behind servers such as vLLM and LM Studio write their thinking into the text of the
//! reply if the server does not separate it (`docs/dialects/vendors.md`). Only the beginning of the
//! first part of a reply is examined. If the tag is not closed, all of the text is reasoning: the
//! reply was truncated while the model was thinking.

use std::collections::BTreeMap;

use super::join::join;
use super::split::split;
use super::{Delta, Event, Head, Tail};
use crate::model::extra::Extra;
use crate::model::part::{Part, SectionKind};
use crate::model::response::Response;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Moves a leading `<think>…</think>` of a complete reply into a separate part.
pub fn separate(mut response: Response) -> Response {
    let first = response.parts.first();
    let text = first.and_then(Part::as_text).unwrap_or_default();
    if !text.trim_start().starts_with(OPEN) {
        return response;
    }
    let first = response.parts.remove(0);
    let origin = first.origin.clone();
    let mut filter = ThinkFilter::default();
    let mut events = Vec::new();
    for event in split(Response { parts: vec![first], ..Response::default() }) {
        filter.push(event, &mut events);
    }
    let parts = join(events).map(|own| own.parts).unwrap_or_default();
    let parts = parts.into_iter().map(|part| part.with_origin(origin.clone()));
    response.parts.splice(..0, parts);
    response
}

/// Moves a leading `<think>…</think>` of a stream into a separate part, for any split of the text.
#[derive(Debug, Default)]
pub struct ThinkFilter {
    state: State,
    /// The indexes of parts that have begun, by those of the source
    numbers: BTreeMap<usize, usize>,
    next: usize,
}

#[derive(Debug, Default)]
enum State {
    /// No part has begun
    #[default]
    Before,
    /// The first part is text, which may begin with the tag
    Undecided { first: First, held: String },
    /// Inside the tag; `number` is the index of the reasoning, once it has text
    Thinking { first: First, number: Option<usize>, held: String },
    /// After the tag; the text has not begun
    Closed { first: First },
    /// The search is over
    Done,
}

/// The first part of the source.
#[derive(Debug)]
struct First {
    index: usize,
    extra: Extra,
}

impl ThinkFilter {
    /// Processes an event and appends the resulting events.
    pub fn push(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::PartStart { index, head: Head::Text, extra }
                if matches!(self.state, State::Before) =>
            {
                self.state =
                    State::Undecided { first: First { index, extra }, held: String::new() };
            }
            Event::PartStart { index, head, extra } => {
                if matches!(self.state, State::Before) {
                    self.state = State::Done;
                }
                let number = self.number(index);
                out.push(Event::PartStart { index: number, head, extra });
            }
            Event::PartDelta { index, delta: Delta::Text(text) } if self.is_first(index) => {
                self.text(text, out);
            }
            Event::PartDelta { index, delta } => {
                out.push(Event::PartDelta { index: self.number(index), delta });
            }
            Event::PartEnd { index, tail } if self.is_first(index) => self.end(index, tail, out),
            Event::PartEnd { index, tail } => {
                out.push(Event::PartEnd { index: self.number(index), tail });
            }
            Event::Fault(fault) => {
                self.flush(out);
                out.push(Event::Fault(fault));
            }
            event => out.push(event),
        }
    }

    /// Whether a part is the first one, and still examined.
    fn is_first(&self, index: usize) -> bool {
        match &self.state {
            State::Before | State::Done => false,
            State::Undecided { first, .. }
            | State::Thinking { first, .. }
            | State::Closed { first } => first.index == index,
        }
    }

    /// Returns the index of a part of the source.
    fn number(&mut self, index: usize) -> usize {
        let next = &mut self.next;
        *self.numbers.entry(index).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    fn text(&mut self, text: String, out: &mut Vec<Event>) {
        match std::mem::take(&mut self.state) {
            State::Undecided { first, mut held } => {
                held.push_str(&text);
                let start = held.trim_start();
                if let Some(rest) = start.strip_prefix(OPEN) {
                    let rest = rest.to_owned();
                    self.state = State::Thinking { first, number: None, held: String::new() };
                    self.text(rest, out);
                } else if OPEN.starts_with(start) {
                    self.state = State::Undecided { first, held };
                } else {
                    self.begin(first, held, out);
                }
            }
            State::Thinking { first, mut number, mut held } => {
                held.push_str(&text);
                if let Some((thought, rest)) = held.split_once(CLOSE) {
                    self.think(thought.trim_end(), &mut number, out);
                    out.extend(number.map(end_of));
                    let rest = rest.to_owned();
                    self.state = State::Closed { first };
                    self.text(rest, out);
                } else {
                    let keep = undecided(&held);
                    let later = held.split_off(keep);
                    self.think(&held, &mut number, out);
                    self.state = State::Thinking { first, number, held: later };
                }
            }
            State::Closed { first } => match text.trim_start() {
                "" => self.state = State::Closed { first },
                text => self.begin(first, text.to_owned(), out),
            },
            state @ (State::Before | State::Done) => self.state = state,
        }
    }

    /// Begins the text of the reply.
    fn begin(&mut self, first: First, text: String, out: &mut Vec<Event>) {
        self.state = State::Done;
        let index = self.number(first.index);
        out.push(Event::PartStart { index, head: Head::Text, extra: first.extra });
        out.push(Event::PartDelta { index, delta: Delta::Text(text) });
    }

    /// Emits reasoning text. Leading white space is skipped.
    fn think(&mut self, text: &str, number: &mut Option<usize>, out: &mut Vec<Event>) {
        let text = if number.is_none() { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        let index = *number.get_or_insert_with(|| {
            out.push(Event::PartStart {
                index: self.next,
                head: Head::Reasoning,
                extra: Extra::NONE,
            });
            self.next += 1;
            self.next - 1
        });
        let delta = Delta::Reasoning { section: 0, kind: SectionKind::Full, text: text.to_owned() };
        out.push(Event::PartDelta { index, delta });
    }

    /// Ends the first part of the source.
    fn end(&mut self, index: usize, tail: Tail, out: &mut Vec<Event>) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided { first, held } => {
                self.begin(first, held, out);
                out.push(Event::PartEnd { index: self.number(index), tail });
            }
            State::Thinking { mut number, held, .. } => {
                self.think(held.trim_end(), &mut number, out);
                out.extend(number.map(end_of));
            }
            State::Before | State::Closed { .. } | State::Done => {}
        }
    }

    /// Emits held text, because the stream was interrupted.
    fn flush(&mut self, out: &mut Vec<Event>) {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Undecided { first, held } if !held.is_empty() => self.begin(first, held, out),
            State::Thinking { mut number, held, .. } => {
                self.think(held.trim_end(), &mut number, out);
            }
            _ => {}
        }
    }
}

fn end_of(index: usize) -> Event {
    Event::PartEnd { index, tail: Tail::default() }
}

/// Returns the start of the suffix that may belong to the end of a thought: white space, then a
/// prefix of the closing tag.
fn undecided(text: &str) -> usize {
    let tag = text.rfind('<').filter(|at| CLOSE.starts_with(&text[*at..]));
    text[..tag.unwrap_or(text.len())].trim_end().len()
}
