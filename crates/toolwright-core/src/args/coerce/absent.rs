//! A null for a parameter that need not be given: taken away.

use super::place::{find, split};
use crate::args::{Change, Op};
use crate::json::Json;

/// Takes a member away that holds null. Whether the object may go without it is for its schema to
/// say. A key that is repeated stays: its other value would go too.
pub(super) fn take_away(value: &mut Json, path: &str, at: &str) -> Option<Change> {
    let (around, key) = split(path)?;
    let object = find(value, around)?.as_object_mut()?;
    if object.keys().filter(|own| *own == key).count() > 1 {
        return None;
    }
    object.remove(&key)?;
    let mut change = Change::new(at, Op::Absent);
    change.from = Some(Json::Null);
    Some(change)
}
