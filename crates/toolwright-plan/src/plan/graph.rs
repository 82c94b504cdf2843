//! The order of the steps: edges from references, from `after` and from values that tools share.

use std::collections::{HashMap, HashSet};

use super::document::Plan;
use super::template::Source;
use super::tools::{PlanTools, Resource};

/// Why a step waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeKind {
    /// It takes data: the JSON Pointers into the output, and below the step to the reference
    Data {
        /// JSON Pointer into the output of the other step
        output: String,
        /// JSON Pointer below the step, to the reference
        path: String,
    },
    /// The plan says so
    After,
    /// It reads a slot that the other step fills
    Slot(String),
    /// Both use a value that one of them changes
    Shared(Resource),
}

/// A step waits for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The position of the step that comes first
    pub from: usize,
    /// The position of the step that waits
    pub to: usize,
    /// The reason
    pub kind: EdgeKind,
}

/// The edges of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    edges: Vec<Edge>,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the graph of a plan. References to steps that do not exist or come later are left out.
    pub fn new(plan: &Plan, tools: &PlanTools) -> Graph {
        let positions: HashMap<&str, usize> =
            plan.steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
        let mut edges = Vec::new();
        let mut shared = SharedValues::default();
        for (to, step) in plan.steps.iter().enumerate() {
            for (path, reference) in step.references() {
                let Source::Step(id) = &reference.source else { continue };
                let kind = EdgeKind::Data { output: reference.pointer.clone(), path };
                edges.extend(positions.get(id.as_str()).map(|&from| Edge { from, to, kind }));
            }
            for id in &step.after {
                let edge = |&from| Edge { from, to, kind: EdgeKind::After };
                edges.extend(positions.get(id.as_str()).map(edge));
            }
            let uses = tools.get(&step.tool).map_or(&[][..], |tool| &tool.uses);
            // A tool that reads a value and replaces it reads the value of the step before.
            for writes in [false, true] {
                for used in uses.iter().filter(|used| used.writes == writes) {
                    shared.add(to, &used.resource, writes, &mut edges);
                }
            }
        }
        edges.retain(|edge| edge.from < edge.to);
        let mut graph = Graph {
            before: vec![Vec::new(); plan.steps.len()],
            after: vec![Vec::new(); plan.steps.len()],
            edges,
        };
        let mut seen = HashSet::with_capacity(graph.edges.len());
        for edge in &graph.edges {
            if seen.insert((edge.from, edge.to)) {
                graph.before[edge.to].push(edge.from);
                graph.after[edge.from].push(edge.to);
            }
        }
        graph
    }

    /// Returns the edges, ordered by the step that waits.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the edges that lead to a step.
    pub fn incoming(&self, step: usize) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.to < step);
        let end = self.edges.partition_point(|edge| edge.to <= step);
        &self.edges[start..end]
    }

    /// Returns the steps that must end before a step starts.
    pub fn before(&self, step: usize) -> &[usize] {
        self.before.get(step).map_or(&[], Vec::as_slice)
    }

    /// Returns the steps that wait for a step.
    pub fn after(&self, step: usize) -> &[usize] {
        self.after.get(step).map_or(&[], Vec::as_slice)
    }

    /// Returns the steps that depend on a step, directly or through others, in order.
    pub fn dependents(&self, step: usize) -> Vec<usize> {
        let mut depends = vec![false; self.before.len()];
        for at in step + 1..self.before.len() {
            depends[at] = self.before[at].iter().any(|&other| other == step || depends[other]);
        }
        (0..depends.len()).filter(|&at| depends[at]).collect()
    }

    /// Returns the level of each step: 0 if it waits for nothing, else one above the highest that it waits
    /// for.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels: Vec<usize> = Vec::with_capacity(self.before.len());
        for before in &self.before {
            let level = before.iter().filter_map(|&at| levels.get(at)).max();
            levels.push(level.map_or(0, |level| level + 1));
        }
        levels
    }
}

/// The latest uses of each shared value, in the order of the document.
#[derive(Default)]
struct SharedValues<'p>(HashMap<&'p Resource, Uses>);

#[derive(Default)]
struct Uses {
    writer: Option<usize>,
    /// Readers since the last write
    readers: Vec<usize>,
}

impl<'p> SharedValues<'p> {
    /// A reader waits for the last writer; a writer waits for everyone before it.
    fn add(&mut self, to: usize, resource: &'p Resource, writes: bool, edges: &mut Vec<Edge>) {
        let uses = self.0.entry(resource).or_default();
        if let Some(from) = uses.writer.filter(|&from| from != to) {
            let kind = match resource {
                Resource::Slot(name) if !writes => EdgeKind::Slot(name.clone()),
                _ => EdgeKind::Shared(resource.clone()),
            };
            edges.push(Edge { from, to, kind });
        }
        if writes {
            let readers = uses.readers.drain(..).filter(|&from| from != to);
            let kind = || EdgeKind::Shared(resource.clone());
            edges.extend(readers.map(|from| Edge { from, to, kind: kind() }));
            uses.writer = Some(to);
        } else {
            uses.readers.push(to);
        }
    }
}
