//! Changes arguments that a schema rejects to the nearest ones that it accepts.
//!
//! Only places that violate the schema are changed (`mend`), so a valid string is never touched.
//! Each rule proposes what a value may have meant, in its own file:
//!
//! | rule | from → to | |
//! |---|---|---|
//! | `number` | `"12"` → `12` | `"1,234"` if enabled |
//! | `boolean` | `"True"` → `true` | |
//! | `text` | `12` → `"12"` | |
//! | `choice` | `" Red "` → `"red"` | where the schema lists values |
//! | `parse` | `"[1]"` → `[1]` | |
//! | `list` | `"a"` → `["a"]` | `"a, b"` → `["a", "b"]` if enabled |
//! | `absent` | `null` → nothing | if the value is not required |
//! | `unwrap` | `{"arguments": {…}}` → `{…}` | |
//! | `rename` | `userName` → `user_name` | if enabled |
//!
//! The cheapest set of changes that the schema accepts is applied. If two different sets cost the
//! same, or the cost is too high, none is, and the violations of the original value are reported.

mod absent;
mod boolean;
mod choice;
mod ground;
mod list;
pub(crate) mod mend;
pub(super) mod node;
mod number;
mod parse;
mod rename;
mod text;
pub(super) mod unwrap;
mod within;

use toolwright_json::Json;

use super::{Change, CoercionOptions, Op, Reading};
use crate::schema::{Check, Violation};

/// Maximum bytes of a value shown in a report.
const MAX_SHOWN_BYTES: usize = 4096;

/// A coercion: the check of a schema, and the enabled options.
#[must_use]
#[derive(Debug, Clone, Copy)]
pub struct Coercion<'s> {
    check: &'s Check,
    options: CoercionOptions,
    tool: &'s str,
}

impl<'s> Coercion<'s> {
    /// Creates a coercion without options.
    pub fn new(check: &'s Check) -> Coercion<'s> {
        Coercion { check, options: CoercionOptions::default(), tool: "" }
    }

    /// Sets the options.
    pub fn with_options(mut self, options: CoercionOptions) -> Coercion<'s> {
        self.options = options;
        self
    }

    /// Sets the name of the tool, in which models sometimes wrap the arguments.
    pub fn for_tool(mut self, name: &'s str) -> Coercion<'s> {
        self.tool = name;
        self
    }

    /// Returns the nearest value that the schema accepts, and the changes; or the value with those
    /// changes that were possible, and the remaining violations.
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
#[non_exhaustive]
pub struct Unmended {
    /// The arguments, with the changes that were possible
    pub reading: Reading,
    /// The remaining violations
    pub errors: Vec<Violation>,
}

impl Unmended {
    fn untouched(value: Json, errors: Vec<Violation>) -> Unmended {
        Unmended { reading: Reading { value, changes: Vec::new() }, errors }
    }
}

/// A proposed value, and the changes that lead to it.
struct Proposal {
    value: Json,
    changes: Vec<Change>,
}

impl Proposal {
    /// Creates a proposal with one change of the whole value.
    fn new(at: &str, op: Op, from: &Json, to: Json) -> Proposal {
        let change = Change::new(at, op).with_values(shown(from), shown(&to));
        Proposal { value: to, changes: vec![change] }
    }

    /// Returns its cost.
    fn cost(&self) -> u32 {
        self.changes.iter().map(|change| change.cost).sum()
    }
}

/// Returns a value for a report: itself, or the beginning of its text if it is long.
fn shown(value: &Json) -> Json {
    let text = match value {
        Json::String(text) if text.len() > MAX_SHOWN_BYTES => text.as_str().to_owned(),
        Json::Array(_) | Json::Object(_) => value.compact(),
        _ => return value.clone(),
    };
    if text.len() <= MAX_SHOWN_BYTES {
        return value.clone();
    }
    let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
    Json::from(format!("{}… ({} bytes)", &text[..end], text.len()))
}
