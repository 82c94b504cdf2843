//! Arguments that a schema rejects on their way to the nearest ones that it accepts.
//!
//! Only places that break the schema are touched (`mend`), so a string that is valid in its place
//! stays what it is. Each rule proposes what a value may have meant, in its own file:
//!
//! | rule | from → to | |
//! |---|---|---|
//! | `number` | `"12"` → `12` | `"1,234"` if asked for |
//! | `boolean` | `"True"` → `true` | |
//! | `text` | `12` → `"12"` | |
//! | `choice` | `" Red "` → `"red"` | where the schema lists values |
//! | `parse` | `"[1]"` → `[1]` | |
//! | `list` | `"a"` → `["a"]` | `"a, b"` → `["a", "b"]` if asked for |
//! | `absent` | `null` → nothing | where the schema does not ask for a value |
//! | `unwrap` | `{"arguments": {…}}` → `{…}` | |
//! | `rename` | `userName` → `user_name` | if asked for |
//!
//! The cheapest set of changes that the schema accepts wins. Two that cost the same and differ, or
//! one that goes too far, are no answer: then the violations of what came are.

mod absent;
mod boolean;
mod choice;
mod ground;
mod list;
mod mend;
mod node;
mod number;
mod parse;
mod place;
mod rename;
mod text;
pub(super) mod unwrap;
mod within;

use super::{Change, Op, Options, Reading};
use crate::json::Json;
use crate::schema::{Check, Violation};

/// What arguments are coerced by: the check of a schema, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Coercion<'s> {
    check: &'s Check,
    options: Options,
    tool: &'s str,
}

impl<'s> Coercion<'s> {
    /// By the check of a schema, without the coercions that must be asked for.
    pub fn new(check: &'s Check) -> Coercion<'s> {
        Coercion { check, options: Options::default(), tool: "" }
    }

    /// With the coercions that must be asked for.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Coercion<'s> {
        self.options = options;
        self
    }

    /// For a tool by its name, which models like to wrap its arguments in.
    #[must_use]
    pub fn for_tool(mut self, name: &'s str) -> Coercion<'s> {
        self.tool = name;
        self
    }

    /// The nearest value that the schema accepts, and how it differs; or what could be mended, and
    /// what is wrong with it.
    pub fn apply(&self, value: Json) -> Result<Reading, Unmended> {
        if self.check.accepts(&value) {
            return Ok(Reading { value, changes: Vec::new() });
        }
        mend::whole(value, self).map_err(|reading| {
            let errors = self.check.violations(&reading.value);
            Unmended { reading, errors }
        })
    }
}

/// Arguments that the schema does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmended {
    /// The arguments, with the places mended that could be
    pub reading: Reading,
    /// What is still wrong
    pub errors: Vec<Violation>,
}

/// A value that may have been meant, and what leads to it.
struct Proposal {
    value: Json,
    changes: Vec<Change>,
}

impl Proposal {
    /// One change of a value as a whole.
    fn new(at: &str, op: Op, from: &Json, to: Json) -> Proposal {
        let change = Change::new(at, op).with_values(place::shown(from), place::shown(&to));
        Proposal { value: to, changes: vec![change] }
    }

    /// How far it goes.
    fn cost(&self) -> u32 {
        self.changes.iter().map(|change| change.cost).sum()
    }
}
