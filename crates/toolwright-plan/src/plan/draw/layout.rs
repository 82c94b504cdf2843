//! Positions in a layered picture.
//!
//! Layers follow each other along the main axis, and the members of a layer stand along the cross axis. A
//! line that passes layers has a waypoint in each of them, with room of its own, so that it does not run
//! through a box. Members are ordered by the mean of their neighbours' positions, which leaves few
//! crossings, and then placed as near to their neighbours as their room allows.

mod order;
mod place;

use std::collections::HashMap;

use super::scene::LineKind;

/// Space between boxes of a layer.
const BOX_GAP: i64 = 22;
/// Room of a line that passes a layer.
const WAYPOINT_ROOM: i64 = 16;

/// A box to be placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoxSize {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) layer: usize,
}

/// A line to be routed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: LineKind,
}

/// A placed box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

impl Rect {
    pub(super) fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A routed line.
#[derive(Debug)]
pub(super) struct Curve {
    /// The data of an SVG path
    pub(super) path: String,
    /// The middle of the last bend
    pub(super) middle: (i64, i64),
}

/// The result: boxes and lines, from the origin.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Rect>,
    pub(super) curves: Vec<Curve>,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// The direction of the main axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axis {
    Down,
    Right,
}

impl Axis {
    /// Returns the main and the cross extent of a box.
    fn extents(self, size: &BoxSize) -> (i64, i64) {
        match self {
            Axis::Down => (size.height, size.width),
            Axis::Right => (size.width, size.height),
        }
    }

    /// Returns the point at positions on the main and the cross axis.
    fn point(self, main: i64, cross: i64) -> (i64, i64) {
        match self {
            Axis::Down => (cross, main),
            Axis::Right => (main, cross),
        }
    }

    /// Chooses the direction with the smaller longest side.
    fn choose(boxes: &[BoxSize]) -> Axis {
        let layers = boxes.iter().map(|size| size.layer + 1).max().unwrap_or(0);
        let longest = |axis: Axis, gap: i64| {
            let mut main = vec![0; layers];
            let mut cross = vec![0; layers];
            for size in boxes {
                let (along, across) = axis.extents(size);
                main[size.layer] = along.max(main[size.layer]);
                cross[size.layer] += across + BOX_GAP;
            }
            let length = main.iter().map(|extent| extent + gap).sum::<i64>();
            length.max(cross.into_iter().max().unwrap_or(0))
        };
        if longest(Axis::Right, 80) < longest(Axis::Down, 44) { Axis::Right } else { Axis::Down }
    }
}

/// Boxes and waypoints in layers. The first members are the boxes.
struct Layers {
    /// The room of each member on the cross axis
    room: Vec<i64>,
    /// The members of each layer, in order
    members: Vec<Vec<usize>>,
    /// The neighbours of each member in the layer before, and in the layer after
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// The number of boxes
    boxes: usize,
}

impl Layers {
    /// Adds waypoints. Returns the members that each line passes, with both ends.
    fn new(boxes: &[BoxSize], routes: &[Route], axis: Axis) -> (Layers, Vec<Vec<usize>>) {
        let count = boxes.iter().map(|size| size.layer + 1).max().unwrap_or(0);
        let mut layers = Layers {
            room: boxes.iter().map(|size| axis.extents(size).1 + BOX_GAP).collect(),
            members: vec![Vec::new(); count],
            before: vec![Vec::new(); boxes.len()],
            after: vec![Vec::new(); boxes.len()],
            boxes: boxes.len(),
        };
        for (at, size) in boxes.iter().enumerate() {
            layers.members[size.layer].push(at);
        }
        // Lines of one kind from one box share their waypoints.
        let mut waypoints: HashMap<(usize, LineKind, usize), usize> = HashMap::new();
        let mut ways = Vec::with_capacity(routes.len());
        for route in routes {
            let mut way = vec![route.from];
            for layer in boxes[route.from].layer + 1..boxes[route.to].layer {
                let key = (route.from, route.kind, layer);
                let at = *waypoints.entry(key).or_insert_with(|| layers.add_waypoint(layer));
                way.push(at);
            }
            way.push(route.to);
            for pair in way.windows(2) {
                if !layers.before[pair[1]].contains(&pair[0]) {
                    layers.before[pair[1]].push(pair[0]);
                    layers.after[pair[0]].push(pair[1]);
                }
            }
            ways.push(way);
        }
        (layers, ways)
    }

    fn add_waypoint(&mut self, layer: usize) -> usize {
        let at = self.room.len();
        self.room.push(WAYPOINT_ROOM);
        self.members[layer].push(at);
        self.before.push(Vec::new());
        self.after.push(Vec::new());
        at
    }

    fn is_waypoint(&self, member: usize) -> bool {
        member >= self.boxes
    }
}

/// Places boxes and routes lines. A line leads to a later layer.
pub(super) fn lay_out(boxes: &[BoxSize], routes: &[Route]) -> Layout {
    let axis = Axis::choose(boxes);
    let (mut layers, ways) = Layers::new(boxes, routes, axis);
    order::order(&mut layers);
    let cross = place::place(&layers);
    let bands = bands(boxes, &layers, &cross, axis);

    let rect = |at: usize, size: &BoxSize| {
        let (along, across) = axis.extents(size);
        let (start, end) = bands[size.layer];
        let (x, y) = axis.point(start + (end - start - along) / 2, cross[at] - across / 2);
        Rect { x, y, width: size.width, height: size.height }
    };
    let boxes_out: Vec<Rect> = boxes.iter().enumerate().map(|(at, size)| rect(at, size)).collect();
    let ports = ports(boxes, &ways, &cross, axis);
    let curves = ways.iter().zip(&ports).map(|(way, &port)| {
        let (from, to) = (way[0], way[way.len() - 1]);
        let along = |at: usize| axis.extents(&boxes[at]).0;
        let mut pen = Pen::new(axis);
        let (start, end) = bands[boxes[from].layer];
        pen.start(end - (end - start - along(from)) / 2, cross[from]);
        pen.straight(end);
        for (step, &at) in way[1..way.len() - 1].iter().enumerate() {
            let (start, end) = bands[boxes[from].layer + step + 1];
            pen.bend(start, cross[at]);
            pen.straight(end);
        }
        let (start, end) = bands[boxes[to].layer];
        pen.bend(start, cross[to] + port);
        pen.straight(start + (end - start - along(to)) / 2);
        pen.end()
    });
    let curves = curves.collect();
    let width = boxes_out.iter().map(|rect| rect.x + rect.width).max().unwrap_or(0);
    let height = boxes_out.iter().map(|rect| rect.y + rect.height).max().unwrap_or(0);
    // Waypoints can stand beyond the last box.
    let edge = cross.iter().max().copied().unwrap_or(0) + WAYPOINT_ROOM / 2;
    let (width, height) = match axis {
        Axis::Down => (width.max(edge), height),
        Axis::Right => (width, height.max(edge)),
    };
    Layout { boxes: boxes_out, curves, width, height }
}

/// Returns where each layer starts and ends on the main axis. The farther lines reach between two layers,
/// the farther these are apart.
fn bands(boxes: &[BoxSize], layers: &Layers, cross: &[i64], axis: Axis) -> Vec<(i64, i64)> {
    let (least, most) = match axis {
        Axis::Down => (48, 110),
        Axis::Right => (64, 150),
    };
    let mut bands = Vec::with_capacity(layers.members.len());
    let mut start = 0;
    for members in &layers.members {
        let sizes = members.iter().filter_map(|&at| boxes.get(at));
        let end = start + sizes.map(|size| axis.extents(size).0).max().unwrap_or(0);
        bands.push((start, end));
        let reach = members
            .iter()
            .flat_map(|&at| {
                layers.after[at].iter().map(move |&next| (cross[at] - cross[next]).abs())
            })
            .max();
        start = end + (reach.unwrap_or(0) / 7).clamp(least, most);
    }
    bands
}

/// Returns where each line meets its box, from the middle of the side: the lines to one box are side by
/// side, in the order of where they come from.
fn ports(boxes: &[BoxSize], ways: &[Vec<usize>], cross: &[i64], axis: Axis) -> Vec<i64> {
    let mut ports = vec![0; ways.len()];
    let mut arriving: Vec<Vec<usize>> = vec![Vec::new(); boxes.len()];
    for (line, way) in ways.iter().enumerate() {
        arriving[way[way.len() - 1]].push(line);
    }
    for (size, lines) in boxes.iter().zip(&mut arriving) {
        lines.sort_by_key(|&line| cross[ways[line][ways[line].len() - 2]]);
        let gaps = i64::try_from(lines.len()).unwrap_or(i64::MAX).saturating_sub(1);
        let side = axis.extents(size).1 * 6 / 10;
        let gap = if gaps > 0 { (side / gaps).min(14) } else { 0 };
        let mut port = -gap * gaps / 2;
        for &line in lines.iter() {
            ports[line] = port;
            port += gap;
        }
    }
    ports
}

/// Writes the path of a line: bends between layers, straight lines through them.
struct Pen {
    axis: Axis,
    path: String,
    main: i64,
    cross: i64,
    middle: (i64, i64),
    /// Whether the position is ahead of the path
    is_ahead: bool,
}

impl Pen {
    fn new(axis: Axis) -> Pen {
        Pen { axis, path: String::new(), main: 0, cross: 0, middle: (0, 0), is_ahead: false }
    }

    fn add(&mut self, command: &str, points: &[(i64, i64)]) {
        self.path.push_str(command);
        let points: Vec<String> = points
            .iter()
            .map(|&(main, cross)| {
                let (x, y) = self.axis.point(main, cross);
                format!("{x} {y}")
            })
            .collect();
        self.path.push_str(&points.join(" "));
    }

    fn start(&mut self, main: i64, cross: i64) {
        (self.main, self.cross) = (main, cross);
        self.add("M", &[(main, cross)]);
    }

    fn straight(&mut self, main: i64) {
        self.is_ahead |= main != self.main;
        self.main = main;
    }

    fn flush(&mut self) {
        if self.is_ahead {
            self.add("L", &[(self.main, self.cross)]);
            self.is_ahead = false;
        }
    }

    fn bend(&mut self, main: i64, cross: i64) {
        let half = i64::midpoint(self.main, main);
        self.middle = (half, i64::midpoint(self.cross, cross));
        if cross == self.cross {
            self.straight(main);
            return;
        }
        self.flush();
        self.add("C", &[(half, self.cross), (half, cross), (main, cross)]);
        (self.main, self.cross) = (main, cross);
    }

    fn end(mut self) -> Curve {
        self.flush();
        let (main, cross) = self.middle;
        Curve { middle: self.axis.point(main, cross), path: self.path }
    }
}
