//! Limits of a vendor on a schema as a whole.

use toolwright_json::Json;

use super::change::Changes;
use super::subset::Rules;
use super::walk::{Holds, holds, visit};
use crate::loss::Severity;

/// Reports exceeded limits. The schema is sent nevertheless, and the vendor decides.
pub(super) fn measure(schema: &Json, rules: &Rules, changes: &mut Changes) {
    let Some((most_levels, most_properties)) = rules.ceilings else { return };
    let mut deepest = 0;
    let mut total = 0;
    visit(schema, "", &mut |object, at| {
        if let Some(properties) = object.get("properties").and_then(Json::as_object) {
            total += properties.len();
            deepest = deepest.max(levels(at) + 1);
        }
    });
    if deepest > most_levels {
        changes.push("", "nests too deep", "the vendor limits the depth", Severity::Major);
    }
    if total > most_properties {
        changes.push("", "has too many properties", "the vendor limits them", Severity::Major);
    }
}

/// Returns the number of enclosing objects: each `properties` in the pointer that is not a name.
fn levels(at: &str) -> usize {
    let mut levels = 0;
    let mut segments = at.split('/').skip(1);
    while let Some(segment) = segments.next() {
        levels += usize::from(segment == "properties");
        if matches!(holds(segment), Holds::Named | Holds::Schemas) {
            segments.next();
        }
    }
    levels
}
