//! A workflow that another program wrote: a view without the plan that it came from.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::segments;
use toolwright_json::{Json, Object};

use super::import_view;
use crate::plan::check::MAX_STEPS;
use crate::plan::document::{Plan, Step};
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::graph::Graph;
use crate::plan::record::{final_outputs, step_id};
use crate::plan::template::Source;
use crate::plan::tools::PlanTools;

/// Makes a plan of a workflow `{nodes, edges}`, in the form of a [`View`](super::View).
///
/// - `tool_args`, `missing_tool_args`, `step_index`, `description` and the types of parameters may be absent, and so
///   may ids, which are then the names of the tools. Edges name nodes by id, or by `step_index`, which is the position
///   of a node without one.
/// - A value that is the default of the schema counts as not given, and so does the zero of its type, unless the
///   workflow says that it was given: `tool_args` has it, or there is only `missing_tool_args`, and it does not list
///   the parameter.
/// - The steps are in the order of `step_index`, as far as edges allow it. The steps of a cycle come last; a check
///   reports it.
/// - The inputs of the plan are those that edges take, and its outputs are those that no edge takes.
///
/// Returns the plan, which is not checked, and whether its steps are in another order than the nodes. The error has
/// everything that is wrong with the workflow, with JSON Pointers into it.
pub fn import_workflow(document: &Json, tools: &PlanTools) -> Result<(Plan, bool), Vec<PlanError>> {
    let (document, indices) = with_ids(document)?;
    let mut plan = import_view(&document, &Plan::default(), tools)?;
    // More steps than a plan may have are not sorted: the time grows with the square of their number.
    let count = plan.steps.len();
    let order = if count <= MAX_STEPS { sorted(&plan, &indices) } else { (0..count).collect() };
    plan.steps = order.iter().map(|&at| plan.steps[at].clone()).collect();
    plan.inputs = inputs(&plan);
    plan.outputs = final_outputs(&plan, &Graph::new(&plan, tools));
    Ok((plan, !order.is_sorted()))
}

/// Returns the workflow with ids in the places of absent ids and of indices, and the index of each node.
fn with_ids(document: &Json) -> Result<(Json, Vec<usize>), Vec<PlanError>> {
    let mut document = document.clone();
    let (mut by_index, mut indices) = (HashMap::new(), Vec::new());
    let mut errors = Vec::new();
    let mut nodes = objects(&mut document, "nodes");
    let mut ids: HashSet<String> =
        nodes.iter().filter_map(|(_, node)| name(node.get("id")?)).collect();
    for (at, node) in &mut nodes {
        let id = match node.get("id") {
            Some(id) => name(id),
            None => node.get("tool_name").and_then(|tool| step_id(tool.as_str()?, &mut ids)),
        };
        let given = node.get("step_index").and_then(name);
        let index: usize = given.and_then(|index| index.parse().ok()).unwrap_or(*at);
        indices.push(index);
        let Some(id) = id else { continue };
        node.insert("id", id.as_str());
        if by_index.insert(index, id).is_some() {
            let message = format!("there are two nodes with the index {index}");
            let path = format!("/nodes/{at}/step_index");
            errors.push(PlanError::new(PlanErrorKind::Id, path, message));
        }
    }
    let resolve = |place: &mut Json| {
        let Some(text) = name(place) else { return };
        let is_id = ids.contains(&text) || Source::is_reserved(&text);
        let index = text.parse().ok().filter(|_| !is_id);
        *place = index.and_then(|index| by_index.get(&index)).unwrap_or(&text).as_str().into();
    };
    for (_, edge) in objects(&mut document, "edges") {
        for end in ["source", "target"] {
            edge.get_mut(end).map(resolve);
        }
    }
    if errors.is_empty() { Ok((document, indices)) } else { Err(errors) }
}

/// Returns the objects of a list with their positions. Members that are null count as absent.
fn objects<'d>(document: &'d mut Json, list: &str) -> Vec<(usize, &'d mut Object)> {
    let list = document.as_object_mut().and_then(|members| members.get_mut(list));
    let Some(Json::Array(items)) = list else { return Vec::new() };
    let object = |(at, item): (usize, &'d mut Json)| {
        let item = item.as_object_mut()?;
        let members = std::mem::take(item).into_iter();
        *item = members.filter(|(_, value)| !value.is_null()).collect();
        Some((at, item))
    };
    items.iter_mut().enumerate().filter_map(object).collect()
}

/// Returns an id or an index as a text.
fn name(value: &Json) -> Option<String> {
    match value {
        Json::Number(_) => Some(value.compact()),
        value => value.as_str().map(str::to_owned),
    }
}

/// Returns the positions of the steps in an order in which each follows the steps that it waits for, otherwise by
/// index.
fn sorted(plan: &Plan, indices: &[usize]) -> Vec<usize> {
    let needed = |step: &Step| -> Vec<String> {
        let references = step.references().into_iter();
        let sources = references.map(|(_, reference)| reference.source.as_str().to_owned());
        sources.filter(|id| !Source::is_reserved(id)).chain(step.after.clone()).collect()
    };
    let mut left: Vec<(usize, Vec<String>)> = plan.steps.iter().map(needed).enumerate().collect();
    left.sort_by_key(|(at, _)| indices[*at]);
    let (mut order, mut placed) = (Vec::with_capacity(left.len()), HashSet::new());
    while let Some(next) =
        left.iter().position(|(_, needed)| needed.iter().all(|id| placed.contains(id.as_str())))
    {
        let (at, _) = left.remove(next);
        placed.insert(plan.steps[at].id.as_str());
        order.push(at);
    }
    order.extend(left.into_iter().map(|(at, _)| at));
    order
}

/// Returns the schema of the inputs that steps take, if there are some.
fn inputs(plan: &Plan) -> Option<Json> {
    let references = plan.steps.iter().flat_map(Step::references);
    let references = references.filter(|(_, reference)| reference.source == Source::Inputs);
    let pointers: Vec<&str> = references.map(|(_, reference)| &*reference.pointer).collect();
    let names = pointers.iter().filter_map(|pointer| segments(pointer).next());
    let names: BTreeSet<String> = names.map(Cow::into_owned).collect();
    let schema = object! {
        "type": "object",
        "properties": names.iter().map(|name| (key(name), Object::new().into())).collect::<Object>(),
        "required": names.iter().map(String::as_str).collect::<Vec<&str>>(),
    };
    (!pointers.is_empty()).then(|| schema.into())
}
