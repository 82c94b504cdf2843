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
pub(super) mod node;
mod number;
mod parse;
mod rename;
mod text;
pub(super) mod unwrap;
mod within;

use super::{Change, CoercionOptions, Op, Reading};
use crate::json::Json;
use crate::schema::{Check, Violation};

/// Maximum bytes of a value shown in a report.
const MAX_SHOWN_BYTES: usize = 4096;

/// What arguments are coerced by: the check of a schema, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Coercion<'s> {
    check: &'s Check,
    options: CoercionOptions,
    tool: &'s str,
}

impl<'s> Coercion<'s> {
    /// By the check of a schema, without the coercions that must be asked for.
    pub fn new(check: &'s Check) -> Coercion<'s> {
        Coercion { check, options: CoercionOptions::default(), tool: "" }
    }

    /// With the coercions that must be asked for.
    #[must_use]
    pub fn with_options(mut self, options: CoercionOptions) -> Coercion<'s> {
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
        match self.check.try_accepts(&value) {
            Ok(true) => Ok(Reading { value, changes: Vec::new() }),
            Ok(false) => mend::mend_value(value, self),
            Err(limit) => Err(Unmended::untouched(value, vec![limit])),
        }
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

impl Unmended {
    fn untouched(value: Json, errors: Vec<Violation>) -> Unmended {
        Unmended { reading: Reading { value, changes: Vec::new() }, errors }
    }
}

/// A value that may have been meant, and what leads to it.
struct Proposal {
    value: Json,
    changes: Vec<Change>,
}

impl Proposal {
    /// One change of a value as a whole.
    fn new(at: &str, op: Op, from: &Json, to: Json) -> Proposal {
        let change = Change::new(at, op).with_values(shown(from), shown(&to));
        Proposal { value: to, changes: vec![change] }
    }

    /// How far it goes.
    fn cost(&self) -> u32 {
        self.changes.iter().map(|change| change.cost).sum()
    }
}

/// A value for a report: itself, or the beginning of its text if it is long.
fn shown(value: &Json) -> Json {
    let text = match value {
        Json::String(text) if text.len() > MAX_SHOWN_BYTES => text.clone(),
        Json::Array(_) | Json::Object(_) => value.compact(),
        _ => return value.clone(),
    };
    if text.len() <= MAX_SHOWN_BYTES {
        return value.clone();
    }
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    Json::from(format!("{}… ({} bytes)", &text[..end], text.len()))
}
