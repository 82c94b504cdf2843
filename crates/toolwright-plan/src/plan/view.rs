//! The workflow view of a plan, for people and for editors: every parameter of every step with its type and
//! a value, whether the plan gives it or not.
//!
//! The view is derived from the plan and the tools, and never stored, so a parameter that a tool has gained
//! since is in the view of an older plan. [`import_view`](super::import_view) is the way back, and
//! [`import_workflow`](super::import_workflow) makes a plan of a view without the plan that it came from.

mod edited;
mod import;
mod parameter_type;
mod patch;
mod workflow;

use std::collections::HashMap;

use toolwright_core::args::Parameters;
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

pub use import::import_view;
pub use parameter_type::ViewType;
pub use workflow::import_workflow;

use super::document::{Plan, Step};
use super::error::PlanError;
use super::graph::{EdgeKind, Graph};
use super::template::{Reference, Source, Template};
use super::tools::{PlanTool, PlanTools};

/// The workflow view of a plan.
///
/// ```
/// use toolwright_plan::{Plan, PlanTool, PlanTools, View};
/// use toolwright_core::{Json, Tool};
///
/// let schema = Json::parse(
///     r#"{"type": "object", "properties": {
///         "city": {"type": "string"}, "days": {"type": "integer", "default": 3}, "hourly": {"type": "boolean"}}}"#,
/// )?;
/// let tools = PlanTools::new([PlanTool::new(Tool::function("forecast", schema), Vec::new())]);
/// let plan = Json::parse(r#"{"plan": "1", "steps": {"a": {"tool": "forecast", "args": {"city": "北京"}}}}"#)?;
/// let plan = Plan::parse(&plan).map_err(|errors| errors[0].clone())?;
/// let view = View::new(&plan, &tools).map_err(|errors| errors[0].clone())?;
/// let node = &view.nodes[0];
/// assert_eq!(node.tool_args.compact(), r#"{"city":"北京","days":3}"#);
/// assert_eq!(node.missing_tool_args, ["hourly"]);
/// assert_eq!(node.input_parameters[2].value, Json::from(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct View {
    /// The steps, in the order of the plan
    pub nodes: Vec<ViewNode>,
    /// The references in arguments, by step, and then the slots that steps share
    pub edges: Vec<ViewEdge>,
}

/// A step of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewNode {
    /// The id of the step
    pub id: String,
    /// The name of the tool
    pub tool_name: String,
    /// The description of the tool
    pub description: Option<String>,
    /// The arguments without references, followed by the defaults of others
    pub tool_args: Object,
    /// The parameters that have neither value, default nor edge
    pub missing_tool_args: Vec<String>,
    /// All parameters of the tool, without hidden ones, followed by arguments that the tool does not name
    pub input_parameters: Vec<ViewParameter>,
    /// Steps that must end before, without data from them
    pub after: Vec<String>,
}

/// A parameter of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewParameter {
    /// The name
    pub name: String,
    /// The type
    pub kind: ViewType,
    /// An empty text if an edge feeds it, or else the argument, the default, or the zero of the type
    pub value: Json,
}

/// An edge of the view: a reference in an argument, or a slot that one step fills and another reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewEdge {
    /// The id of a step, or `inputs`; of a reference to an item of `each`, the step that returns the items.
    /// It is `item` or `index` if the items are written in the plan
    pub source: String,
    /// The text after the step in the reference; empty for the whole output
    pub source_output: String,
    /// The id of the step that is fed
    pub target: String,
    /// The parameter; none for a slot
    pub target_parameter: Option<String>,
    /// JSON Pointer in the argument; empty for all of it
    pub target_path: String,
    /// The reference to an item of `each`, such as `item/name`, if it is one
    pub each: Option<String>,
    /// The slot, if it is one
    pub slot: Option<String>,
}

impl View {
    /// Derives the view of a plan. The error has every step whose tool does not exist or is invalid.
    pub fn new(plan: &Plan, tools: &PlanTools) -> Result<View, Vec<PlanError>> {
        let mut view = View::default();
        let mut errors = Vec::new();
        let mut tools = CompiledTools::new(tools);
        for step in &plan.steps {
            let path = Path::ROOT.key("steps").key(&step.id).key("tool").pointer();
            match tools.get(&step.tool, &path) {
                Ok((tool, parameters)) => {
                    view.nodes.push(ViewNode::new(step, tool, parameters));
                    let edges = references(step, parameters);
                    view.edges.extend(edges.into_iter().map(|(edge, _)| edge));
                }
                Err(error) => errors.push(error),
            }
        }
        for edge in Graph::new(plan, tools.tools).edges() {
            if let EdgeKind::Slot(slot) = &edge.kind {
                view.edges.push(ViewEdge {
                    source: plan.steps[edge.from].id.clone(),
                    source_output: String::new(),
                    target: plan.steps[edge.to].id.clone(),
                    target_parameter: None,
                    target_path: String::new(),
                    each: None,
                    slot: Some(slot.clone()),
                });
            }
        }
        if errors.is_empty() { Ok(view) } else { Err(errors) }
    }

    /// Returns the JSON form: `{nodes, edges}`.
    pub fn to_json(&self) -> Object {
        let nodes = self.nodes.iter().enumerate();
        object! {
            "nodes": nodes.map(|(index, node)| node.to_json(index)).collect::<Vec<Object>>(),
            "edges": self.edges.iter().map(ViewEdge::to_json).collect::<Vec<Object>>(),
        }
    }
}

impl ViewNode {
    fn new(step: &Step, tool: &PlanTool, parameters: &Parameters) -> ViewNode {
        let mut fed: Vec<&str> = Vec::new();
        let mut tool_args = Object::new();
        for (name, template) in shown_arguments(step, parameters) {
            match template {
                Template::Literal(value) => tool_args.insert(key(name), value.clone()),
                _ => fed.push(name),
            }
        }
        // A default that is null counts as none.
        for name in parameters.complete(&mut tool_args, &fed).defaulted {
            if tool_args.get(&name) == Some(&Json::Null) {
                tool_args.remove(&name);
            }
        }
        let has_value = |name: &str| tool_args.contains_key(name) || fed.contains(&name);
        let mut names: Vec<&str> = parameters.iter().map(|own| &*own.name).collect();
        let missing = names.iter().filter(|name| !has_value(name));
        let missing = missing.map(|name| (*name).to_owned()).collect();
        for (name, _) in shown_arguments(step, parameters) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let parameter = |name: &str| {
            let given = tool_args.get(name);
            let kind = ViewType::of_parameter(parameters, name)
                .or_else(|| given.and_then(ViewType::of_value))
                .unwrap_or_default();
            let value = match given {
                _ if fed.contains(&name) => "".into(),
                Some(value) => value.clone(),
                None => kind.zero(),
            };
            ViewParameter { name: name.to_owned(), kind, value }
        };
        let input_parameters = names.into_iter().map(parameter).collect();
        ViewNode {
            id: step.id.clone(),
            tool_name: step.tool.clone(),
            description: tool.tool.description.clone(),
            input_parameters,
            tool_args,
            missing_tool_args: missing,
            after: step.after.clone(),
        }
    }

    /// Returns the value that is shown for a parameter.
    fn value(&self, name: &str) -> Option<&Json> {
        self.input_parameters.iter().find(|own| own.name == name).map(|own| &own.value)
    }

    fn is_missing(&self, name: &str) -> bool {
        self.missing_tool_args.iter().any(|own| own == name)
    }

    fn to_json(&self, index: usize) -> Object {
        let parameter = |own: &ViewParameter| {
            object! {"name": own.name.as_str(), "type": own.kind.as_str(), "value": own.value.clone()}
        };
        let parameters = self.input_parameters.iter().map(parameter);
        let mut out = object! {
            "id": self.id.as_str(),
            "step_index": index,
            "tool_name": self.tool_name.as_str(),
            "description": self.description.as_deref().unwrap_or_default(),
            "tool_args": self.tool_args.clone(),
            "missing_tool_args": self.missing_tool_args.clone(),
            "input_parameters": parameters.collect::<Vec<Object>>(),
        };
        if !self.after.is_empty() {
            out.insert("after", self.after.clone());
        }
        out
    }
}

impl ViewEdge {
    fn new(step: &Step, name: &str, path: String, reference: &Reference) -> ViewEdge {
        let is_of_each = |source: &Source| matches!(source, Source::Item | Source::Index);
        let (origin, each) = match &step.each {
            Some(Template::Reference(each))
                if is_of_each(&reference.source) && !is_of_each(&each.source) =>
            {
                (&**each, Some(reference.to_string()))
            }
            _ => (reference, None),
        };
        let output = &origin.pointer;
        ViewEdge {
            source: origin.source.as_str().to_owned(),
            source_output: output.strip_prefix('/').unwrap_or(output).to_owned(),
            target: step.id.clone(),
            target_parameter: Some(name.to_owned()),
            target_path: path,
            each,
            slot: None,
        }
    }

    fn to_json(&self) -> Object {
        let mut out = object! {
            "source": self.source.as_str(),
            "source_output": self.source_output.as_str(),
            "target": self.target.as_str(),
            "target_parameter": self.target_parameter.as_deref(),
            "target_path": self.target_path.as_str(),
        };
        out.insert_some("each", self.each.as_deref());
        out.insert_some("slot", self.slot.as_deref());
        out
    }
}

/// Returns the arguments of a step that are not hidden.
fn shown_arguments<'s>(
    step: &'s Step,
    parameters: &Parameters,
) -> impl Iterator<Item = (&'s str, &'s Template)> {
    let shown = step.args.iter().filter(|(name, _)| !parameters.hidden().contains(name));
    shown.map(|(name, template)| (name.as_str(), template))
}

/// Returns the edges of a step's arguments, each with its reference.
fn references<'s>(step: &'s Step, parameters: &Parameters) -> Vec<(ViewEdge, &'s Reference)> {
    let mut edges = Vec::new();
    for (name, template) in shown_arguments(step, parameters) {
        let found = template.references().into_iter();
        edges.extend(found.map(|(path, own)| (ViewEdge::new(step, name, path, own), own)));
    }
    edges
}

/// The tools of a plan, each compiled once.
struct CompiledTools<'t> {
    tools: &'t PlanTools,
    compiled: HashMap<String, Parameters>,
}

impl<'t> CompiledTools<'t> {
    fn new(tools: &'t PlanTools) -> CompiledTools<'t> {
        CompiledTools { tools, compiled: HashMap::new() }
    }

    /// Returns a tool and its parameters. An error has the given path.
    fn get(&mut self, name: &str, path: &str) -> Result<(&'t PlanTool, &Parameters), PlanError> {
        let tool = self.tools.find(name, path)?;
        if !self.compiled.contains_key(name) {
            self.compiled.insert(name.to_owned(), tool.parameters(path)?);
        }
        Ok((tool, &self.compiled[name]))
    }
}
