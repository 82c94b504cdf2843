//! An Arazzo document as a plan.

mod step;
mod value;

use std::collections::HashMap;

use toolwright_core::document::{Faults, positions};
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::{Json, Object};

use super::PREFIX;
use super::export::{depends_on, expressible_args, expressible_outputs};
use super::schema::{extract, rewrite};
use crate::plan::document::{Plan, templates_to_json};
use crate::plan::error::{Fields, Node, PlanError, PlanErrorKind};
use crate::plan::stored::below;
use crate::plan::template::Template;

/// Imports a workflow of an Arazzo document. Without the id of a workflow, the document must have only one.
pub fn import(document: &Json, workflow: Option<&str>) -> Result<Plan, Vec<PlanError>> {
    let faults = Faults::default();
    let mut importer = Importer::default();
    let plan = importer.document(Node::root(document, &faults), workflow);
    let mut errors = faults.take();
    match plan {
        Some(plan) if errors.is_empty() => match Plan::parse(&plan.into()) {
            Ok(plan) => importer.compare(plan),
            Err(errors) => Err(importer.relocate(errors)),
        },
        _ => {
            errors.sort_by_cached_key(|error| positions(document, &error.path));
            Err(errors)
        }
    }
}

/// An import in progress.
#[derive(Default)]
struct Importer<'d> {
    components: Option<&'d Json>,
    inputs: Option<Json>,
    /// The ids of the steps in the plan, by those in the document
    ids: HashMap<&'d str, &'d str>,
    /// The JSON Pointers of outputs, by step and name
    outputs: HashMap<(&'d str, &'d str), &'d str>,
    /// Sources of operations, by operation
    operations: HashMap<&'d str, &'d str>,
    /// Whether the document was exported from a plan
    is_exported: bool,
    /// JSON Pointers into the plan, and where the values are from
    places: Vec<(String, String)>,
    /// Values that `x-toolwright` fields replace, as they should be: path, name of that field, value
    replaced: Vec<Replaced>,
}

/// What a field of Arazzo says, where an `x-toolwright` field says more.
enum Replaced {
    /// The arguments of a step
    Arguments { step: usize, path: String, value: Vec<(String, Template)> },
    /// What a step depends on
    Dependencies { step: usize, path: String, value: Vec<String> },
    /// The outputs of the plan
    Outputs { path: String, value: Vec<(String, Template)> },
}

/// Reports something that plans cannot express.
fn refuse(node: &Node<'_>, message: impl Into<String>) {
    node.faults.add(PlanError::new(PlanErrorKind::Unsupported, &node.pointer, message));
}

/// Refuses the members that were not taken.
fn refuse_rest(fields: &Fields<'_>) {
    for (name, node) in fields.rest() {
        let reason = match name {
            "workflowId" => "a plan cannot call another workflow as a step",
            "operationPath" => "a plan names its tools: use 'operationId'",
            "channelPath" | "action" | "correlationId" => "a plan cannot wait for messages",
            "onSuccess" | "successActions" => "a plan has no jumps: use 'dependsOn'",
            "failureActions" => "a plan has failure actions only in steps",
            "dependsOn" => "a plan cannot depend on another workflow",
            "replacements" => "write the values into the payload instead",
            "criteria" => "a plan repeats a call after any failure that may be temporary",
            name if name.starts_with(PREFIX) => "this version does not know the field",
            _ => "a plan cannot express it",
        };
        refuse(&node, format!("'{name}': {reason}"));
    }
}

/// Takes a member that is a string.
fn text<'d>(fields: &mut Fields<'d>, name: &'static str) -> Option<&'d str> {
    fields.take(name)?.text()
}

/// Takes the items of a member that is an array.
fn items<'d>(fields: &mut Fields<'d>, name: &'static str) -> Vec<Node<'d>> {
    fields.take(name).and_then(|node| node.items()).unwrap_or_default()
}

impl<'d> Importer<'d> {
    /// Notes where a member of the plan is from.
    fn place(&mut self, place: String, node: &Node<'d>, member: &str) {
        self.places.push((place, format!("{}/{member}", node.pointer)));
    }

    /// Returns the plan's document, as far as there is one.
    fn document(&mut self, root: Node<'d>, wanted: Option<&str>) -> Option<Object> {
        let mut fields = Fields::of(root)?;
        let version = fields.take("arazzo").and_then(|version| version.value.as_str());
        let is_known = |text: &str| text.starts_with("1.0.") || text.starts_with("1.1.");
        if !version.is_some_and(is_known) {
            fields.node.fault_at("/arazzo", "expected a version 1.0 or 1.1 of Arazzo");
        }
        let info = fields.take("info").and_then(Fields::of).map(|mut info| {
            info.ignore(&["title", "summary", "description", "version"]);
            refuse_rest(&info);
            info.node.value
        });
        for source in items(&mut fields, "sourceDescriptions") {
            let Some(mut source) = Fields::of(source) else { continue };
            source.ignore(&["name", "url"]);
            let kind = source.take("type").filter(|kind| kind.value.as_str() != Some("openapi"));
            if let Some(kind) = kind {
                refuse(&kind, "a plan calls operations of OpenAPI documents only");
            }
            refuse_rest(&source);
        }
        fields.ignore(&["$self"]);
        self.components = fields.take("components").map(|node| node.value);
        let workflows = items(&mut fields, "workflows");
        refuse_rest(&fields);
        let id = |workflow: &Node<'d>| workflow.value.get("workflowId").and_then(Json::as_str);
        let found = match wanted {
            Some(wanted) => workflows.iter().find(|workflow| id(workflow) == Some(wanted)),
            None => workflows.first().filter(|_| workflows.len() == 1),
        };
        if let Some(workflow) = found {
            return self.workflow(workflow.clone(), info);
        }
        let ids: Vec<&str> = workflows.iter().filter_map(id).collect();
        let fault = |message| PlanError::new(PlanErrorKind::Shape, "/workflows", message);
        fields.node.faults.add(match wanted {
            Some(wanted) => {
                fault(format!("there is no workflow '{wanted}'")).suggesting(wanted, ids)
            }
            None => fault(format!(
                "a plan is one workflow, and the document has {}: {}",
                workflows.len(),
                ids.join(", ")
            )),
        });
        None
    }

    fn workflow(&mut self, workflow: Node<'d>, info: Option<&'d Json>) -> Option<Object> {
        let mut fields = Fields::of(workflow)?;
        let node = fields.node.clone();
        fields.ignore(&["workflowId"]);
        let exported = fields.take("x-toolwright-plan");
        self.is_exported = exported.is_some();
        if let Some(version) = exported.filter(|version| version.value.as_str() != Some("1")) {
            refuse(&version, "expected version \"1\" of plans");
        }
        let mut out = object! {"plan": "1"};
        let is_exported = self.is_exported;
        let about = |name: &str| info.filter(|_| !is_exported)?.get(name)?.as_str();
        let name = text(&mut fields, "summary").or_else(|| about("title"));
        let description = text(&mut fields, "description").or_else(|| about("description"));
        out.insert_some("name", name);
        out.insert_some("description", description);
        self.inputs = self.inputs(&mut fields);
        out.insert_some("inputs", self.inputs.clone());
        self.place("/inputs".to_owned(), &node, "inputs");

        let steps = items(&mut fields, "steps");
        let shared = items(&mut fields, "parameters");
        let shared = self.parameters(shared);
        for step in &steps {
            self.declare(step);
        }
        let mut plan_steps = Object::new();
        for (at, step) in steps.into_iter().enumerate() {
            if let Some((id, step)) = self.step(step, at, &shared) {
                plan_steps.push(key(id), step);
            }
        }
        out.insert("steps", plan_steps);

        let declared = fields.take("outputs").and_then(|node| node.members()).unwrap_or_default();
        let outputs = declared.into_iter();
        let outputs: Vec<(String, Template)> =
            outputs.map(|(name, value)| (name.to_owned(), self.value(&value))).collect();
        let place = format!("{}/outputs", node.pointer);
        if let Some(own) = fields.take("x-toolwright-outputs") {
            self.replaced.push(Replaced::Outputs { path: place, value: outputs });
            out.insert("outputs", own.value.clone());
            self.places.push(("/outputs".to_owned(), own.pointer));
        } else if !outputs.is_empty() {
            out.insert("outputs", templates_to_json(&outputs));
            self.places.push(("/outputs".to_owned(), place));
        }
        let limits = fields.take("x-toolwright-limits");
        out.insert_some("limits", limits.map(|limits| limits.value.clone()));
        self.place("/limits".to_owned(), &node, "x-toolwright-limits");
        refuse_rest(&fields);
        Some(out)
    }

    /// Returns the schema of the inputs, with the components that it refers to.
    fn inputs(&self, fields: &mut Fields<'d>) -> Option<Json> {
        const COMPONENTS: &str = "#/components/inputs/";
        let (inputs, own) = (fields.take("inputs"), fields.take("x-toolwright-inputs"));
        if let Some(own) = own {
            return Some(own.value.clone());
        }
        let node = inputs?;
        let inputs = extract(node.value, &node.pointer);
        let components = self.components.and_then(|all| all.get("inputs")?.as_object());
        let Some(components) = components else { return Some(inputs) };
        let local = |schema: &Json| {
            rewrite(schema, &|reference| {
                Some(format!("#/$defs/{}", reference.strip_prefix(COMPONENTS)?))
            })
        };
        let rewritten = local(&inputs);
        if rewritten == inputs {
            return Some(inputs);
        }
        let Json::Object(mut schema) = rewritten else { return Some(inputs) };
        if schema.contains_key("$defs") {
            let message = "schemas of 'components' and '$defs' cannot be joined: use one of them";
            refuse(&node, message);
        }
        let component = |(name, schema): (&str, &Json)| (key(name), local(schema));
        schema.insert("$defs", components.iter().map(component).collect::<Object>());
        Some(schema.into())
    }

    /// Checks that fields of Arazzo say what the `x-toolwright` fields say that replace them.
    fn compare(self, plan: Plan) -> Result<Plan, Vec<PlanError>> {
        let inputs = plan.inputs.as_ref();
        let mut errors = Vec::new();
        for replaced in &self.replaced {
            let (path, name, is_same) = match replaced {
                Replaced::Arguments { step, path, value } => {
                    (path, "args", expressible_args(&plan.steps[*step], inputs) == *value)
                }
                Replaced::Dependencies { step, path, value } => {
                    (path, "after", depends_on(&plan.steps[*step], inputs) == *value)
                }
                Replaced::Outputs { path, value } => {
                    (path, "outputs", expressible_outputs(&plan.outputs, inputs) == *value)
                }
            };
            if !is_same {
                let message = format!(
                    "it does not say what '{PREFIX}{name}' says, which has more: change both, or remove \
                     '{PREFIX}{name}'"
                );
                errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
            }
        }
        if errors.is_empty() { Ok(plan) } else { Err(errors) }
    }

    /// Replaces paths into the plan by paths into the document.
    fn relocate(&self, errors: Vec<PlanError>) -> Vec<PlanError> {
        let relocate = |mut error: PlanError| {
            let nearest =
                self.places.iter().filter(|(place, _)| below(&error.path, place).is_some());
            if let Some((place, path)) = nearest.max_by_key(|(place, _)| place.len()) {
                error.path.replace_range(..place.len(), path);
            }
            error
        };
        errors.into_iter().map(relocate).collect()
    }
}
