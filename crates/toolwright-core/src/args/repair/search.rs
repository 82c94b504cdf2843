//! A beam search that follows every reading of a damaged text at once, from left to right.
//!
//! A state is a position in the grammar with its cost. An ambiguity splits a state in two. Among
//! states at the same position with the same expectation only the cheapest continue, so the work is
//! linear in the text. The events of a state are a list that shares its prefix with others; a tree
//! is built only for states that reach the end.

use std::collections::BTreeMap;

use toolwright_json::MAX_DEPTH;

use super::prelude::{Tail, tail};
use super::quotation::Quotation;
use super::token::Quote;
use crate::args::Op;

/// Maximum number of states with the same expectation at one position.
const MAX_SIMILAR_STATES: usize = 4;
/// Maximum number of states at one position.
const BEAM_WIDTH: usize = 64;
/// Cost of undoing a slip.
pub(super) const SLIP_COST: u32 = 4;
/// Maximum cost of a reading above that of the cheapest.
const MAX_EXTRA_COST: u32 = 16;
/// Cost at which a reading is given up.
const COST_LIMIT: u32 = 512;
/// Maximum number of complete readings, and bytes of text that they may build together.
const MAX_FOUND: (usize, usize) = (32, 1 << 20);
/// Maximum number of steps: for any text, for each byte of it, and in total.
const MAX_STEPS: (usize, usize, usize) = (50_000, 16, 16_000_000);

/// The token before a value or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// None: this is the document
    Root,
    /// The opening bracket
    Bracket,
    /// A comma
    Comma,
    /// A missing comma
    Gap,
    /// The colon after a key
    Colon,
}

/// The end of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Text,
    Word,
    Bare,
    Bracket,
}

/// The next expected token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Value(Before),
    Key(Before),
    /// The remainder of a string
    Text {
        quote: Quote,
        is_key: bool,
        before: Before,
        /// Contains a control character that should have been escaped
        raw: bool,
        /// The unescaped quotes
        inner: Quotation,
    },
    /// A colon
    Colon {
        before: Before,
        quoted: bool,
    },
    /// A comma or the end
    After(Last),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Bracket {
    Object,
    /// `{{`
    Doubled,
    Array,
    /// `(`
    Tuple,
}

impl Bracket {
    pub(super) fn is_object(self) -> bool {
        matches!(self, Bracket::Object | Bracket::Doubled)
    }
}

/// An open bracket, and the enclosing ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) bracket: Bracket,
    pub(super) around: Option<usize>,
    pub(super) depth: usize,
    /// Equal for equal stacks of brackets
    pub(super) digest: u64,
    /// Whether commas separate its items
    pub(super) commas: bool,
    /// Whether it has adjacent numbers that look like one number in groups of three digits
    pub(super) groups: bool,
}

/// An event of a reading.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// A change: kind, cost, start and end in the text
    Change(Op, u32, usize, usize),
    Open(Bracket),
    End,
    Key(Option<Quote>, usize, usize),
    Text(Option<Quote>, usize, usize),
    Word(usize, usize),
}

/// A systematic deviation from JSON in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Habit {
    Quotes,
    Keys,
    MissingCommas,
    ExtraCommas,
    Comments,
    Literals,
    Lines,
    Marks,
}

impl Habit {
    /// Habits of a complete text: nothing is missing, and every string ends at its quote.
    const WHOLE: [Habit; 6] = [
        Habit::Quotes,
        Habit::Keys,
        Habit::ExtraCommas,
        Habit::Comments,
        Habit::Literals,
        Habit::Lines,
    ];

    fn op(self) -> Op {
        match self {
            Habit::Quotes | Habit::Keys => Op::Quote,
            Habit::MissingCommas | Habit::ExtraCommas => Op::Comma,
            Habit::Comments => Op::Comment,
            Habit::Literals => Op::Literal,
            Habit::Lines => Op::Escape,
            Habit::Marks => Op::Mark,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) mode: Mode,
    pub(super) frame: Option<usize>,
    pub(super) log: Option<usize>,
    pub(super) cost: u32,
    /// The start of the string
    pub(super) start: usize,
    /// The habits whose cost was counted
    pub(super) habits: u16,
    /// Whether a slip was undone
    pub(super) slipped: bool,
    /// Whether others of equal cost were dropped
    pub(super) crowded: bool,
}

/// A complete reading of a document.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) events: Vec<Event>,
    pub(super) end: usize,
    pub(super) tail: Tail,
}

pub(super) struct Search<'t> {
    pub(super) text: &'t str,
    frames: Vec<Frame>,
    log: Vec<(Event, Option<usize>)>,
    queue: BTreeMap<usize, Vec<State>>,
    ends: Vec<(State, usize, Tail)>,
    tails: BTreeMap<usize, Tail>,
    steps: usize,
    /// A position, and the first boundary after it: see [`Search::next_boundary`]
    boundary: (usize, usize),
    /// The cost of the cheapest state that was dropped because the beam was full
    floor: u32,
    best: u32,
    /// The end of the first complete document: text after it does not belong to it
    whole: usize,
}

impl<'t> Search<'t> {
    /// Returns every reading of a document at the start of a text, cheapest first.
    pub(super) fn run(text: &'t str) -> Vec<Found> {
        let mut search = Search::new(text);
        if search.walk() { search.finish() } else { Vec::new() }
    }

    fn new(text: &'t str) -> Search<'t> {
        Search {
            text,
            frames: Vec::new(),
            log: Vec::new(),
            queue: BTreeMap::new(),
            ends: Vec::new(),
            tails: BTreeMap::new(),
            steps: most_steps(text),
            boundary: (0, 0),
            floor: u32::MAX,
            best: COST_LIMIT - MAX_EXTRA_COST,
            whole: usize::MAX,
        }
    }

    /// Follows every state to its end; returns false if there are too many.
    fn walk(&mut self) -> bool {
        let start = State {
            mode: Mode::Value(Before::Root),
            frame: None,
            log: None,
            cost: 0,
            start: 0,
            habits: 0,
            slipped: false,
            crowded: false,
        };
        self.go(0, start);
        while let Some((at, states)) = self.queue.pop_first() {
            for state in states {
                if !self.spend(1) {
                    return false;
                }
                if state.cost <= self.best + MAX_EXTRA_COST {
                    self.step(at, state);
                }
            }
        }
        true
    }

    /// Counts work; returns false if the limit is reached.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        #[cfg(test)]
        toolwright_json::work::count(steps);
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    /// Returns the first quote, bracket, newline or backslash after a position, or the end of the
    /// text. The result is cached for all positions up to it, so that the text is scanned once.
    pub(super) fn next_boundary(&mut self, at: usize) -> usize {
        let is_boundary =
            |letter: char| matches!(letter, '"' | '{' | '}' | '[' | ']' | '\n' | '\\');
        let (from, known) = self.boundary;
        if (from..=known).contains(&at) {
            return known;
        }
        let (until, known) =
            if at < from { (from, known) } else { (self.text.len(), self.text.len()) };
        let found = self.text[at..until].find(is_boundary).map(|length| at + length);
        self.spend(found.unwrap_or(until) - at);
        self.boundary = (at, found.unwrap_or(known));
        self.boundary.1
    }

    /// Continues a state at a position.
    pub(super) fn go(&mut self, at: usize, mut state: State) {
        let digest =
            |frames: &[Frame], state: &State| state.frame.map(|frame| frames[frame].digest);
        let own = digest(&self.frames, &state);
        let states = self.queue.entry(at).or_default();
        let alike = |other: &State| {
            other.mode == state.mode
                && other.habits == state.habits
                && other.slipped == state.slipped
                && digest(&self.frames, other) == own
        };
        let (mut count, mut least, mut worst) = (0, u32::MAX, None::<(usize, u32)>);
        for (place, other) in states.iter().enumerate().filter(|(_, other)| alike(other)) {
            count += 1;
            least = least.min(other.cost);
            if worst.is_none_or(|(_, cost)| other.cost >= cost) {
                worst = Some((place, other.cost));
            }
        }
        let Some((place, cost)) = worst.filter(|_| count >= MAX_SIMILAR_STATES) else {
            if states.len() < BEAM_WIDTH {
                states.push(state);
            } else if let Some(worst) = states.iter_mut().max_by_key(|other| other.cost) {
                if worst.cost > state.cost {
                    std::mem::swap(worst, &mut state);
                }
                self.floor = self.floor.min(state.cost);
            }
            return;
        };
        if state.cost < cost {
            states[place] = state;
        } else if state.cost == least {
            for other in states.iter_mut().filter(|other| other.cost == least) {
                other.crowded = true;
            }
        }
    }

    /// Ends the document; text may follow.
    pub(super) fn end(&mut self, at: usize, mut state: State) {
        let rest = &self.text[at..];
        let known = self.tails.get(&at).cloned();
        let tail = known.unwrap_or_else(|| {
            self.spend(rest.len().min(4096));
            tail(rest)
        });
        self.tails.insert(at, tail.clone());
        if is_whole(&state) && self.text[..at].ends_with(['}', ']']) {
            self.whole = self.whole.min(at);
        }
        state.cost += match tail {
            Tail::Garbage => return,
            Tail::Blank => 0,
            Tail::Prose | Tail::Closers(_) => 1,
            Tail::More(_) => Op::Split.cost(),
        };
        self.best = self.best.min(state.cost);
        self.ends.push((state, at, tail));
    }

    /// Returns the state after an event.
    pub(super) fn with(&mut self, mut state: State, event: Event) -> State {
        if let Event::Change(_, cost, ..) = event {
            state.cost += cost;
        }
        self.log.push((event, state.log));
        state.log = Some(self.log.len() - 1);
        state
    }

    /// Returns the state after a change.
    pub(super) fn changed(&mut self, state: State, op: Op, start: usize, end: usize) -> State {
        self.with(state, Event::Change(op, op.cost(), start, end))
    }

    /// Returns the state after a change by habit, whose cost counts once.
    pub(super) fn by_habit(
        &mut self,
        mut state: State,
        habit: Habit,
        start: usize,
        end: usize,
    ) -> State {
        let (op, bit) = (habit.op(), 1 << habit as u16);
        let cost = if state.habits & bit == 0 { op.cost() } else { 0 };
        state.habits |= bit;
        self.with(state, Event::Change(op, cost, start, end))
    }

    /// Returns the innermost open bracket.
    pub(super) fn top(&self, state: &State) -> Option<Frame> {
        state.frame.map(|frame| self.frames[frame])
    }

    /// Returns the state inside a bracket; `None` if the nesting is too deep.
    pub(super) fn open(&mut self, state: State, bracket: Bracket) -> Option<State> {
        let (depth, outer) = self.top(&state).map_or((0, 7), |frame| (frame.depth, frame.digest));
        if depth == MAX_DEPTH {
            return None;
        }
        let mut state = self.with(state, Event::Open(bracket));
        let frame = Frame {
            bracket,
            around: state.frame,
            depth: depth + 1,
            digest: mix(outer, bracket as u64 + 1),
            commas: false,
            groups: false,
        };
        self.frames.push(frame);
        state.frame = Some(self.frames.len() - 1);
        Some(state)
    }

    /// Replaces the innermost bracket.
    pub(super) fn reframe(&mut self, mut state: State, frame: Frame) -> State {
        let outer = frame.around.map_or(7, |around| self.frames[around].digest);
        let marks = u64::from(frame.commas) << 8 | u64::from(frame.groups) << 9;
        self.frames.push(Frame { digest: mix(outer, (frame.bracket as u64 + 1) | marks), ..frame });
        state.frame = Some(self.frames.len() - 1);
        state
    }

    fn finish(mut self) -> Vec<Found> {
        // A string that extends beyond the end of a document would swallow another call.
        self.ends.retain(|(_, end, _)| *end <= self.whole);
        // If a reading was dropped, those of equal cost are ambiguous.
        let crowded = self.ends.iter().filter(|(state, ..)| state.crowded);
        let floor = crowded.map(|(state, ..)| state.cost).min().unwrap_or(u32::MAX);
        let floor = floor.min(self.floor);
        self.ends.retain(|(state, ..)| state.cost < floor);
        self.ends.sort_by_key(|(state, ..)| state.cost);
        let most = MAX_FOUND.0.min(MAX_FOUND.1 / self.text.len().max(1)).max(2);
        if let Some((first, ..)) = self.ends.get(most) {
            let limit = first.cost;
            self.ends.retain(|(state, ..)| state.cost < limit);
        }
        let ends = std::mem::take(&mut self.ends);
        ends.into_iter().map(|(state, end, tail)| self.found(state, end, tail)).collect()
    }

    fn found(&self, state: State, end: usize, tail: Tail) -> Found {
        let mut events = Vec::new();
        let mut next = state.log;
        while let Some(place) = next {
            let (event, before) = self.log[place];
            events.push(event);
            next = before;
        }
        events.reverse();
        Found { events, end, tail }
    }
}

/// Whether only habits of complete texts were used.
fn is_whole(state: &State) -> bool {
    let paid = Habit::WHOLE.into_iter().filter(|habit| state.habits & (1 << *habit as u16) != 0);
    state.cost == paid.map(|habit| habit.op().cost()).sum::<u32>()
}

/// Returns the maximum number of steps for a text.
fn most_steps(text: &str) -> usize {
    text.len().saturating_mul(MAX_STEPS.1).saturating_add(MAX_STEPS.0).min(MAX_STEPS.2)
}

fn mix(one: u64, other: u64) -> u64 {
    (one ^ other).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
