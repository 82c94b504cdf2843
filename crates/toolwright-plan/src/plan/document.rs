//! The document of a plan: its types and its encoder. `parser` reads it.

mod parser;

use toolwright_core::document::{Faults, positions};
use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::condition::Condition;
use super::error::{Node, PlanError};
use super::template::{Reference, Source, Template};

/// The version of the format.
const VERSION: &str = "1";

/// Maximum number of characters of a step's id.
const MAX_ID_CHARS: usize = 64;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// A name for people
    pub name: Option<String>,
    /// What the plan does, for people and for models that call it as a tool
    pub description: Option<String>,
    /// JSON Schema of the inputs; a plan without one has no inputs
    pub inputs: Option<Json>,
    /// The steps, in the order of the document
    pub steps: Vec<Step>,
    /// The outputs, by name
    pub outputs: Vec<(String, Template)>,
    /// Bounds of a run
    pub limits: PlanLimits,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// The id, which references use
    pub id: String,
    /// The name of the tool
    pub tool: String,
    /// What the step does, for people
    pub description: Option<String>,
    /// The arguments, by name
    pub args: Vec<(String, Template)>,
    /// Steps that must end before this one starts, without data from them
    pub after: Vec<String>,
    /// An array: the tool is called for each item, and the output is the array of the outputs
    pub each: Option<Template>,
    /// The condition of the step. If it refers to the item of `each`, it decides about each item
    pub when: Option<Condition>,
    /// Retries of a call that failed and may be repeated
    pub retry: Option<StepRetry>,
    /// The time that one call may take, in milliseconds
    pub timeout_ms: Option<u64>,
    /// What follows from a failed call
    pub on_error: OnError,
    /// Whether the call may be repeated if its outcome is unknown; without it the tool decides
    pub idempotent: Option<bool>,
    /// The digest of the tool that the plan was made for
    pub digest: Option<String>,
}

/// Retries of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRetry {
    /// Maximum number of retries, after the first attempt
    pub max: u32,
    /// The pause before the first retry in milliseconds; it doubles with each retry
    pub backoff_ms: Option<u64>,
}

toolwright_json::words! {
    /// What follows from a failed call, after its retries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum OnError: as_str {
        /// The run fails. Steps that depend on this one do not run; the others do.
        #[default]
        Fail = "fail",
        /// The step, or the item of its `each`, counts as skipped: a step that takes data from it is skipped as
        /// well, unless the reference has a default.
        Skip = "skip",
        /// The output is null, and the run continues.
        Continue = "continue",
    }
}

/// Bounds of a run. What is absent is unbounded, or bounded by the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanLimits {
    /// Maximum number of calls, where each item of `each` and each retry counts
    pub calls: Option<u64>,
    /// Maximum duration of the run in milliseconds, without the time that it waits for a person
    pub time_ms: Option<u64>,
    /// Maximum number of concurrent calls
    pub parallel: Option<u32>,
}

impl Plan {
    /// Returns the JSON Schema of plans.
    pub fn schema() -> Json {
        Json::parse(include_str!("schema.json")).unwrap_or_default()
    }

    /// Parses a plan. The error has everything that is wrong with the shape of the document; see
    /// [`check`](super::check) for the rest.
    pub fn parse(document: &Json) -> Result<Plan, Vec<PlanError>> {
        let (plan, errors) = Plan::parse_partly(document);
        if errors.is_empty() { Ok(plan) } else { Err(errors) }
    }

    /// Parses what can be read of a plan. With everything that is wrong with the shape of the document, for
    /// [a check of the rest](super::PlanReport::with_shape_errors).
    pub fn parse_partly(document: &Json) -> (Plan, Vec<PlanError>) {
        let faults = Faults::default();
        let plan = parser::read(Node::root(document, &faults));
        let mut errors: Vec<PlanError> = faults.take();
        errors.sort_by_cached_key(|error| positions(document, &error.path));
        (plan, errors)
    }

    /// Returns the document. Parsing it returns the same plan.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"plan": VERSION};
        out.insert_some("name", self.name.as_deref());
        out.insert_some("description", self.description.as_deref());
        out.insert_some("inputs", self.inputs.clone());
        let steps = self.steps.iter().map(|step| (key(&step.id), step.to_json().into()));
        out.insert("steps", steps.collect::<Object>());
        if !self.outputs.is_empty() {
            out.insert("outputs", templates_to_json(&self.outputs));
        }
        let mut limits = Object::new();
        limits.insert_some("calls", self.limits.calls);
        limits.insert_some("time_ms", self.limits.time_ms);
        limits.insert_some("parallel", self.limits.parallel);
        if !limits.is_empty() {
            out.insert("limits", limits);
        }
        out
    }

    /// Returns the names of the tools of the steps, in order, with repetitions.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.tool.as_str())
    }

    /// Returns the position of a step.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }
}

pub(super) fn templates_to_json(templates: &[(String, Template)]) -> Object {
    templates.iter().map(|(name, template)| (key(name), template.to_json())).collect()
}

impl Step {
    /// Returns the step as it is written in a plan, without its id.
    pub fn to_json(&self) -> Object {
        let mut out = object! {"tool": self.tool.as_str()};
        out.insert_some("description", self.description.as_deref());
        if !self.args.is_empty() {
            out.insert("args", templates_to_json(&self.args));
        }
        if !self.after.is_empty() {
            out.insert("after", self.after.iter().map(String::as_str).collect::<Vec<&str>>());
        }
        out.insert_some("each", self.each.as_ref().map(Template::to_json));
        out.insert_some("when", self.when.as_ref().map(Condition::to_json));
        out.insert_some("retry", self.retry.map(StepRetry::to_json));
        out.insert_some("timeout_ms", self.timeout_ms);
        if self.on_error != OnError::Fail {
            out.insert("on_error", self.on_error.as_str());
        }
        out.insert_some("idempotent", self.idempotent);
        out.insert_some("digest", self.digest.as_deref());
        out
    }

    /// Returns an argument.
    pub fn arg(&self, name: &str) -> Option<&Template> {
        self.args.iter().find(|(own, _)| own == name).map(|(_, template)| template)
    }

    /// Returns all references of the step, each with its JSON Pointer below the step.
    pub fn references(&self) -> Vec<(String, &Reference)> {
        let mut found = Vec::new();
        let mut add = |path: &Path<'_>, reference| found.push((path.pointer(), reference));
        let args = Path::ROOT.key("args");
        for (name, template) in &self.args {
            template.visit(&args.key(name), &mut add);
        }
        if let Some(each) = &self.each {
            each.visit(&Path::ROOT.key("each"), &mut add);
        }
        if let Some(when) = &self.when {
            when.visit(&Path::ROOT.key("when"), &mut add);
        }
        found
    }

    /// Whether the condition of the step decides about each item.
    pub fn filters_items(&self) -> bool {
        let mut filters = false;
        if let Some(when) = &self.when {
            when.visit(&Path::ROOT, &mut |_, reference| {
                filters |= matches!(reference.source, Source::Item | Source::Index);
            });
        }
        filters
    }
}

impl StepRetry {
    fn to_json(self) -> Object {
        let mut out = object! {"max": self.max};
        out.insert_some("backoff_ms", self.backoff_ms);
        out
    }
}

/// Returns why a text cannot be the id of a step, if it cannot.
pub(super) fn id_problem(id: &str) -> Option<String> {
    if !is_id(id) {
        Some(format!(
            "the id of a step has 1 to {MAX_ID_CHARS} letters, digits and the characters '_', '-' and '.', \
             and begins with a letter, a digit or '_'"
        ))
    } else if Source::is_reserved(id) {
        Some(format!("'{id}' has a meaning in references and cannot be the id of a step"))
    } else {
        None
    }
}

/// Whether a text can be the id of a step.
fn is_id(text: &str) -> bool {
    let is_inner = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    text.starts_with(|first: char| first.is_alphanumeric() || first == '_')
        && text.chars().all(is_inner)
        && text.chars().count() <= MAX_ID_CHARS
}
