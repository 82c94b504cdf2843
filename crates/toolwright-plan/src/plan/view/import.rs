//! The way back: an edited view patches the plan that it came from.

use std::borrow::Cow;
use std::collections::BTreeSet;

use toolwright_core::args::Parameters;
use toolwright_core::document::Faults;
use toolwright_json::Json;
use toolwright_json::pointer::{escape, segments};

use super::edited::{EditedNode, EditedView};
use super::patch::{FedPlace, ValueEdit, apply};
use super::{CompiledTools, ViewEdge, ViewNode, references};
use crate::plan::document::{Plan, Step};
use crate::plan::error::{Node, PlanError, PlanErrorKind};
use crate::plan::template::{Reference, Source, Template};
use crate::plan::tools::{PlanTool, PlanTools};

/// Applies an edited view to the plan that it came from.
///
/// The edited view is compared with the view of the plan. What is equal in both changes nothing, so defaults
/// do not become arguments, and a missing parameter that is still at its zero stays absent. Of the rest:
///
/// - A value that differs is set, in `input_parameters` or in `tool_args`. A parameter whose name has left
///   `missing_tool_args` is set even if its value is zero; one whose name was added there becomes absent.
/// - An edge that is not in the view of the plan becomes a reference; the reference of a removed one is
///   removed, with the item or member that it is.
/// - The order of the nodes is the order of the steps. A node that the plan does not have becomes a step, in
///   which a zero that `tool_args` has is an argument; a step without a node is removed. A step with another tool keeps
///   the arguments that the tool has.
///
/// Everything that a view does not show stays: conditions, retries, `each`, the outputs of the plan. Members
/// that are absent, unknown or derived (`step_index`, `description`, `type`) are ignored. The result is not
/// checked.
///
/// The error has everything that is wrong with the view, with JSON Pointers into the view.
pub fn import_view(view: &Json, base: &Plan, tools: &PlanTools) -> Result<Plan, Vec<PlanError>> {
    let faults = Faults::default();
    let edited = EditedView::read(Node::root(view, &faults));
    let mut import = Import {
        base,
        ids: edited.nodes.iter().map(|node| node.id).collect(),
        edges: edited.edges.as_deref(),
        errors: faults.take(),
    };
    import.targets();
    let mut tools = CompiledTools::new(tools);
    let steps = edited.nodes.iter().filter_map(|node| import.step(node, &mut tools)).collect();
    match import.errors {
        errors if errors.is_empty() => Ok(Plan { steps, ..base.clone() }),
        errors => Err(errors),
    }
}

struct Import<'i> {
    base: &'i Plan,
    /// The ids of the nodes
    ids: BTreeSet<&'i str>,
    edges: Option<&'i [(String, ViewEdge)]>,
    errors: Vec<PlanError>,
}

impl Import<'_> {
    /// Checks that the steps that edges feed exist.
    fn targets(&mut self) {
        for (path, edge) in self.edges.unwrap_or_default() {
            if edge.slot.is_none() && !self.ids.contains(edge.target.as_str()) {
                self.unknown_node(&edge.target, path.clone() + "/target", &[]);
            }
        }
    }

    fn unknown_node(&mut self, id: &str, path: String, others: &[&str]) {
        let message = format!("there is no node '{id}'");
        let error = PlanError::new(PlanErrorKind::Reference, path, message);
        let names = self.ids.iter().chain(others).copied();
        self.errors.push(error.suggesting(id, names));
    }

    /// Returns the step of a node.
    fn step(&mut self, node: &EditedNode<'_>, tools: &mut CompiledTools<'_>) -> Option<Step> {
        let base = self.base.position(node.id).map(|at| &self.base.steps[at]);
        let tool_path = format!("{}/tool_name", node.path);
        let Some(tool_name) = node.tool_name.or(base.map(|base| base.tool.as_str())) else {
            let message = "'tool_name' is the name of the tool of a new node";
            self.errors.push(PlanError::new(PlanErrorKind::Shape, tool_path, message));
            return None;
        };
        let other = base.filter(|base| base.tool != tool_name);
        let of_other = other.and_then(|base| {
            let (tool, parameters) = tools.get(&base.tool, "").ok()?;
            Some(ViewNode::new(base, tool, parameters))
        });
        let (tool, parameters) = match tools.get(tool_name, &tool_path) {
            Ok(found) => found,
            Err(error) => {
                self.errors.push(error);
                return None;
            }
        };
        let mut step = base.cloned().unwrap_or_default();
        node.id.clone_into(&mut step.id);
        tool_name.clone_into(&mut step.tool);
        if other.is_some() {
            step.args.retain(|(name, _)| has_parameter(tool, parameters, name));
            step.digest = None;
        }
        let edit = NodeEdit {
            node,
            is_new: base.is_none(),
            shown: ViewNode::new(&step, tool, parameters),
            of_other,
            tool,
            parameters,
        };
        let names = self.names(&step, &edit);
        let fed = self.fed(&step, &edit);
        let mut args = Vec::with_capacity(names.len());
        for name in names {
            let template = if parameters.hidden().contains(&name) {
                step.arg(&name).cloned()
            } else {
                self.argument(step.arg(&name), &name, &fed, &edit)
            };
            args.extend(template.map(|template| (name, template)));
        }
        step.args = args;
        self.after(&mut step, node);
        Some(step)
    }

    /// Returns the names of the arguments that the plan has or the view mentions, those of the plan first.
    /// Names that the tool does not have are reported.
    fn names(&mut self, step: &Step, edit: &NodeEdit<'_>) -> Vec<String> {
        let mut names: Vec<String> = step.args.iter().map(|(name, _)| name.clone()).collect();
        let mut add = |name: &str, path: String, errors: &mut Vec<PlanError>| {
            if !edit.has_parameter(name) && (step.arg(name).is_none() || edit.hides(name)) {
                errors.push(edit.unknown_parameter(name, path));
            } else if names.iter().all(|own| own != name) {
                names.push(name.to_owned());
            }
        };
        let path = &edit.node.path;
        for (index, (name, value)) in edit.node.parameters.iter().flatten().enumerate() {
            if !edit.is_leftover(name, value) {
                add(name, format!("{path}/input_parameters/{index}/name"), &mut self.errors);
            }
        }
        for (name, value) in edit.node.args.iter().flat_map(|args| args.iter()) {
            if !edit.is_leftover(name, value) {
                add(name, format!("{path}/tool_args/{}", escape(name)), &mut self.errors);
            }
        }
        for (index, name) in edit.node.missing.iter().flatten().enumerate() {
            let is_left = edit.of_other.as_ref().is_some_and(|own| own.is_missing(name));
            if !is_left {
                add(name, format!("{path}/missing_tool_args/{index}"), &mut self.errors);
            }
        }
        for name in &edit.shown.missing_tool_args {
            add(name, String::new(), &mut self.errors);
        }
        for (path, edge) in self.edges.unwrap_or_default() {
            if let Some(name) = edge.target_parameter.as_deref().filter(|_| edge.target == step.id)
            {
                add(name, format!("{path}/target_parameter"), &mut self.errors);
            }
        }
        names
    }

    /// Returns the references of a step's arguments in the edited view.
    fn fed(&mut self, step: &Step, edit: &NodeEdit<'_>) -> Vec<Fed> {
        let known = references(step, edit.parameters);
        let fed = |path: String, name: &str, edge: &ViewEdge, reference: Reference, is_kept| Fed {
            path,
            parameter: name.to_owned(),
            place: FedPlace { path: edge.target_path.clone(), reference, is_kept },
        };
        let mut found = Vec::new();
        let Some(edges) = self.edges else {
            found.extend(known.iter().filter_map(|(edge, reference)| {
                let name = edge.target_parameter.as_deref()?;
                Some(fed(String::new(), name, edge, (*reference).clone(), true))
            }));
            return found;
        };
        for (path, edge) in edges.iter().filter(|(_, edge)| edge.target == step.id) {
            let Some(name) = edge.target_parameter.as_deref() else { continue };
            let same = known.iter().find(|(own, _)| own == edge);
            let reference = match same {
                // A reference to a step that never existed is an error of the plan, not of the view.
                Some((_, reference)) if self.base.position(&edge.source).is_none() => {
                    Some((*reference).clone())
                }
                Some((_, reference)) => self.has_source(edge, path).then(|| (*reference).clone()),
                None => self.reference(edge, path),
            };
            found.extend(reference.map(|own| fed(path.clone(), name, edge, own, same.is_some())));
        }
        found
    }

    /// Returns the reference of an edge that the plan does not have.
    fn reference(&mut self, edge: &ViewEdge, path: &str) -> Option<Reference> {
        if !self.has_source(edge, path) {
            return None;
        }
        let Some(each) = &edge.each else {
            let slash = if edge.source_output.is_empty() { "" } else { "/" };
            let text = format!("{}{slash}{}", edge.source, edge.source_output);
            return Some(Reference::parse(&text));
        };
        let reference = Reference::parse(each);
        if !matches!(reference.source, Source::Item | Source::Index) {
            let message = "'each' is a reference to an item of 'each': 'item', 'item/…' or 'index'";
            self.errors.push(PlanError::new(PlanErrorKind::Shape, format!("{path}/each"), message));
            return None;
        }
        Some(reference)
    }

    /// Whether the source of an edge exists; if not, it is reported.
    fn has_source(&mut self, edge: &ViewEdge, path: &str) -> bool {
        const OTHERS: [&str; 3] = ["inputs", "item", "index"];
        let source = edge.source.as_str();
        let exists = self.ids.contains(source) || OTHERS.contains(&source);
        if !exists {
            self.unknown_node(source, format!("{path}/source"), &OTHERS);
        }
        exists
    }

    /// Applies the edits of an argument.
    fn argument(
        &mut self,
        given: Option<&Template>,
        name: &str,
        fed: &[Fed],
        edit: &NodeEdit<'_>,
    ) -> Option<Template> {
        let mut fed: Vec<&Fed> = fed.iter().filter(|fed| fed.parameter == name).collect();
        // The items of an array are added in order, whatever the order of the edges.
        fed.sort_by_cached_key(|fed| {
            let key = |segment: Cow<'_, str>| (segment.parse::<u64>().ok(), segment.into_owned());
            segments(&fed.place.path).map(key).collect::<Vec<_>>()
        });
        let value = edit.value(name, !fed.is_empty()).unwrap_or_else(|message| {
            let path = format!("{}/tool_args/{}", edit.node.path, escape(name));
            self.errors.push(PlanError::new(PlanErrorKind::Argument, path, message));
            ValueEdit::Unchanged
        });
        let places: Vec<&FedPlace> = fed.iter().map(|origin| &origin.place).collect();
        apply(given, edit.shown.value(name), value, &places).unwrap_or_else(|(at, message)| {
            let path = format!("{}/target_path", fed[at].path);
            self.errors.push(PlanError::new(PlanErrorKind::Reference, path, message));
            None
        })
    }

    /// Applies the edits of the steps that a step waits for. Steps that were removed are not waited for.
    fn after(&mut self, step: &mut Step, node: &EditedNode<'_>) {
        if let Some(after) = &node.after {
            step.after = after.iter().map(|id| (*id).to_owned()).collect();
            for (index, id) in after.iter().enumerate() {
                if !self.ids.contains(id) && self.base.position(id).is_none() {
                    self.unknown_node(id, format!("{}/after/{index}", node.path), &[]);
                }
            }
        }
        let is_removed = |id: &str| !self.ids.contains(id) && self.base.position(id).is_some();
        step.after.retain(|id| !is_removed(id));
    }
}

/// A reference in an argument of the edited view.
struct Fed {
    /// JSON Pointer of the edge
    path: String,
    parameter: String,
    place: FedPlace,
}

/// A node of the edited view, and what it is compared with.
struct NodeEdit<'n> {
    node: &'n EditedNode<'n>,
    /// Whether the plan does not have it
    is_new: bool,
    /// The node in the view of the plan
    shown: ViewNode,
    /// The node with the tool that the plan has, if it is another one
    of_other: Option<ViewNode>,
    tool: &'n PlanTool,
    parameters: &'n Parameters,
}

impl NodeEdit<'_> {
    fn hides(&self, name: &str) -> bool {
        self.parameters.hidden().iter().any(|own| own == name)
    }

    fn has_parameter(&self, name: &str) -> bool {
        has_parameter(self.tool, self.parameters, name)
    }

    /// Whether a value is left over from the tool that the step had.
    fn is_leftover(&self, name: &str, value: &Json) -> bool {
        let shown = self.of_other.as_ref().and_then(|other| other.value(name));
        !self.has_parameter(name) && shown.is_some_and(|shown| shown.equals(value))
    }

    fn unknown_parameter(&self, name: &str, path: String) -> PlanError {
        let tool = &self.tool.tool.name;
        let message = if self.hides(name) {
            format!("the parameter '{name}' of '{tool}' is hidden: the host fills it")
        } else {
            format!("the tool '{tool}' has no parameter '{name}'")
        };
        let names = self.parameters.iter().map(|own| &*own.name);
        let error = PlanError::new(PlanErrorKind::UnknownParameter, path, message);
        error.suggesting(name, names)
    }

    /// Determines what became of the value of a parameter, which edges feed if `is_fed`. The error says that it has two
    /// values.
    fn value(&self, name: &str, is_fed: bool) -> Result<ValueEdit, String> {
        let shown = self.shown.value(name);
        let is_shown = |value: &Json| shown.is_some_and(|shown| shown.equals(value));
        let edit = |now: Option<&Json>, was_there: bool| match now {
            Some(value) if is_shown(value) => ValueEdit::Unchanged,
            Some(value) => ValueEdit::Set(value.clone()),
            None if was_there => ValueEdit::Removed,
            None => ValueEdit::Unchanged,
        };
        let listed = self.node.parameters.as_ref().map(|list| {
            let found = list.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| *value)
        });
        let argument = self.node.args.map(|args| args.get(name));
        let in_parameters = listed.map_or(ValueEdit::Unchanged, |now| edit(now, shown.is_some()));
        let was_there = self.shown.tool_args.contains_key(name);
        let in_args = argument.map_or(ValueEdit::Unchanged, |now| edit(now, was_there));
        let value = match (in_parameters, in_args) {
            (ValueEdit::Set(one), ValueEdit::Set(other)) if is_fed && one.as_str() == Some("") => {
                ValueEdit::Set(other)
            }
            (ValueEdit::Set(one), ValueEdit::Set(other)) if !one.equals(&other) => {
                return Err(format!(
                    "'{name}' has another value in 'input_parameters': change one of them, or make them equal"
                ));
            }
            (ValueEdit::Set(value), _) | (_, ValueEdit::Set(value)) => ValueEdit::Set(value),
            (ValueEdit::Removed, _) | (_, ValueEdit::Removed) => ValueEdit::Removed,
            (ValueEdit::Unchanged, ValueEdit::Unchanged) => ValueEdit::Unchanged,
        };
        let is_listed = self.node.missing.as_ref().map(|missing| missing.contains(&name));
        let is_missing = match (is_listed, argument) {
            _ if value != ValueEdit::Unchanged => return Ok(value),
            (Some(true), _) => true,
            // The arguments of a new node are those that its author gave.
            (_, Some(argument)) if self.is_new => argument.is_none(),
            (Some(false), _) => false,
            (None, _) => return Ok(value),
        };
        // A zero that a person has confirmed is meant.
        let confirmed = listed.flatten().or(argument.flatten());
        Ok(match (self.shown.is_missing(name), is_missing, confirmed) {
            (true, false, Some(zero)) => ValueEdit::Set(zero.clone()),
            (false, true, _) => ValueEdit::Removed,
            _ => ValueEdit::Unchanged,
        })
    }
}

/// Whether a tool has a parameter that is not hidden.
fn has_parameter(tool: &PlanTool, parameters: &Parameters, name: &str) -> bool {
    let is_named = || parameters.iter().any(|own| *own.name == *name);
    !parameters.hidden().iter().any(|own| own == name) && (tool.accepts_any_name() || is_named())
}
