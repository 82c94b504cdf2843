//! JSON Schemas of parameters: lowers them to the subset that a vendor accepts, and undoes the
//! effects of a rewritten schema on the model's arguments.
//!
//! [`lower`] normalizes the root first (`root`, `flatten`), then rewrites each node: the node is
//! merged from the schema itself, its `$ref` and its `allOf` (`inline`, `shape`) and written by the
//! rules of a subset (`subset`, `lower`, `kind`, `object`, `union`, `keep`). Each keyword that
//! could not be kept is a [`SchemaChange`]. Arguments are still checked against the original
//! schema.
//!
//! [`containment`] compares two schemas: whether every value that one accepts is accepted by the
//! other. [`locate`] finds the schema of a part of a value.

mod at;
mod ceiling;
mod change;
mod check;
mod contain;
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

use toolwright_json::Json;

pub use at::{Located, expand, locate, schemas_at};
pub use change::SchemaChange;
pub use check::{Check, SchemaError};
pub(crate) use check::{Part, Parts, measure};
pub use contain::{Containment, Witness, are_disjoint, containment};
pub use nulls::{Nulls, undo_nulls};
pub use violation::{MEMBER_KEYWORDS, Violation};

use crate::profile::SchemaRule;
use change::Changes;

/// Maximum number of schemas that are inlined in place of references, for one root schema.
pub const BUDGET: usize = 10_000;

/// A lowered schema, and its differences from the original.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lowered {
    /// The schema to send
    pub schema: Json,
    /// The differences, in the order of discovery, at most one for each pointer
    pub changes: Vec<SchemaChange>,
    /// The nulls that the model may send in place of omitting a property
    pub nulls: Nulls,
}

/// Rewrites a schema so that the target accepts it.
///
/// A schema within the subset is returned unchanged.
pub fn lower(schema: &Json, rule: &SchemaRule, strict: bool) -> Lowered {
    let Rewritten { schema: rewritten, changes, nulls } = rewrite(schema, *rule, strict);
    Lowered { schema: rewritten.unwrap_or_else(|| schema.clone()), changes, nulls }
}

/// The result of lowering a schema that may need no change.
#[derive(Debug)]
pub struct Rewritten {
    /// The schema to send; none if it is unchanged
    pub schema: Option<Json>,
    /// What was changed
    pub changes: Vec<SchemaChange>,
    /// Where null was added
    pub nulls: Nulls,
}

/// Like [`lower`], without copying a schema that needs no change.
pub fn rewrite(schema: &Json, rule: SchemaRule, strict: bool) -> Rewritten {
    let rules = subset::rules(if strict { rule.strict } else { rule.subset });
    let mut changes = Changes::default();
    // No subset allows a union at the root: an object there must have its type.
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
