//! The grammar: JSON, and common deviations. Each rule lists the successors of one state.

use super::search::{Before, Bracket, Event, Frame, Habit, Last, Mode, Search, State};
use super::token::{self, Quote, Word};
use crate::args::Op;

impl Search<'_> {
    /// Advances a state in every possible way.
    pub(super) fn step(&mut self, at: usize, state: State) {
        match state.mode {
            Mode::Text { .. } => self.text(at, state),
            _ => self.between(at, state),
        }
    }

    /// Between tokens: skips white space and comments.
    fn between(&mut self, at: usize, state: State) {
        let here = at + token::space(&self.text[at..]);
        if !self.spend(here - at) {
            return;
        }
        let is_json = |letter: char| matches!(letter, ' ' | '\t' | '\n' | '\r');
        let state = if self.text[at..here].chars().all(is_json) {
            state
        } else {
            self.by_habit(state, Habit::Marks, at, here)
        };
        let rest = &self.text[here..];
        // Text that touches the preceding quote more likely belongs to the string.
        let touches = here == at && state.mode == Mode::After(Last::Text);
        if !touches && ["//", "/*", "#"].iter().any(|start| rest.starts_with(start)) {
            let comment = token::comment(rest);
            if !self.spend(comment.unwrap_or(rest.len())) {
                return;
            }
            match (comment, state.mode) {
                (_, Mode::Value(Before::Root)) => {}
                (Some(length), _) => {
                    let state = self.by_habit(state, Habit::Comments, here, here + length);
                    self.go(here + length, state);
                }
                (None, Mode::Value(_)) => self.lost_open(here, state),
                _ => {}
            }
            return;
        }
        let Some(first) = rest.chars().next() else {
            if matches!(state.mode, Mode::After(_)) {
                self.cut(state);
            }
            return;
        };
        match state.mode {
            Mode::Value(before) => self.value(here, first, before, state),
            Mode::Key(before) => self.key(here, first, before, state),
            Mode::Colon { before, quoted } => {
                self.colon(here, first, before, quoted, here > at, state);
            }
            Mode::After(last) => self.after(at, here, first, last, state),
            Mode::Text { .. } => {}
        }
    }

    fn value(&mut self, at: usize, first: char, before: Before, state: State) {
        let bracket = match first {
            '{' | '｛' => Some(Bracket::Object),
            '[' | '［' => Some(Bracket::Array),
            '(' if before != Before::Root => Some(Bracket::Tuple),
            _ => None,
        };
        if let Some(bracket) = bracket {
            self.doubled_bracket(at, first, before, state);
            self.bracket(at, first, bracket, state);
        } else if matches!(first, ']' | '］' | ')' | '}' | '｝') {
            self.close_early(at, first, before, state);
        } else if Quote::open(&self.text[at..]).is_some() {
            self.lost_closer(at, before, state);
            self.quote(at, false, Before::Root, state);
        } else if before != Before::Root {
            self.doubled_mark(at, first, before, state);
            self.lost_open(at, state);
            self.word(at, state);
        }
    }

    /// Closes a bracket where another value or key may follow.
    fn close_early(&mut self, at: usize, first: char, before: Before, state: State) {
        match before {
            Before::Bracket => self.close(at, first, state),
            Before::Comma => {
                let state = self.by_habit(state, Habit::ExtraCommas, at, at);
                self.close(at, first, state);
            }
            _ => {}
        }
    }

    fn bracket(&mut self, at: usize, first: char, bracket: Bracket, state: State) {
        let plain = matches!(first, '{' | '[');
        let next = at + first.len_utf8();
        let state = if plain { state } else { self.by_habit(state, Habit::Marks, at, next) };
        if bracket == Bracket::Object
            && self.text[next..].starts_with('{')
            && let Some(inner) = self.open(state, Bracket::Doubled)
        {
            let inner = self.by_habit(inner, Habit::Marks, at, next + 1);
            self.go(next + 1, State { mode: Mode::Key(Before::Bracket), ..inner });
            return;
        }
        let Some(inner) = self.open(state, bracket) else { return };
        let mode = if bracket.is_object() {
            Mode::Key(Before::Bracket)
        } else {
            Mode::Value(Before::Bracket)
        };
        self.go(next, State { mode, ..inner });
    }

    /// Completes a value.
    pub(super) fn done(&mut self, at: usize, last: Last, state: State) {
        if state.frame.is_none() {
            self.end(at, state);
        } else {
            self.go(at, State { mode: Mode::After(last), ..state });
        }
    }

    /// Reads a number, a literal, or a string without quotes.
    fn word(&mut self, at: usize, state: State) {
        let rest = &self.text[at..];
        let run = rest[..token::run(rest)].trim_end();
        if !self.spend(run.len()) {
            return;
        }
        let first = run.split_whitespace().next().unwrap_or_default();
        let at_end = at + run.len() == self.text.len();
        let end = at + first.len();
        let alone = first.len() == run.len();
        match token::word(first) {
            Word::Plain(_) => {
                let state = self.with(state, Event::Word(at, end));
                self.done(end, Last::Word, state);
            }
            Word::Foreign(value)
                if !(at_end && alone && !value.is_null() && value.as_bool().is_none()) =>
            {
                let state = self.by_habit(state, Habit::Literals, at, end);
                let state = self.with(state, Event::Word(at, end));
                self.done(end, Last::Word, state);
            }
            _ => {}
        }
        let is_text = |word: &str| token::word(word) == Word::Text;
        let nothing = run.split_whitespace().any(|word| token::word(word) == Word::Nothing);
        if !at_end && !nothing && run.split_whitespace().any(is_text) && token::is_sure_text(run) {
            let end = at + run.len();
            let state = self.changed(state, Op::Quote, at, end);
            let state = self.with(state, Event::Text(None, at, end));
            self.done(end, Last::Bare, state);
        }
    }

    fn key(&mut self, at: usize, first: char, before: Before, state: State) {
        let rest = &self.text[at..];
        if matches!(first, '}' | '｝' | ']' | '］' | ')') {
            self.close_early(at, first, before, state);
        } else if matches!(first, ',' | '，') && before != Before::Gap {
            let next = at + first.len_utf8();
            let state = self.by_habit(state, Habit::ExtraCommas, at, next);
            self.go(next, State { mode: Mode::Key(before), ..state });
        } else if Quote::open(rest).is_some() {
            self.quote(at, true, before, state);
        } else {
            let length = token::bare_key(rest);
            let digits = first.is_ascii_digit();
            if length == 0 || (digits && before == Before::Gap) || !self.spend(length) {
                return;
            }
            self.lost_key_open(at, length, before, state);
            let end = at + length;
            let state = self.by_habit(state, Habit::Keys, at, end);
            let state = self.with(state, Event::Key(None, at, end));
            self.go(end, State { mode: Mode::Colon { before, quoted: false }, ..state });
        }
    }

    fn colon(
        &mut self,
        at: usize,
        first: char,
        before: Before,
        quoted: bool,
        gap: bool,
        state: State,
    ) {
        let rest = &self.text[at..];
        let mode = Mode::Value(Before::Colon);
        let length = match first {
            ':' if rest.starts_with(":=") => 2,
            ':' => {
                self.go(at + 1, State { mode, ..state });
                return;
            }
            '=' if rest.starts_with("=>") => 2,
            '：' | '=' => first.len_utf8(),
            // Only between an unambiguous key and an unambiguous value.
            _ if !quoted || before == Before::Gap || self.is_swapped(at, ':') => return,
            '"' if rest.starts_with("\":") => return,
            '"' | '0'..='9' | '{' | '[' if gap => 0,
            '"' | '0'..='9' | '{' | '[' | '-' | 't' | 'f' | 'n' => {
                self.lost_colon(at, state);
                return;
            }
            _ => return,
        };
        let state = self.by_habit(state, Habit::Marks, at, at + length);
        self.go(at + length, State { mode, ..state });
    }

    fn after(&mut self, at: usize, here: usize, first: char, last: Last, state: State) {
        let Some(frame) = self.top(&state) else { return };
        let is_object = frame.bracket.is_object();
        let expect = |before| if is_object { Mode::Key(before) } else { Mode::Value(before) };
        match first {
            ',' => self.comma(here + 1, frame, State { mode: expect(Before::Comma), ..state }),
            '，' | '、' => {
                let next = here + first.len_utf8();
                let state = self.by_habit(state, Habit::Marks, here, next);
                self.comma(next, frame, State { mode: expect(Before::Comma), ..state });
            }
            '}' | ']' | ')' | '｝' | '］' => {
                self.doubled_closer(here, first, state);
                self.close(here, first, state);
            }
            _ if self.may_follow(at, here, first, last, is_object) => {
                let state = self.by_habit(state, Habit::MissingCommas, here, here);
                let state = self.gap(here, frame, last, state);
                if let Some(state) = state {
                    self.go(here, State { mode: expect(Before::Gap), ..state });
                }
            }
            _ => {}
        }
    }

    fn comma(&mut self, next: usize, frame: Frame, state: State) {
        if frame.bracket.is_object() || frame.commas {
            self.go(next, state);
        } else if !frame.groups {
            let state = self.reframe(state, Frame { commas: true, ..frame });
            self.go(next, state);
        }
    }

    /// Whether a mark that is missing here is at the end of the preceding string.
    pub(super) fn is_swapped(&self, at: usize, mark: char) -> bool {
        let before = self.text[..at].trim_end().strip_suffix('"');
        before.is_some_and(|before| before.ends_with(mark))
    }

    /// Whether a comma can be missing here.
    fn may_follow(&self, at: usize, here: usize, first: char, last: Last, is_object: bool) -> bool {
        if self.is_swapped(at, ',') || self.text[here..].starts_with("\",") {
            return false;
        }
        let gap = &self.text[at..here];
        let is_quote = Quote::open(&self.text[here..]).is_some();
        if last == Last::Bare {
            return is_object && gap.contains('\n');
        }
        if is_object {
            return is_quote || !gap.is_empty();
        }
        let is_bracket = matches!(first, '{' | '[' | '｛' | '［' | '(');
        let spaced = !gap.is_empty() || (last == Last::Bracket && is_bracket);
        // A word between two strings might be a quotation inside one.
        spaced && (last != Last::Text || is_quote || is_bracket)
    }

    /// Adjacent numbers may be one number in groups of three digits; commas elsewhere suggest so.
    fn gap(&mut self, here: usize, frame: Frame, last: Last, state: State) -> Option<State> {
        if frame.bracket.is_object() || last != Last::Word {
            return Some(state);
        }
        let rest = &self.text[here..];
        let word = &rest[..token::run(rest)];
        let word = word.split_whitespace().next().unwrap_or_default();
        let whole = word.split('.').next().unwrap_or_default();
        if whole.len() != 3 || !whole.bytes().all(|digit| digit.is_ascii_digit()) {
            return Some(state);
        }
        if frame.commas {
            return None;
        }
        Some(if frame.groups {
            state
        } else {
            self.reframe(state, Frame { groups: true, ..frame })
        })
    }

    /// Closes a bracket: the matching one, one that closes others too, or a wrong one.
    fn close(&mut self, at: usize, first: char, state: State) {
        let Some(frame) = self.top(&state) else { return };
        let next = at + first.len_utf8();
        let is_brace = matches!(first, '}' | '｝');
        let state = if matches!(first, '｝' | '］') {
            self.by_habit(state, Habit::Marks, at, next)
        } else {
            state
        };
        let fits = match frame.bracket {
            Bracket::Object => is_brace,
            Bracket::Doubled => {
                if is_brace && self.text[next..].starts_with('}') {
                    self.pop(next + 1, frame, state);
                }
                return;
            }
            Bracket::Array => matches!(first, ']' | '］'),
            Bracket::Tuple => first == ')',
        };
        if fits {
            self.pop(next, frame, state);
            return;
        }
        if self.is_swapped(at, if frame.bracket.is_object() { '}' } else { ']' }) {
            return;
        }
        let wrong = self.changed(state, Op::Mark, at, next);
        self.pop(next, frame, wrong);
        let mut state = state;
        let mut frame = frame;
        let matches = |bracket: Bracket| match bracket {
            Bracket::Object => is_brace,
            Bracket::Array => matches!(first, ']' | '］'),
            _ => false,
        };
        while !matches(frame.bracket) {
            state = self.changed(state, Op::Mark, at, at);
            state = self.with(state, Event::End);
            state.frame = frame.around;
            match self.top(&state) {
                Some(outer) if outer.bracket != Bracket::Doubled => frame = outer,
                _ => return,
            }
        }
        self.pop(next, frame, state);
    }

    fn pop(&mut self, next: usize, frame: Frame, state: State) {
        let state = self.with(state, Event::End);
        self.done(next, Last::Bracket, State { frame: frame.around, ..state });
    }

    /// Ends the text after a value.
    pub(super) fn cut(&mut self, state: State) {
        let end = self.text.len();
        let is_sure = !state.slipped && !self.is_swapped(end, '}') && !self.is_swapped(end, ']');
        let Some(mut frame) = self.top(&state).filter(|_| is_sure) else { return };
        let mut state = self.changed(state, Op::Close, end, end);
        loop {
            state = self.with(state, Event::End);
            state.frame = frame.around;
            match self.top(&state) {
                Some(outer) => frame = outer,
                None => return self.end(end, state),
            }
        }
    }
}
