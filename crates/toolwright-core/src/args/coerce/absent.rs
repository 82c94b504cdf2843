//! A null for a parameter that need not be given: taken away.

use crate::args::{Change, Op};
use crate::json::{Json, at_mut};

/// A null taken away.
pub(super) fn change(at: String) -> Change {
    let mut change = Change::new(at, Op::Absent);
    change.from = Some(Json::Null);
    change
}

/// Takes members away by their positions. Whether the objects may go without them is for their
/// schemas to say. A key that is repeated stays: its other value would go too.
pub(super) fn take_away(value: &mut Json, mut places: Vec<Vec<usize>>) -> Option<()> {
    // The innermost first, since what stands behind a member moves when it leaves.
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
