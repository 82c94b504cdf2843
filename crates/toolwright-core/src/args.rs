//! Turns what a model wrote into arguments that a tool can run with.
//!
//! ```text
//! parse → repair → (handles) → check → coerce, if the check rejects → complete
//! ```
//!
//! `parse` reads the text, repairs it if necessary, and returns every way to understand it, the cheapest
//! first. `Parameters`, created once for each tool, resolves these readings against its schema. Each
//! difference from what the model wrote is a [`Change`]; each remaining error is a
//! [`Violation`](crate::schema::Violation).
//!
//! Three rules hold everywhere: a string that is valid in its place is never changed, a required value
//! is never invented, and every change is reported.

pub mod change;
mod checked;
pub mod coerce;
mod complete;
mod doubt;
mod feedback;
pub mod growing;
mod hide;
mod parameters;
mod parse;
mod repair;
mod resolve;
#[cfg(test)]
mod tests;

pub use change::{Change, Op};
pub use checked::CheckedCall;
pub use complete::{Completed, Missing};
pub use hide::{SYSTEM, hidden_names};
pub use parameters::{Parameter, Parameters};
pub use parse::{parse, parse_exact};
pub use resolve::{MAX_COST, ResolvedArguments};

use toolwright_json::Json;

/// Coercions that are off by default, because they can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoercionOptions {
    /// `"a, b"` for an array of strings
    pub comma_lists: bool,
    /// `"1,234"` for a number
    pub thousands: bool,
    /// `userName` for `user_name`
    pub fold_names: bool,
}

impl CoercionOptions {
    /// All of them.
    pub const LENIENT: CoercionOptions =
        CoercionOptions { comma_lists: true, thousands: true, fold_names: true };
}

/// One way to understand what a model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The arguments by this reading
    pub value: Json,
    /// What had to be changed in the text
    pub changes: Vec<Change>,
}

impl Reading {
    /// The total cost of the changes.
    pub fn cost(&self) -> u32 {
        self.changes.iter().map(|change| change.cost).sum()
    }
}

/// Every way to understand what a model wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed {
    /// The readings, cheapest first; none if the text cannot be understood
    pub readings: Vec<Reading>,
}

impl Parsed {
    /// Whether the text cannot be understood.
    pub fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }
}
