//! An Arazzo document as a plan.

mod step;
mod value;

use std::collections::HashMap;

use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::{Path, escape};
use toolwright_json::{Json, Object};

use super::PREFIX;
use super::export::{depends_on, expressible_args, expressible_outputs};
use super::schema::{extract, rewrite};
use crate::plan::document::Plan;
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::stored::below;
use crate::plan::template::Template;

/// Members of objects that a plan has, or that are only about the document. Members that it must refuse
/// are in neither list, and have a reason in [`Importer::members`].
const ROOT: &[&str] = &["arazzo", "$self", "info", "sourceDescriptions", "workflows", "components"];
const INFO: &[&str] = &["title", "summary", "description", "version"];
const SOURCE: &[&str] = &["name", "url", "type"];
const WORKFLOW: &[&str] = &[
    "workflowId",
    "summary",
    "description",
    "inputs",
    "steps",
    "outputs",
    "parameters",
    "x-toolwright-plan",
    "x-toolwright-inputs",
    "x-toolwright-outputs",
    "x-toolwright-limits",
];

/// Imports a workflow of an Arazzo document. Without the id of a workflow, the document must have only one.
pub fn import(document: &Json, workflow: Option<&str>) -> Result<Plan, Vec<PlanError>> {
    let mut importer = Importer::new(document);
    let plan = importer.document(workflow);
    if importer.errors.is_empty()
        && let Some(plan) = plan
    {
        return match Plan::parse(&plan.into()) {
            Ok(plan) => importer.compare(plan),
            Err(errors) => Err(importer.relocate(errors)),
        };
    }
    Err(importer.errors)
}

/// An import in progress.
struct Importer<'d> {
    document: &'d Json,
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
    errors: Vec<PlanError>,
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

impl<'d> Importer<'d> {
    fn new(document: &'d Json) -> Importer<'d> {
        Importer {
            document,
            inputs: None,
            ids: HashMap::new(),
            outputs: HashMap::new(),
            operations: HashMap::new(),
            is_exported: false,
            places: Vec::new(),
            replaced: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn fail(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
    }

    fn refuse(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.errors.push(PlanError::new(PlanErrorKind::Unsupported, path, message));
    }

    /// Opens an object, and refuses members that a plan cannot express.
    fn members(&mut self, value: &'d Json, path: &Path<'_>, known: &[&str]) -> Option<&'d Object> {
        let Json::Object(members) = value else {
            self.fail(path, format!("expected an object, not {}", value.kind()));
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(name)) {
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
            self.refuse(&path.key(name), format!("'{name}': {reason}"));
        }
        Some(members)
    }

    /// Returns a member that is a text.
    fn text(&mut self, members: &'d Object, name: &str, path: &Path<'_>) -> Option<&'d str> {
        let text = members.get(name)?.as_str();
        if text.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a text"));
        }
        text
    }

    /// Returns a member that is a list.
    fn list(&mut self, members: &'d Object, name: &str, path: &Path<'_>) -> &'d [Json] {
        let Some(value) = members.get(name) else { return &[] };
        let list = value.as_array();
        if list.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a list"));
        }
        list.unwrap_or_default()
    }

    /// Returns the plan's document, as far as there is one.
    fn document(&mut self, wanted: Option<&str>) -> Option<Object> {
        let root = Path::ROOT;
        let members = self.members(self.document, &root, ROOT)?;
        match members.get("arazzo").and_then(Json::as_str) {
            Some(version) if version.starts_with("1.0.") || version.starts_with("1.1.") => {}
            _ => self.fail(&root.key("arazzo"), "expected a version 1.0 or 1.1 of Arazzo"),
        }
        let info = members.get("info");
        let info = info.and_then(|info| self.members(info, &root.key("info"), INFO));
        let sources = root.key("sourceDescriptions");
        for (at, source) in self.list(members, "sourceDescriptions", &root).iter().enumerate() {
            let path = sources.index(at);
            let kind = self.members(source, &path, SOURCE).and_then(|source| source.get("type"));
            if kind.is_some_and(|kind| kind.as_str() != Some("openapi")) {
                self.refuse(&path.key("type"), "a plan calls operations of OpenAPI documents only");
            }
        }
        let workflows = self.list(members, "workflows", &root);
        let id = |workflow: &'d Json| workflow.get("workflowId").and_then(Json::as_str);
        let path = root.key("workflows");
        let at = match wanted {
            Some(wanted) => {
                let found = workflows.iter().position(|workflow| id(workflow) == Some(wanted));
                if found.is_none() {
                    let message = format!("there is no workflow '{wanted}'");
                    let error = PlanError::new(PlanErrorKind::Shape, path, message);
                    self.errors.push(error.suggesting(wanted, workflows.iter().filter_map(id)));
                }
                found?
            }
            None if workflows.len() == 1 => 0,
            None => {
                let ids: Vec<&str> = workflows.iter().filter_map(id).collect();
                let message = format!(
                    "a plan is one workflow, and the document has {}: {}",
                    workflows.len(),
                    ids.join(", ")
                );
                self.fail(&path, message);
                return None;
            }
        };
        self.workflow(&workflows[at], &path.index(at), info)
    }

    fn workflow(
        &mut self,
        workflow: &'d Json,
        path: &Path<'_>,
        info: Option<&'d Object>,
    ) -> Option<Object> {
        let members = self.members(workflow, path, WORKFLOW)?;
        self.is_exported = members.contains_key("x-toolwright-plan");
        if self.is_exported && members.get("x-toolwright-plan").and_then(Json::as_str) != Some("1")
        {
            self.refuse(&path.key("x-toolwright-plan"), "expected version \"1\" of plans");
        }
        let mut out = object! {"plan": "1"};
        let about = |name: &str| info.filter(|_| !self.is_exported)?.get(name)?.as_str();
        let (title, description) = (about("title"), about("description"));
        out.insert_some("name", self.text(members, "summary", path).or(title));
        out.insert_some("description", self.text(members, "description", path).or(description));
        self.inputs = self.inputs(members, path);
        out.insert_some("inputs", self.inputs.clone());
        self.places.push(("/inputs".to_owned(), path.key("inputs").pointer()));

        let steps = self.list(members, "steps", path);
        let shared = self.list(members, "parameters", path);
        let shared = self.parameters(shared, &path.key("parameters"));
        let steps_path = path.key("steps");
        for (at, step) in steps.iter().enumerate() {
            self.declare(step, &steps_path.index(at));
        }
        let mut plan_steps = Object::new();
        for (at, step) in steps.iter().enumerate() {
            let path = steps_path.index(at);
            if let Some((id, step)) = self.step(step, at, &path, &shared) {
                plan_steps.push(key(id), step);
            }
        }
        out.insert("steps", plan_steps);

        let outputs_path = path.key("outputs");
        let mut outputs = Vec::new();
        if let Some(Json::Object(declared)) = members.get("outputs") {
            for (name, value) in declared.iter() {
                let template = self.value(value, &outputs_path.key(name));
                outputs.push((name.to_owned(), template));
            }
        }
        if let Some(own) = members.get("x-toolwright-outputs") {
            let replaced = Replaced::Outputs { path: outputs_path.pointer(), value: outputs };
            self.replaced.push(replaced);
            out.insert("outputs", own.clone());
            let path = path.key("x-toolwright-outputs").pointer();
            self.places.push(("/outputs".to_owned(), path));
        } else if !outputs.is_empty() {
            let output = |(name, template): &(String, Template)| (key(name), template.to_json());
            out.insert("outputs", outputs.iter().map(output).collect::<Object>());
            self.places.push(("/outputs".to_owned(), outputs_path.pointer()));
        }
        out.insert_some("limits", members.get("x-toolwright-limits").cloned());
        let limits = path.key("x-toolwright-limits").pointer();
        self.places.push(("/limits".to_owned(), limits));
        Some(out)
    }

    /// Returns the schema of the inputs, with the components that it refers to.
    fn inputs(&mut self, members: &'d Object, path: &Path<'_>) -> Option<Json> {
        const COMPONENTS: &str = "#/components/inputs/";
        if let Some(own) = members.get("x-toolwright-inputs") {
            return Some(own.clone());
        }
        let place = path.key("inputs").pointer();
        let inputs = extract(members.get("inputs")?, &place);
        let Some(Json::Object(components)) = self.document.pointer("/components/inputs") else {
            return Some(inputs);
        };
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
            self.refuse(&path.key("inputs"), message);
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

/// Returns the JSON Pointer of a step of the plan.
fn plan_step(id: &str) -> String {
    format!("/steps/{}", escape(id))
}
