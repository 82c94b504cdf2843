//! Strings: where they start, which quotes belong to them, where they end.

use super::quotation::Quotation;
use super::search::{Before, Event, Habit, Last, Mode, Search, State};
use super::token::Quote;
use super::unescape::is_half;
use crate::args::Op;

impl Search<'_> {
    /// The start of a string.
    pub(super) fn quote(&mut self, at: usize, is_key: bool, before: Before, state: State) {
        let rest = &self.text[at..];
        let triple = Quote::open_triple(rest).map(|quote| (quote, 3));
        for (quote, length) in Quote::open(rest).into_iter().chain(triple) {
            let start = at + length;
            let state = match quote {
                Quote::Double => state,
                _ => self.by_habit(state, Habit::Quotes, at, start),
            };
            // Python's triple-quoted strings may contain newlines.
            let raw = matches!(quote, Quote::Triple(_) | Quote::Backtick);
            let mode = Mode::Text { quote, is_key, before, raw, inner: Quotation::None };
            self.go(start, State { mode, start, ..state });
            if quote == Quote::Double {
                self.doubled_open(at, mode, state);
            }
        }
    }

    /// A string up to the next quote that may end it.
    pub(super) fn text(&mut self, at: usize, mut state: State) {
        let Mode::Text { quote, is_key, before, mut raw, inner } = state.mode else { return };
        let mut here = at;
        let mut may_lose_quote = is_key && quote == Quote::Double;
        loop {
            let rest = &self.text[here..];
            let attention = |letter: char| {
                letter == '\\'
                    || quote.may_close(letter)
                    || (letter < ' ' && (is_key || !raw))
                    || (letter == ':' && may_lose_quote)
            };
            let Some(length) = rest.find(attention) else {
                self.spend(rest.len());
                if !is_key && inner == Quotation::None {
                    self.cut_text(quote, state);
                }
                return;
            };
            if !self.spend(length + 1) {
                return;
            }
            here += length;
            let rest = &self.text[here..];
            let mode = |raw, inner| Mode::Text { quote, is_key, before, raw, inner };
            if rest.starts_with(':') {
                self.lost_key_close(here, before, state);
                may_lose_quote = false;
                here += 1;
                continue;
            }
            if let Some(length) = quote.close(rest) {
                if inner != Quotation::Open {
                    self.end_text(here, here + length, quote, is_key, before, state);
                    self.undo_quote(here, quote, is_key, before, inner, state);
                }
                if let Some((cost, inner)) = self.inside(here, length, quote, is_key, inner) {
                    let change = Event::Change(Op::Escape, cost, here, here + length);
                    let state = self.with(state, change);
                    self.go(here + length, State { mode: mode(raw, inner), ..state });
                }
                return;
            }
            if let Some(escaped) = rest.strip_prefix('\\') {
                let Some(second) = escaped.chars().next() else { return };
                if let Some(length) = quote.close(escaped).filter(|_| inner != Quotation::Open) {
                    // A Windows path may end like this.
                    let end = here + 1;
                    let state = self.changed(state, Op::Escape, here, end);
                    self.end_text(end, end + length, quote, is_key, before, state);
                }
                here += 1 + second.len_utf8();
            } else if quote.may_close(rest.chars().next().unwrap_or(' ')) {
                // One or two of three quotes.
                here += 1;
            } else if is_key {
                return;
            } else {
                state = self.by_habit(state, Habit::Lines, here, here + 1);
                raw = true;
                state.mode = mode(true, inner);
            }
        }
    }

    /// Returns the cost of taking a quote as part of the string: higher if it looks like the start
    /// or the end of one. In a key it must be an apostrophe.
    fn inside(
        &self,
        at: usize,
        length: usize,
        quote: Quote,
        is_key: bool,
        inner: Quotation,
    ) -> Option<(u32, Quotation)> {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at + length..].chars().next();
        if is_key {
            let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            let is_apostrophe = quote != Quote::Double && is_letter(before) && is_letter(after);
            return is_apostrophe.then_some((Op::Escape.cost(), inner));
        }
        // An apostrophe has no counterpart.
        let inner_next = match quote {
            Quote::Double => inner.next(before, after)?,
            _ => Quotation::Closed,
        };
        let before = self.text[..at].trim_end().chars().next_back();
        let rest = self.text[at + length..].trim_start();
        let after = rest.chars().next();
        // Adjacent strings, or a sum of strings, are one string in other languages.
        let sum = rest.strip_prefix('+').map(str::trim_start);
        let is_first = inner == Quotation::None;
        let side = (is_first && self.text[at + length..].len() > rest.len()).then_some(rest);
        if sum.or(side).is_some_and(|next| Quote::open(next).is_some()) {
            return None;
        }
        let begins = matches!(before, Some(',' | ':' | '[' | '{' | '，' | '：') | None);
        let ends = matches!(after, Some(',' | ':' | ']' | '}' | '，' | '：') | None);
        let cost = if begins || ends { 2 * Op::Escape.cost() } else { Op::Escape.cost() };
        Some((cost, inner_next))
    }

    /// Undoes a slip at a quote that ends a string.
    fn undo_quote(
        &mut self,
        at: usize,
        quote: Quote,
        is_key: bool,
        before: Before,
        inner: Quotation,
        state: State,
    ) {
        if quote != Quote::Double {
            return;
        }
        self.doubled_close(at, is_key, before, state);
        if !is_key && inner == Quotation::None {
            self.lost_close(at, state);
        }
    }

    pub(super) fn end_text(
        &mut self,
        end: usize,
        next: usize,
        quote: Quote,
        is_key: bool,
        before: Before,
        state: State,
    ) {
        let (start, template) = (state.start, quote == Quote::Backtick);
        if template && self.text[start..end].contains("${") {
            return;
        }
        let quote = Some(quote);
        if is_key {
            let state = self.with(state, Event::Key(quote, start, end));
            self.go(next, State { mode: Mode::Colon { before, quoted: true }, ..state });
            return;
        }
        let state = self.with(state, Event::Text(quote, start, end));
        self.done(next, Last::Text, state);
    }

    /// Ends the text inside a string.
    fn cut_text(&mut self, quote: Quote, state: State) {
        let (end, raw) = (self.text.len(), &self.text[state.start..]);
        // With other quotes, text that looks like JSON suggests that they do not pair.
        let strays =
            quote != Quote::Double && ["\":", "\",", "\"}"].iter().any(|sign| raw.contains(sign));
        if quote == Quote::Double && raw.trim_end().ends_with(['}', ']']) {
            self.lost_last_close(state);
            return;
        }
        if state.frame.is_some() && !raw.trim().is_empty() && !strays && !is_half(raw) {
            let state = self.with(state, Event::Text(Some(quote), state.start, end));
            self.cut(state);
        }
    }
}
