//! Limits of a run, and what it has consumed.

use std::fmt;
use std::time::Duration;

use toolwright_core::Usage;

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of turns
    pub turns: u32,
    /// Maximum number of calls
    pub calls: Option<u32>,
    /// Maximum number of tokens, input and output of all turns
    pub tokens: Option<u64>,
    /// Maximum duration, including the time in which calls wait for approval
    pub duration: Option<Duration>,
    /// How often the same call may fail before the run ends
    pub repeats: u32,
}

impl Limits {
    /// Limits the turns, with the defaults for the others.
    pub fn turns(turns: u32) -> Limits {
        Limits { turns, ..Limits::default() }
    }

    /// Limits the calls.
    #[must_use]
    pub fn with_calls(mut self, calls: u32) -> Limits {
        self.calls = Some(calls);
        self
    }

    /// Limits the tokens.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u64) -> Limits {
        self.tokens = Some(tokens);
        self
    }

    /// Limits the duration.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Limits {
        self.duration = Some(duration);
        self
    }

    /// Limits how often the same call may fail.
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

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Number of turns
    Turns(u32),
    /// Number of calls
    Calls(u32),
    /// Number of tokens
    Tokens(u64),
    /// Duration
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

/// What a run has consumed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Consumption {
    /// Number of turns
    pub turns: u32,
    /// Number of calls that were started
    pub calls: u32,
    /// Usage of all turns
    pub usage: Usage,
    /// Duration before the run was last resumed
    pub earlier: Duration,
}

impl Consumption {
    /// Number of calls that may still be started.
    pub(super) fn calls_left(&self, limits: &Limits) -> usize {
        let left = limits.calls.map_or(u32::MAX, |most| most.saturating_sub(self.calls));
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Checks the limits before a request to the model.
    pub(super) fn before_turn(&self, limits: &Limits) -> Result<(), Limit> {
        if self.turns >= limits.turns {
            return Err(Limit::Turns(limits.turns));
        }
        self.tokens(limits)
    }

    /// Checks the limit on tokens.
    pub(super) fn tokens(&self, limits: &Limits) -> Result<(), Limit> {
        match limits.tokens {
            Some(most) if self.usage.total() >= most => Err(Limit::Tokens(most)),
            _ => Ok(()),
        }
    }
}
