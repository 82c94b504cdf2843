//! A model's words on their way to arguments that a tool can run with.
//!
//! ```text
//! parse → repair → (handles) → coerce → complete → check
//! ```
//!
//! `parse` reads the text, repairing it where it must, and gives every way to
//! understand it, the cheapest first. `Parameters`, made once for each
//! tool, settles them against its schema. Whatever differs from what the model wrote is a
//! [`Change`]; whatever remains wrong is a [`Violation`](crate::schema::Violation).
//!
//! Three rules hold everywhere: a string that is valid in its place is never touched, a required
//! value is never invented, and no change goes unreported.

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
mod settle;
#[cfg(test)]
mod tests;

pub use change::{Change, Op};
pub use checked::CheckedCall;
pub use complete::{Completed, Missing};
pub use hide::{SYSTEM, hidden_names};
pub use parameters::{Parameter, Parameters};
pub use parse::parse;
pub use settle::{MAX_COST, Settled};

use crate::json::Json;

/// The coercions that must be asked for, because they can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `"a, b"` for an array of strings
    pub comma_lists: bool,
    /// `"1,234"` for a number
    pub thousands: bool,
    /// `userName` for `user_name`
    pub fold_names: bool,
}

impl Options {
    /// All of them.
    pub const LENIENT: Options = Options { comma_lists: true, thousands: true, fold_names: true };
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
    /// How far this reading is from what was written.
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
