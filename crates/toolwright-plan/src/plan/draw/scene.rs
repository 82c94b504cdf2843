//! What is drawn: steps, inputs and outputs as nodes, and one line for each pair of nodes.

use std::borrow::Cow;
use std::collections::HashMap;

use toolwright_json::pointer::{escape, segments};

use crate::plan::document::{Plan, Step};
use crate::plan::graph::{EdgeKind, Graph};
use crate::plan::state::StepStatus;
use crate::plan::template::{Reference, Source};
use crate::plan::tools::Resource;

use super::label::duration;

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node<'p> {
    /// A step, by its position
    Step(usize, &'p Step),
    /// An input, by its index in [`Scene::inputs`]
    Input(usize),
    /// An output of the plan, by its name
    Output(&'p str),
}

toolwright_json::words! {
    /// The reason for a line. If a pair of nodes has several, the first one here is drawn.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(super) enum LineKind: as_str {
        Data = "data",
        Slot = "slot",
        Shared = "shared",
        After = "after",
    }
}

/// A line between two nodes.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: LineKind,
    /// Short texts for the line, without repetitions
    pub(super) labels: Vec<String>,
    /// Every reason, in full
    pub(super) reasons: Vec<String>,
}

/// The nodes and lines of a plan. The first nodes are the steps.
#[derive(Debug, Default)]
pub(super) struct Scene<'p> {
    pub(super) nodes: Vec<Node<'p>>,
    pub(super) inputs: Vec<String>,
    pub(super) lines: Vec<Line>,
    /// The layer of each node
    pub(super) layers: Vec<usize>,
    pairs: HashMap<(usize, usize), usize>,
    /// The status of each step; empty if the plan is drawn without states
    run: &'p [StepStatus],
}

impl<'p> Scene<'p> {
    pub(super) fn new(plan: &'p Plan, graph: &Graph, run: &'p [StepStatus]) -> Scene<'p> {
        let mut scene = Scene { run, ..Scene::default() };
        scene.nodes.extend(plan.steps.iter().enumerate().map(|(at, step)| Node::Step(at, step)));
        for (at, step) in plan.steps.iter().enumerate() {
            for (path, reference) in step.references() {
                if reference.source == Source::Inputs {
                    scene.connect_input(reference, at, &path);
                }
            }
        }
        for edge in graph.edges() {
            let (kind, label, reason) = match &edge.kind {
                EdgeKind::Data { output, path } => {
                    let output = output.trim_start_matches('/');
                    let reason = format!("{output} → {}", path.trim_start_matches('/'));
                    (LineKind::Data, output.to_owned(), reason)
                }
                EdgeKind::After => (LineKind::After, String::new(), "after".to_owned()),
                EdgeKind::Slot(name) => (LineKind::Slot, name.clone(), format!("slot {name}")),
                EdgeKind::Shared(Resource::Slot(name)) => {
                    (LineKind::Shared, name.clone(), format!("shared slot {name}"))
                }
                EdgeKind::Shared(Resource::Context(name)) => {
                    (LineKind::Shared, name.clone(), format!("shared value {name}"))
                }
            };
            scene.connect(edge.from, edge.to, kind, label, reason);
        }
        for (name, template) in &plan.outputs {
            let to = scene.nodes.len();
            scene.nodes.push(Node::Output(name));
            for (path, reference) in template.references() {
                match &reference.source {
                    Source::Step(id) => {
                        let Some(from) = plan.position(id) else { continue };
                        let output = reference.pointer.trim_start_matches('/');
                        let label = if output == name { "" } else { output };
                        let reason = format!("{output} → {name}{path}");
                        scene.connect(from, to, LineKind::Data, label.to_owned(), reason);
                    }
                    Source::Inputs => scene.connect_input(reference, to, &path),
                    Source::Item | Source::Index => {}
                }
            }
        }
        scene.layers = scene.assign_layers(graph);
        scene
    }

    /// Connects an input: the member of the inputs at the start of the pointer.
    fn connect_input(&mut self, reference: &Reference, to: usize, path: &str) {
        let name = segments(&reference.pointer).next();
        let name = name.map_or_else(|| "inputs".to_owned(), Cow::into_owned);
        let rest = reference.pointer.trim_start_matches('/');
        let rest = rest.strip_prefix(&*escape(&name)).unwrap_or(rest).trim_start_matches('/');
        let known = self
            .nodes
            .iter()
            .position(|node| matches!(node, Node::Input(at) if self.inputs[*at] == name));
        let from = known.unwrap_or_else(|| {
            self.nodes.push(Node::Input(self.inputs.len()));
            self.inputs.push(name);
            self.nodes.len() - 1
        });
        let reason = format!("{reference} → {}", path.trim_start_matches('/'));
        self.connect(from, to, LineKind::Data, rest.to_owned(), reason);
    }

    fn connect(&mut self, from: usize, to: usize, kind: LineKind, label: String, reason: String) {
        let at = *self.pairs.entry((from, to)).or_insert_with(|| {
            self.lines.push(Line { from, to, kind, labels: Vec::new(), reasons: Vec::new() });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        line.kind = line.kind.min(kind);
        if !label.is_empty() && !line.labels.contains(&label) {
            line.labels.push(label);
        }
        line.reasons.push(reason);
    }

    /// Steps by their level, an output just after its last source, inputs and steps that wait for nothing
    /// just before their first reader.
    fn assign_layers(&self, graph: &Graph) -> Vec<usize> {
        // Layer 0 is for inputs of the first steps.
        let mut layers: Vec<usize> = graph.levels().into_iter().map(|level| level + 1).collect();
        for at in 0..layers.len() {
            if graph.before(at).is_empty()
                && let Some(reader) = graph.after(at).iter().map(|&to| layers[to]).min()
            {
                layers[at] = reader - 1;
            }
        }
        let last = layers.iter().max().map_or(1, |last| last + 1);
        layers.resize(self.nodes.len(), 0);
        for (at, node) in self.nodes.iter().enumerate() {
            if let Node::Output(_) = node {
                let sources = self.lines.iter().filter(|line| line.to == at);
                let above = sources.map(|line| layers[line.from]).max();
                layers[at] = above.map_or(last, |layer| layer + 1);
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if let Node::Input(_) = node {
                let readers = self.lines.iter().filter(|line| line.from == at);
                layers[at] = readers.map(|line| layers[line.to] - 1).min().unwrap_or(0);
            }
        }
        let first = layers.iter().copied().min().unwrap_or(0);
        layers.into_iter().map(|layer| layer - first).collect()
    }

    /// Returns the status of a step, unless the plan is drawn without states.
    pub(super) fn status(&self, step: usize) -> Option<StepStatus> {
        let has_states = !self.run.is_empty();
        has_states.then(|| self.run.get(step).copied().unwrap_or_default())
    }

    /// Returns the text of a node.
    pub(super) fn name(&self, node: usize) -> &str {
        match self.nodes[node] {
            Node::Step(_, step) => &step.id,
            Node::Input(at) => &self.inputs[at],
            Node::Output(name) => name,
        }
    }
}

/// Returns the short texts about a step's run and its form: duration, items, attempts, condition.
pub(super) fn facts(step: &Step, status: Option<&StepStatus>) -> (String, String) {
    let time = status.and_then(StepStatus::duration_ms).map(duration).unwrap_or_default();
    let mut form = Vec::new();
    match status.and_then(|status| status.items) {
        Some((done, total)) => form.push(format!("{done}/{total}")),
        None if step.each.is_some() => form.push("each".to_owned()),
        None => {}
    }
    if let Some(status) = status.filter(|status| status.items.is_none() && status.attempts > 1) {
        form.push(format!("×{}", status.attempts));
    }
    if step.when.is_some() {
        form.push("when".to_owned());
    }
    (time, form.join(" · "))
}

/// Returns everything about a step, in lines.
pub(super) fn describe(step: &Step, status: Option<&StepStatus>) -> String {
    let mut lines = vec![format!("{}: {}", step.id, step.tool)];
    lines.extend(step.description.clone());
    if let Some(each) = &step.each {
        lines.push(format!("each {}", each.to_json().compact()));
    }
    if let Some(when) = &step.when {
        lines.push(format!("when {}", when.to_json().compact()));
    }
    if let Some(status) = status {
        let mut facts = vec![status.state.as_str().to_owned()];
        facts.extend(status.duration_ms().map(duration));
        facts.extend(status.items.map(|(done, total)| format!("{done} of {total} items")));
        if status.attempts > 0 {
            facts.push(format!("attempts: {}", status.attempts));
        }
        lines.push(facts.join(", "));
    }
    lines.join("\n")
}
