//! How far a run may go, and how far it has gone.

use std::fmt;
use std::time::Duration;

use toolwright_core::Usage;

/// How far a run may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often the model is asked
    pub turns: u32,
    /// How many calls are made
    pub calls: Option<u32>,
    /// How many tokens are used, input and output of all turns
    pub tokens: Option<u64>,
    /// How long it works; time spent waiting for a person while nothing is under way counts too
    pub duration: Option<Duration>,
    /// How often the very same call may fail before the run is given up
    pub repeats: u32,
}

impl Limits {
    /// So many turns, and no other bound.
    pub fn turns(turns: u32) -> Limits {
        Limits { turns, ..Limits::default() }
    }

    /// With a bound on calls.
    #[must_use]
    pub fn with_calls(mut self, calls: u32) -> Limits {
        self.calls = Some(calls);
        self
    }

    /// With a bound on tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u64) -> Limits {
        self.tokens = Some(tokens);
        self
    }

    /// With a bound on time.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Limits {
        self.duration = Some(duration);
        self
    }

    /// With a bound on how often the very same call may fail.
    #[must_use]
    pub fn with_repeats(mut self, repeats: u32) -> Limits {
        self.repeats = repeats;
        self
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { turns: 50, calls: None, tokens: None, duration: None, repeats: 4 }
    }
}

/// A limit that was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The model was asked so often
    Turns(u32),
    /// So many calls were made, and the model wanted more
    Calls(u32),
    /// So many tokens were used, and the model was not done
    Tokens(u64),
    /// So much time went by
    Duration(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Turns(1) => formatter.write_str("1 turn"),
            Limit::Turns(turns) => write!(formatter, "{turns} turns"),
            Limit::Calls(1) => formatter.write_str("1 call"),
            Limit::Calls(calls) => write!(formatter, "{calls} calls"),
            Limit::Tokens(tokens) => write!(formatter, "{tokens} tokens"),
            Limit::Duration(duration) => write!(formatter, "{duration:?}"),
        }
    }
}

/// How far a run has gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spent {
    /// How often the model was asked and answered
    pub turns: u32,
    /// How many calls were handed to the toolbox
    pub calls: u32,
    /// Tokens of all turns
    pub usage: Usage,
    /// Time before the run was last resumed
    pub earlier: Duration,
}

impl Spent {
    /// How many more calls may be made.
    pub(super) fn calls_left(&self, limits: &Limits) -> usize {
        let left = limits.calls.map_or(u32::MAX, |most| most.saturating_sub(self.calls));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// The limit that forbids to ask the model once more.
    pub(super) fn before_turn(&self, limits: &Limits) -> Result<(), Limit> {
        if self.turns >= limits.turns {
            return Err(Limit::Turns(limits.turns));
        }
        self.tokens(limits)
    }

    /// The limit on tokens, if it was met.
    pub(super) fn tokens(&self, limits: &Limits) -> Result<(), Limit> {
        match limits.tokens {
            Some(most) if self.usage.total() >= most => Err(Limit::Tokens(most)),
            _ => Ok(()),
        }
    }
}
