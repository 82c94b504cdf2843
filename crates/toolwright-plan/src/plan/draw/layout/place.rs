//! The positions of the members of each layer on the cross axis: near their neighbours, in their order,
//! with their room.

use super::Layers;

/// How often all layers are placed.
const SWEEPS: usize = 24;

/// Returns the middle of each member on the cross axis. The first room begins at 0.
pub(super) fn place(layers: &Layers) -> Vec<i64> {
    let mut cross = vec![0; layers.room.len()];
    for members in &layers.members {
        let mut start = 0;
        for &member in members {
            cross[member] = start + layers.room[member] / 2;
            start += layers.room[member];
        }
    }
    for sweep in 0..SWEEPS {
        // At last, both sides count.
        let is_last = sweep >= SWEEPS - 4;
        let is_forward = sweep % 2 == 0;
        let count = layers.members.len();
        for step in 0..count {
            let layer = if is_forward { step } else { count - 1 - step };
            let (before, after) = (is_forward || is_last, !is_forward || is_last);
            place_layer(layers, layer, before, after, &mut cross);
        }
    }
    close_gaps(layers, &mut cross);
    // Half of the gap beside a box belongs to its room, and nothing is beside the first one.
    let waypoints = cross.iter().enumerate().filter(|(at, _)| layers.is_waypoint(*at));
    let outside = waypoints.map(|(_, cross)| super::WAYPOINT_ROOM / 2 - cross).max();
    let shift = outside.unwrap_or(i64::MIN).max(-super::BOX_GAP / 2);
    for cross in &mut cross {
        *cross += shift;
    }
    cross
}

/// Removes what is empty in all layers, between parts that no line connects and before the first member.
fn close_gaps(layers: &Layers, cross: &mut [i64]) {
    let mut members: Vec<usize> = (0..cross.len()).collect();
    members.sort_by_key(|&at| cross[at] - layers.room[at] / 2);
    let (mut end, mut empty) = (i64::MIN, 0);
    for at in members {
        let start = cross[at] - layers.room[at] / 2;
        if start > end {
            empty = if end == i64::MIN { start } else { empty + start - end };
        }
        end = end.max(start + layers.room[at]);
        cross[at] -= empty;
    }
}

/// Lines between waypoints are straightened first.
fn weight(layers: &Layers, one: usize, other: usize) -> i64 {
    match (layers.is_waypoint(one), layers.is_waypoint(other)) {
        (true, true) => 8,
        (false, false) => 1,
        _ => 2,
    }
}

/// A run of members that touch each other.
struct Block {
    /// Weighted sum of the wanted positions of its first member, and the sum of the weights
    sum: i64,
    weight: i64,
    members: usize,
}

impl Block {
    fn position(&self) -> i64 {
        self.sum.div_euclid(self.weight)
    }
}

/// Places the members of a layer where they want to be, as far as their order and their room allow: the
/// sum of the squared distances is the least. Members that would overlap are pooled and moved together.
fn place_layer(layers: &Layers, layer: usize, before: bool, after: bool, cross: &mut [i64]) {
    let members = &layers.members[layer];
    let mut blocks: Vec<Block> = Vec::with_capacity(members.len());
    let mut offset = 0;
    for &member in members {
        let (mut sum, mut total) = (0, 0);
        let sides = [(before, &layers.before[member]), (after, &layers.after[member])];
        for &other in sides.iter().filter(|(counts, _)| *counts).flat_map(|(_, near)| *near) {
            let weight = weight(layers, member, other);
            sum += weight * cross[other];
            total += weight;
        }
        if total == 0 {
            (sum, total) = (cross[member], 1);
        }
        offset += layers.room[member] / 2;
        blocks.push(Block { sum: sum - total * offset, weight: total, members: 1 });
        offset += layers.room[member] - layers.room[member] / 2;
        while let [.., one, other] = &blocks[..]
            && one.position() > other.position()
        {
            let (sum, weight) = (one.sum + other.sum, one.weight + other.weight);
            let members = one.members + other.members;
            blocks.truncate(blocks.len() - 2);
            blocks.push(Block { sum, weight, members });
        }
    }
    let mut members = members.iter();
    let mut offset = 0;
    for block in &blocks {
        for &member in members.by_ref().take(block.members) {
            cross[member] = block.position() + offset + layers.room[member] / 2;
            offset += layers.room[member];
        }
    }
}
