//! Names that differ from a parameter only in case and separators: `userName` for `user_name`.

use toolwright_json::pointer::escape;
use toolwright_json::{Json, Key, Object};

use super::ground::Ground;
use super::mend::Spot;
use super::{Op, Proposal, node};
use crate::args::Change;
use crate::schema::Violation;

/// Proposes the object with renamed members. A name is changed only if the schema rejects it or
/// requires the other one, and if the match is unambiguous.
pub(super) fn propose(
    ground: &Ground<'_>,
    value: &Json,
    own: &[&Violation],
    spot: &Spot,
) -> Option<Proposal> {
    let object = value.as_object()?;
    let schemas = || spot.around.iter().chain(&spot.schemas);
    let required = node::required(ground, schemas());
    let mut declared = node::properties(ground, schemas());
    declared.extend(
        required.iter().filter(|name| !declared.contains(name)).copied().collect::<Vec<_>>(),
    );
    let is_closed = own.iter().any(|violation| {
        matches!(violation.keyword.as_str(), "additionalProperties" | "unevaluatedProperties")
    });
    let new_name = |key: &str| -> Option<&str> {
        if declared.contains(&key) {
            return None;
        }
        let folded = fold(key);
        let mut alike = declared.iter().filter(|name| fold(name) == folded);
        let (Some(name), None) = (alike.next(), alike.next()) else { return None };
        let is_alone = object.keys().filter(|key| fold(key) == folded).count() == 1;
        let is_due = is_closed || required.contains(name);
        (is_alone && is_due).then_some(*name)
    };
    let (mut renamed, mut changes) = (Object::with_capacity(object.len()), Vec::new());
    for (key, value) in object.iter() {
        let name = new_name(key);
        if let Some(name) = name {
            let at = format!("{}/{}", spot.at, escape(name));
            changes.push(Change::new(at, Op::Rename).with_values(key, name));
        }
        renamed.push(Key::Owned(name.unwrap_or(key).to_owned()), value.clone());
    }
    (!changes.is_empty()).then_some(Proposal { value: renamed.into(), changes })
}

/// Removes case and separators.
fn fold(name: &str) -> String {
    let kept = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}
