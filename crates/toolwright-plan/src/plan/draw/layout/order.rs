//! The order of the members of each layer, with few crossings of lines.

use super::Layers;

/// How often all layers are ordered, alternately by the layer before and by the layer after.
const SWEEPS: usize = 16;

/// Positions are compared across layers of different lengths.
const SCALE: usize = 1 << 20;

/// Orders the members of each layer, and keeps the order with the fewest crossings.
pub(super) fn order(layers: &mut Layers) {
    let mut best = (crossings(layers), layers.members.clone());
    let mut sweeps_without_gain = 0;
    let mut position = vec![0; layers.room.len()];
    for sweep in 0..SWEEPS {
        if best.0 == 0 || sweeps_without_gain == 4 {
            break;
        }
        let is_forward = sweep % 2 == 0;
        let count = layers.members.len();
        for step in 1..count {
            let layer = if is_forward { step } else { count - 1 - step };
            sort(layers, layer, is_forward, &mut position);
        }
        let found = crossings(layers);
        if found < best.0 {
            best = (found, layers.members.clone());
            sweeps_without_gain = 0;
        } else {
            sweeps_without_gain += 1;
        }
    }
    layers.members = best.1;
}

/// Sorts a layer by the mean position of the neighbours in the layer before, or in the layer after.
/// `position` has an entry for each member.
fn sort(layers: &mut Layers, layer: usize, is_forward: bool, position: &mut [usize]) {
    let other = if is_forward { layer - 1 } else { layer + 1 };
    let length = layers.members[other].len();
    for (at, &member) in layers.members[other].iter().enumerate() {
        position[member] = (2 * at + 1) * SCALE / (2 * length);
    }
    let neighbours = if is_forward { &layers.before } else { &layers.after };
    let members = &mut layers.members[layer];
    let length = members.len();
    let mut keyed: Vec<(usize, usize)> = members
        .iter()
        .enumerate()
        .map(|(at, &member)| {
            let near = &neighbours[member];
            let key = match near.len() {
                0 => (2 * at + 1) * SCALE / (2 * length),
                count => near.iter().map(|&other| position[other]).sum::<usize>() / count,
            };
            (key, member)
        })
        .collect();
    keyed.sort_by_key(|(key, _)| *key);
    *members = keyed.into_iter().map(|(_, member)| member).collect();
}

/// Counts the crossings between all neighbouring layers.
fn crossings(layers: &Layers) -> usize {
    let mut position = vec![0; layers.room.len()];
    for members in &layers.members {
        for (at, &member) in members.iter().enumerate() {
            position[member] = at;
        }
    }
    let mut count = 0;
    for (at, members) in layers.members.iter().enumerate().skip(1) {
        let before = layers.members[at - 1].len();
        // Lines that end further along than those seen so far, by where they start: a Fenwick tree.
        let mut starts = vec![0_usize; before + 1];
        let mut seen = 0;
        for &member in members {
            let near: Vec<usize> =
                layers.before[member].iter().map(|&from| position[from]).collect();
            for &from in &near {
                let mut not_after = 0;
                let mut node = from + 1;
                while node > 0 {
                    not_after += starts[node];
                    node &= node - 1;
                }
                count += seen - not_after;
            }
            for from in near {
                let mut node = from + 1;
                while node <= before {
                    starts[node] += 1;
                    node += node & node.wrapping_neg();
                }
                seen += 1;
            }
        }
    }
    count
}
