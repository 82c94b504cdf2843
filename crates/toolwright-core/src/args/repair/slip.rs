//! Slips: a single structural character that was lost or doubled. Undoing a slip costs more than
//! any habit, and a reading undoes at most one.

use super::search::{Before, Bracket, Event, Last, Mode, SLIP_COST, Search, State};
use super::token::Quote;
use crate::args::Op;

impl Search<'_> {
    /// Returns the state after undoing a slip; `None` if another one was undone before.
    fn undo(&mut self, state: State, op: Op, start: usize, end: usize) -> Option<State> {
        if state.slipped {
            return None;
        }
        let state = self.with(state, Event::Change(op, SLIP_COST, start, end));
        Some(State { slipped: true, ..state })
    }

    /// `""text"`: the opening quote of a string was doubled.
    pub(super) fn doubled_open(&mut self, at: usize, mode: Mode, state: State) {
        let rest = &self.text[at..];
        let Some(inner) = rest.strip_prefix("\"\"") else { return };
        if inner.starts_with(|next: char| next == '"' || next.is_whitespace() || is_mark(next)) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, at, at + 2) {
            self.go(at + 2, State { mode, start: at + 2, ..state });
        }
    }

    /// `"text""`: the closing quote of a string was doubled.
    pub(super) fn doubled_close(&mut self, at: usize, is_key: bool, before: Before, state: State) {
        let Some(rest) = self.text[at..].strip_prefix("\"\"") else { return };
        if !rest.trim_start().starts_with(if is_key { is_colon } else { is_after }) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, at, at + 2) {
            self.end_text(at, at + 2, Quote::Double, is_key, before, state);
        }
    }

    /// `"text, "next"`: the closing quote of a string was lost, and the next one opens another.
    pub(super) fn lost_close(&mut self, at: usize, state: State) {
        let after = self.text[at + 1..].chars().next();
        if after.is_none_or(|after| after.is_whitespace() || is_mark(after)) {
            return;
        }
        let body = self.text[state.start..at].trim_end();
        let Some(body) = body.strip_suffix(',') else { return };
        let comma = body.trim_end();
        let inner = comma.trim_end_matches(|last: char| is_closer(last) || last.is_whitespace());
        self.end_before(comma.len(), state);
        if inner.len() < comma.len() {
            self.end_before(inner.len(), state);
        }
    }

    /// `"text}`: the closing quote of the last string was lost.
    pub(super) fn lost_last_close(&mut self, state: State) {
        let raw = &self.text[state.start..];
        let inner = raw.trim_end_matches(|last: char| is_closer(last) || last.is_whitespace());
        self.end_before(inner.len(), state);
    }

    /// Ends a string, without its quote, `length` bytes after its start.
    fn end_before(&mut self, length: usize, state: State) {
        let end = state.start + length;
        if !self.text[state.start..end].ends_with(|last| !is_seam(last)) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, state.start, end) {
            self.end_text(end, end, Quote::Double, false, Before::Root, state);
        }
    }

    /// `"key: 1`: the closing quote of a key was lost.
    pub(super) fn lost_key_close(&mut self, at: usize, before: Before, state: State) {
        let key = &self.text[state.start..at];
        if key.trim().is_empty() || key.contains(is_structure) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, state.start, at) {
            self.end_text(at, at, Quote::Double, true, before, state);
        }
    }

    /// `key": 1`: the opening quote of a key was lost.
    pub(super) fn lost_key_open(&mut self, at: usize, length: usize, before: Before, state: State) {
        let end = at + length;
        let Some(rest) = self.text[end..].strip_prefix('"') else { return };
        if !rest.trim_start().starts_with(':') {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, at, end) {
            let state = State { start: at, ..state };
            self.end_text(end, end + 1, Quote::Double, true, before, state);
        }
    }

    /// `text", `: the opening quote of a string was lost.
    pub(super) fn lost_open(&mut self, at: usize, state: State) {
        if state.slipped || !self.text[at..].starts_with(|first| !is_seam(first)) {
            return;
        }
        let end = self.next_boundary(at);
        let Some(after) = self.text[end..].strip_prefix('"') else { return };
        if !after.trim_start().starts_with(is_after) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Quote, at, end) {
            let state = State { start: at, ..state };
            self.end_text(end, end + 1, Quote::Double, false, Before::Root, state);
        }
    }

    /// `,,` between items, or `::` after a key.
    pub(super) fn doubled_mark(&mut self, at: usize, first: char, before: Before, state: State) {
        let op = match (first, before) {
            (',', Before::Comma) => Op::Comma,
            (':', Before::Colon) => Op::Mark,
            _ => return,
        };
        if !self.text[..at].ends_with(first) {
            return;
        }
        if let Some(state) = self.undo(state, op, at, at + 1) {
            self.go(at + 1, state);
        }
    }

    /// `"key""text"`: a colon was lost, without a space in its place.
    pub(super) fn lost_colon(&mut self, at: usize, state: State) {
        if let Some(state) = self.undo(state, Op::Mark, at, at) {
            self.go(at, State { mode: Mode::Value(Before::Colon), ..state });
        }
    }

    /// `["text", "key": 1`: the closing bracket of an array was lost before the next member.
    pub(super) fn lost_closer(&mut self, at: usize, before: Before, state: State) {
        let Some(array) = self.top(&state).filter(|_| before == Before::Comma) else { return };
        let outer = State { frame: array.around, ..state };
        let is_within = array.bracket == Bracket::Array
            && self.top(&outer).is_some_and(|outer| outer.bracket == Bracket::Object);
        let Some(items) = self.text[..at].trim_end().strip_suffix(',') else { return };
        if !is_within || self.is_swapped(items.len(), ']') {
            return;
        }
        let key = self.text[at..].strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let Some((key, rest)) = key else { return };
        if !self.spend(key.len()) || !rest.trim_start().starts_with(':') {
            return;
        }
        if let Some(state) = self.undo(outer, Op::Mark, at, at) {
            let state = self.with(state, Event::End);
            self.go(at, State { mode: Mode::Key(Before::Comma), ..state });
        }
    }

    /// `{{` or `[[`: an opening bracket was doubled.
    pub(super) fn doubled_bracket(&mut self, at: usize, first: char, before: Before, state: State) {
        if !matches!(first, '{' | '[') || !self.text[at + 1..].starts_with(first) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Mark, at, at + 1) {
            self.go(at + 1, State { mode: Mode::Value(before), ..state });
        }
    }

    /// `]]` or `}}`: a closing bracket was doubled.
    pub(super) fn doubled_closer(&mut self, at: usize, first: char, state: State) {
        if !is_closer(first) || !self.text[..at].trim_end().ends_with(first) {
            return;
        }
        if let Some(state) = self.undo(state, Op::Mark, at, at + 1) {
            self.go(at + 1, State { mode: Mode::After(Last::Bracket), ..state });
        }
    }
}

fn is_closer(letter: char) -> bool {
    matches!(letter, '}' | ']')
}

fn is_colon(letter: char) -> bool {
    letter == ':'
}

/// Whether a character may follow a value.
fn is_after(letter: char) -> bool {
    matches!(letter, ',' | '}' | ']')
}

fn is_structure(letter: char) -> bool {
    matches!(letter, '{' | '}' | '[' | ']' | ',' | ':' | '"')
}

/// Whether a character more likely replaces a quote than accompanies it.
fn is_seam(letter: char) -> bool {
    is_structure(letter) || Quote::open(letter.encode_utf8(&mut [0; 4])).is_some()
}

fn is_mark(letter: char) -> bool {
    matches!(letter, ',' | ':' | '}' | ']')
}
