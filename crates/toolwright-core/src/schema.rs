//! JSON Schemas of parameters: lowering them to what a vendor accepts, and undoing on the way back
//! what a rewritten schema made the model say.
//!
//! [`lower`] normalizes the root first (`root`, `flatten`), then rewrites node by node: a node is
//! gathered from the schema itself, its `$ref` and its `allOf` (`inline`, `shape`) and written out
//! again by the rules of a subset (`subset`, `lower`, `kind`, `object`, `union`, `keep`). What could not be kept is a
//! [`SchemaChange`], keyword by keyword. The original schema stays the one to check arguments with.

mod ceiling;
mod change;
mod check;
mod cycle;
pub(crate) mod describe;
mod flatten;
mod inline;
mod keep;
mod kind;
mod lower;
mod nulls;
mod object;
mod root;
mod shape;
mod subset;
mod term;
mod union;
mod violation;
mod walk;

use std::borrow::Cow;

pub use change::SchemaChange;
pub use check::{Check, SchemaError};
pub(crate) use check::{Part, Parts, measure};
pub use nulls::{Nulls, undo_nulls};
pub use violation::Violation;

use crate::json::Json;
use crate::profile::SchemaRule;
use change::Changes;

/// How many schemas may be written out in place of references, over a whole schema.
pub const BUDGET: usize = 10_000;

/// A schema within a target's subset, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    /// What to send
    pub schema: Json,
    /// What differs from the original, in the order of discovery, at most one for each pointer
    pub changes: Vec<SchemaChange>,
    /// The nulls that the model may now send in place of leaving a property out
    pub nulls: Nulls,
}

/// Rewrites a schema until the target accepts it.
///
/// A schema that is within the subset already comes back equal and without changes.
pub fn lower(schema: &Json, rule: &SchemaRule, strict: bool) -> Lowered {
    let Rewritten { schema: rewritten, changes, nulls } = rewrite(schema, *rule, strict);
    Lowered { schema: rewritten.unwrap_or_else(|| schema.clone()), changes, nulls }
}

/// What lowering made of a schema.
pub(crate) struct Rewritten {
    /// What to send; none if that is the schema itself
    pub(crate) schema: Option<Json>,
    pub(crate) changes: Vec<SchemaChange>,
    pub(crate) nulls: Nulls,
}

/// As [`lower`], without a copy of a schema that needs nothing.
pub(crate) fn rewrite(schema: &Json, rule: SchemaRule, strict: bool) -> Rewritten {
    let rules = subset::rules(if strict { rule.strict } else { rule.subset });
    let mut changes = Changes::default();
    // No subset has unions at the root: an object there must have its type.
    let flatten = !rule.root_union || rules.is_some();
    let root::NormalizedRoot { schema: mut root_schema, is_object } =
        root::normalize(schema, flatten, &mut changes);
    if rule.integer_as_number {
        walk::integers(root_schema.to_mut(), &mut changes);
    }
    let (schema, nulls) = match (rules.filter(|_| is_object), root_schema) {
        (Some(rules), root_schema) => {
            let (schema, nulls) =
                lower::lower(&root_schema, rules, !rule.integer_as_number, &mut changes);
            (Some(schema), nulls)
        }
        (None, Cow::Owned(schema)) => (Some(schema), Nulls::default()),
        (None, Cow::Borrowed(_)) => (None, Nulls::default()),
    };
    Rewritten { schema, changes: changes.list, nulls }
}
