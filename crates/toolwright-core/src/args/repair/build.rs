//! Builds the value and the changes from the events of a reading.

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Key, Object};

use super::search::{Bracket, Event};
use super::token::{self, Quote, Word};
use super::unescape::{Manner, unescape};
use crate::args::{Change, Op, Reading};

/// Maximum bytes of a text shown in a report.
const MAX_SHOWN_BYTES: usize = 80;

/// Returns the reading of some events; several if backslashes are ambiguous.
pub(super) fn readings(text: &str, events: &[Event]) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for manner in Manner::ALL {
        let mut builder = Builder {
            text,
            manner,
            open: Vec::new(),
            waiting: Vec::new(),
            changes: Vec::new(),
            place: String::new(),
            value: None,
            repaired: false,
        };
        let built = events.iter().try_for_each(|event| builder.event(*event));
        let (Some(()), Some(value)) = (built, builder.value) else { continue };
        if readings.iter().all(|other| other.value != value) {
            readings.push(Reading { value, changes: builder.changes });
        }
        if !builder.repaired {
            break;
        }
    }
    readings
}

/// Returns the beginning of a text, for reports.
pub(super) fn shown(text: &str) -> Json {
    match text.char_indices().nth(MAX_SHOWN_BYTES) {
        Some((end, _)) => Json::from(format!("{}…", &text[..end])),
        None => Json::from(text),
    }
}

struct Open {
    value: Json,
    key: Option<Key>,
}

struct Builder<'t> {
    text: &'t str,
    manner: Manner,
    open: Vec<Open>,
    /// Changes to the next key or value
    waiting: Vec<(Op, u32, usize, usize)>,
    changes: Vec<Change>,
    /// The path of the last value
    place: String,
    value: Option<Json>,
    repaired: bool,
}

impl Builder<'_> {
    fn event(&mut self, event: Event) -> Option<()> {
        match event {
            Event::Change(op @ (Op::Quote | Op::Escape | Op::Literal), cost, start, end) => {
                self.waiting.push((op, cost, start, end));
            }
            Event::Change(op, cost, start, end) => {
                let path = if op == Op::Close { self.place.clone() } else { self.pointer(false) };
                let mut change = Change::new(path, op).with_cost(cost);
                if start < end {
                    change.from = Some(shown(&self.text[start..end]));
                }
                self.changes.push(change);
            }
            Event::Open(Bracket::Object | Bracket::Doubled) => {
                self.open.push(Open { value: Json::Object(Object::new()), key: None });
            }
            Event::Open(_) => self.open.push(Open { value: Json::Array(vec![]), key: None }),
            Event::End => {
                let value = self.open.pop()?.value;
                self.add(value)?;
            }
            Event::Key(quote, start, end) => {
                let key = self.string(quote, start, end)?;
                self.open.last_mut()?.key = Some(Key::Owned(key));
                self.report_waiting(None);
            }
            Event::Text(quote, start, end) => {
                let value = Json::from(self.string(quote, start, end)?);
                self.report_waiting(Some(&value));
                self.add(value)?;
            }
            Event::Word(start, end) => {
                let (Word::Plain(value) | Word::Foreign(value)) =
                    token::word(&self.text[start..end])
                else {
                    return None;
                };
                self.report_waiting(Some(&value));
                self.add(value)?;
            }
        }
        Some(())
    }

    fn string(&mut self, quote: Option<Quote>, start: usize, end: usize) -> Option<String> {
        let raw = &self.text[start..end];
        let Some(quote) = quote else { return Some(raw.to_owned()) };
        let unescaped = unescape(raw, quote, self.manner)?;
        if unescaped.repaired {
            self.repaired = true;
            self.waiting.push((Op::Escape, Op::Escape.cost(), start, end));
        }
        Some(unescaped.text)
    }

    /// Reports the changes that waited for the path of this value.
    fn report_waiting(&mut self, value: Option<&Json>) {
        if self.waiting.is_empty() {
            return;
        }
        let path = self.pointer(true);
        for (op, cost, start, end) in std::mem::take(&mut self.waiting) {
            let mut change = Change::new(path.clone(), op).with_cost(cost);
            change.from = (start < end).then(|| shown(&self.text[start..end]));
            if op == Op::Literal {
                change.to = value.cloned();
            }
            self.changes.push(change);
        }
    }

    fn add(&mut self, value: Json) -> Option<()> {
        if self.open.is_empty() {
            self.value = Some(value);
            return Some(());
        }
        self.place = self.pointer(true);
        let open = self.open.last_mut()?;
        match &mut open.value {
            Json::Object(object) => object.push(open.key.take()?, value),
            Json::Array(items) => items.push(value),
            _ => return None,
        }
        Some(())
    }

    /// Returns the pointer of the innermost open bracket, or of the next value in it.
    fn pointer(&self, next: bool) -> String {
        let mut pointer = String::new();
        let inner = self.open.len().saturating_sub(usize::from(!next));
        for open in &self.open[..inner] {
            pointer.push('/');
            match (&open.value, &open.key) {
                (_, Some(key)) => pointer.push_str(&escape(key)),
                (Json::Array(items), None) => pointer.push_str(&items.len().to_string()),
                _ => {}
            }
        }
        pointer
    }
}
