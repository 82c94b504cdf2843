//! Removes a null for a parameter that is not required.

use toolwright_json::{Json, at_mut};

use crate::args::{Change, Op};

/// Creates the change for a removed null.
pub(super) fn change(at: String) -> Change {
    let mut change = Change::new(at, Op::Absent);
    change.from = Some(Json::Null);
    change
}

/// Removes members by their positions. Their schemas decide whether they may be absent. A repeated
/// key stays, because its other value would be removed too.
pub(super) fn take_away(value: &mut Json, mut places: Vec<Vec<usize>>) -> Option<()> {
    // Innermost first, because removing a member moves those after it.
    places.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    for neighbours in places.chunk_by(|one, other| around(one) == around(other)) {
        let positions: Vec<usize> =
            neighbours.iter().filter_map(|place| place.last().copied()).collect();
        let object = at_mut(value, around(neighbours.first()?))?.as_object_mut()?;
        let repeated = object.repeated();
        let key = |position: &usize| object.members().nth(*position).map(|(key, _)| key.as_ref());
        let is_repeated = |key: &str| repeated.iter().any(|(other, ..)| *other == key);
        if positions.iter().filter_map(key).any(is_repeated) {
            return None;
        }
        object.remove_at(&positions);
    }
    Some(())
}

fn around(place: &[usize]) -> &[usize] {
    place.split_last().map_or(&[], |(_, around)| around)
}
