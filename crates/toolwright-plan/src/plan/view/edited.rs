//! The parser of an edited view. A member that is absent is one that was not edited.

use std::collections::HashSet;

use toolwright_json::{Json, Object};

use super::ViewEdge;
use crate::plan::document::id_problem;
use crate::plan::error::{Fields, Node, PlanError, PlanErrorKind};

/// A view that a person or an editor wrote. Members that this does not name are ignored.
#[derive(Default)]
pub(super) struct EditedView<'v> {
    pub(super) nodes: Vec<EditedNode<'v>>,
    /// The edges, each with its JSON Pointer
    pub(super) edges: Option<Vec<(String, ViewEdge)>>,
}

/// A node. What is derived and not edited (`step_index`, `description`, `type`) is not read.
pub(super) struct EditedNode<'v> {
    /// JSON Pointer of the node
    pub(super) path: String,
    pub(super) id: &'v str,
    pub(super) tool_name: Option<&'v str>,
    /// The parameters by name
    pub(super) parameters: Option<Vec<(&'v str, &'v Json)>>,
    pub(super) args: Option<&'v Object>,
    pub(super) missing: Option<Vec<&'v str>>,
    pub(super) after: Option<Vec<&'v str>>,
}

impl<'v> EditedView<'v> {
    /// Reads a view. What is wrong is left out.
    pub(super) fn read(view: Node<'v>) -> EditedView<'v> {
        let Some(mut fields) = Fields::of(view) else { return EditedView::default() };
        let (mut nodes, mut seen) = (Vec::new(), HashSet::new());
        match fields.take("nodes").and_then(|nodes| nodes.items()) {
            Some(items) if !items.is_empty() => {
                for item in items {
                    nodes.extend(node(item, &mut seen));
                }
            }
            _ => fields.node.fault_at("/nodes", "'nodes' is a list with at least one node"),
        }
        let edges = fields.take("edges").and_then(|edges| edges.items()).map(|items| {
            let edge = |item: Node<'v>| Some((item.pointer.clone(), edge(item)?));
            items.into_iter().filter_map(edge).collect()
        });
        EditedView { nodes, edges }
    }
}

fn node<'v>(item: Node<'v>, seen: &mut HashSet<&'v str>) -> Option<EditedNode<'v>> {
    let mut fields = Fields::of(item)?;
    let named = fields.require("id")?;
    let id = named.text()?;
    let is_repeated = !seen.insert(id);
    let problem = id_problem(id)
        .or_else(|| is_repeated.then(|| format!("there are two nodes with the id '{id}'")));
    if let Some(message) = problem {
        named.faults.add(PlanError::new(PlanErrorKind::Id, &named.pointer, message));
    }
    Some(EditedNode {
        path: fields.node.pointer.clone(),
        id,
        tool_name: fields.take("tool_name").and_then(|node| node.text()),
        parameters: fields.take("input_parameters").and_then(|node| parameters(&node)),
        args: fields.take("tool_args").and_then(|node| node.object()),
        missing: fields.take("missing_tool_args").and_then(|node| node.texts()),
        after: fields.take("after").and_then(|node| node.texts()),
    })
}

fn parameters<'v>(node: &Node<'v>) -> Option<Vec<(&'v str, &'v Json)>> {
    let mut parameters: Vec<(&str, &Json)> = Vec::new();
    for item in node.items()? {
        let Some(mut fields) = Fields::of(item) else { continue };
        let Some(named) = fields.require("name") else { continue };
        let (Some(name), Some(value)) = (named.text(), fields.require("value")) else { continue };
        if parameters.iter().any(|(own, _)| *own == name) {
            named.fault(format!("the parameter '{name}' is repeated"));
        } else {
            parameters.push((name, value.value));
        }
    }
    Some(parameters)
}

fn edge(item: Node<'_>) -> Option<ViewEdge> {
    let mut fields = Fields::of(item)?;
    let (slot, each) = (fields.optional_text("slot"), fields.optional_text("each"));
    let source_output = fields.optional_text("source_output").unwrap_or_default();
    let target_path = fields.optional_text("target_path").unwrap_or_default();
    if !target_path.is_empty() && !target_path.starts_with('/') {
        let problem = "'target_path' is a JSON Pointer: it is empty or begins with '/'";
        fields.node.fault_at("/target_path", problem);
        return None;
    }
    let (source, target) = (fields.required_text("source"), fields.required_text("target"));
    let target_parameter = match slot {
        None => Some(fields.required_text("target_parameter")?),
        Some(_) => None,
    };
    Some(ViewEdge {
        source: source?,
        source_output,
        target: target?,
        target_parameter,
        target_path,
        each,
        slot,
    })
}
