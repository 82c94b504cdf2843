//! References and order: unknown steps and inputs, items without `each`, cycles, later steps.

use std::collections::{BTreeSet, HashMap, VecDeque};

use toolwright_json::pointer::Path;

use super::{Checker, MAX_SUGGESTING, step_path};
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::template::{Reference, Source};

impl Checker<'_> {
    /// Checks where references and `after` lead to.
    pub(super) fn references(&mut self) {
        let plan = self.plan;
        let mut needed: Vec<Vec<(usize, String)>> = vec![Vec::new(); plan.steps.len()];
        for (at, step) in plan.steps.iter().enumerate() {
            let base = step_path(step);
            for (path, reference) in step.references() {
                let has_item = step.each.is_some() && !path.starts_with("/each");
                let path = base.clone() + &path;
                if let Some(other) = self.source(reference, &path, has_item) {
                    needed[at].push((other, path));
                }
            }
            for (index, id) in step.after.iter().enumerate() {
                let path = format!("{base}/after/{index}");
                match self.positions.get(id.as_str()) {
                    Some(&other) => needed[at].push((other, path)),
                    None => self.unknown_step(id, path),
                }
            }
        }
        for (name, template) in &plan.outputs {
            let path = Path::ROOT.key("outputs");
            template.visit(&path.key(name), &mut |path, reference| {
                self.source(reference, &path.pointer(), false);
            });
        }
        self.order(&needed);
    }

    /// Checks the source of a reference and returns the step that it leads to.
    fn source(&mut self, reference: &Reference, path: &str, has_item: bool) -> Option<usize> {
        let problem = match &reference.source {
            Source::Step(id) => {
                let found = self.positions.get(id.as_str()).copied();
                if found.is_none() {
                    self.unknown_step(id, path.to_owned());
                }
                return found;
            }
            Source::Inputs if self.plan.inputs.is_none() => {
                "the plan declares no inputs: describe them under 'inputs'"
            }
            Source::Item | Source::Index if !has_item => {
                "'item' and 'index' exist only in the arguments and the condition of a step with 'each'"
            }
            Source::Index if !reference.pointer.is_empty() => {
                "'index' is a number, without members"
            }
            _ => return None,
        };
        self.fail(PlanError::new(PlanErrorKind::Reference, path, problem));
        None
    }

    fn unknown_step(&mut self, id: &str, path: String) {
        let names = self.plan.steps.iter().map(|step| step.id.as_str());
        let message = format!("there is no step '{id}'");
        let error = PlanError::new(PlanErrorKind::Reference, path, message);
        let error = if self.report.errors.len() < MAX_SUGGESTING {
            error.suggesting(id, names.chain(["inputs", "item"]))
        } else {
            error
        };
        self.fail(error);
    }

    /// Reports cycles, once each, and references to later steps.
    fn order(&mut self, needed: &[Vec<(usize, String)>]) {
        let id = |at: usize| self.plan.steps[at].id.as_str();
        let mut cycles: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut errors = Vec::new();
        for (at, others) in needed.iter().enumerate() {
            for (other, path) in others.iter().filter(|(other, _)| *other >= at) {
                let Some(cycle) = way_back(needed, *other, at) else {
                    let message = format!(
                        "the step '{}' refers to '{}', which comes later: move '{}' before it",
                        id(at),
                        id(*other),
                        id(*other)
                    );
                    errors.push(PlanError::new(PlanErrorKind::Reference, path, message));
                    continue;
                };
                let mut members = cycle.clone();
                members.sort_unstable();
                members.dedup();
                if cycles.insert(members) {
                    let names: Vec<&str> = [at].iter().chain(&cycle).map(|&at| id(at)).collect();
                    let message = format!("the steps wait for each other: {}", names.join(" → "));
                    errors.push(PlanError::new(PlanErrorKind::Cycle, path, message));
                }
            }
        }
        self.report.errors.append(&mut errors);
    }
}

/// Returns the shortest way from one step to another along what they need, with both ends.
fn way_back(needed: &[Vec<(usize, String)>], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut origin: HashMap<usize, usize> = HashMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        if here == to {
            let mut way = vec![to];
            let mut last = to;
            while let Some(&before) = origin.get(&last).filter(|_| last != from) {
                way.push(before);
                last = before;
            }
            way.reverse();
            return Some(way);
        }
        for (next, _) in &needed[here] {
            if *next != from && !origin.contains_key(next) {
                origin.insert(*next, here);
                queue.push_back(*next);
            }
        }
    }
    None
}
