//! The document of a plan: its types, its parser and its encoder.

use std::collections::HashSet;

use super::condition::Condition;
use super::error::{PlanError, PlanErrorKind};
use super::template::{Reference, Source, Template};
use crate::json::pointer::Path;
use crate::json::{Json, Object, key};
use crate::object;
use crate::schema::Check;

/// The version of the format.
const VERSION: &str = "1";

/// Maximum number of characters of a step's id.
const MAX_ID_CHARS: usize = 64;

/// The members of a plan, and those of a step.
const PLAN_MEMBERS: [&str; 7] =
    ["plan", "name", "description", "inputs", "steps", "outputs", "limits"];
const STEP_MEMBERS: [&str; 11] = [
    "tool",
    "description",
    "args",
    "after",
    "each",
    "when",
    "retry",
    "timeout_ms",
    "on_error",
    "idempotent",
    "digest",
];

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

/// What follows from a failed call, after its retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The run fails. Steps that depend on this one do not run; the others do.
    #[default]
    Fail,
    /// The step, or the item of its `each`, counts as skipped: a step that takes data from it is skipped as
    /// well, unless the reference has a default.
    Skip,
    /// The output is null, and the run continues.
    Continue,
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

impl OnError {
    /// Returns the name in a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            OnError::Fail => "fail",
            OnError::Skip => "skip",
            OnError::Continue => "continue",
        }
    }

    fn parse(name: &str) -> Option<OnError> {
        [OnError::Fail, OnError::Skip, OnError::Continue]
            .into_iter()
            .find(|own| own.as_str() == name)
    }
}

impl Plan {
    /// Returns the JSON Schema of plans.
    pub fn schema() -> Json {
        Json::parse(include_str!("schema.json")).unwrap_or_default()
    }

    /// Parses a plan. The error has everything that is wrong with the shape of the document; see
    /// [`check`](super::check) for the rest.
    pub fn parse(document: &Json) -> Result<Plan, Vec<PlanError>> {
        let mut parser = Parser::default();
        let plan = parser.plan(document);
        if parser.errors.is_empty() { Ok(plan) } else { Err(parser.errors) }
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

fn templates_to_json(templates: &[(String, Template)]) -> Object {
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

/// Reads a document and collects its errors.
#[derive(Default)]
struct Parser {
    errors: Vec<PlanError>,
}

impl Parser {
    fn fail(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
    }

    fn plan(&mut self, document: &Json) -> Plan {
        let root = Path::ROOT;
        let Some(fields) = self.object(document, &root, &PLAN_MEMBERS) else {
            return Plan::default();
        };
        match fields.get("plan") {
            Some(Json::String(version)) if version == VERSION => {}
            _ => self.fail(&root.key("plan"), "'plan' is the version of the format, \"1\""),
        }
        let steps = match fields.get("steps") {
            Some(Json::Object(steps)) if !steps.is_empty() => self.steps(steps, &root.key("steps")),
            _ => {
                let message = "'steps' is an object with at least one step, by id";
                self.fail(&root.key("steps"), message);
                Vec::new()
            }
        };
        let inputs = fields.get("inputs").cloned();
        if let Some(Err(error)) = inputs.as_ref().map(Check::compile) {
            let message = format!("'inputs' is not a JSON Schema: {error}");
            self.fail(&root.key("inputs"), message);
        }
        Plan {
            name: self.text(fields, "name", &root),
            description: self.text(fields, "description", &root),
            inputs,
            steps,
            outputs: self.templates(fields, "outputs", &root),
            limits: self.limits(fields, &root),
        }
    }

    /// Opens an object and reports its unknown and repeated members.
    fn object<'j>(
        &mut self,
        value: &'j Json,
        path: &Path<'_>,
        known: &[&str],
    ) -> Option<&'j Object> {
        let Json::Object(fields) = value else {
            self.fail(path, format!("expected an object, not {}", value.kind()));
            return None;
        };
        let mut seen = HashSet::new();
        for name in fields.keys() {
            if !known.contains(&name) {
                let message = format!("there is no member '{name}'");
                let error = PlanError::new(PlanErrorKind::Shape, path.key(name), message);
                self.errors.push(error.suggesting(name, known.iter().copied()));
            } else if !seen.insert(name) {
                self.fail(&path.key(name), format!("the member '{name}' is repeated"));
            }
        }
        Some(fields)
    }

    fn steps(&mut self, steps: &Object, path: &Path<'_>) -> Vec<Step> {
        let mut seen = HashSet::new();
        let mut out = Vec::with_capacity(steps.len());
        for (id, value) in steps.iter() {
            let at = path.key(id);
            let problem = if let Some(problem) = id_problem(id) {
                Some(problem)
            } else if !seen.insert(id) {
                Some(format!("there are two steps with the id '{id}'"))
            } else {
                None
            };
            if let Some(message) = problem {
                self.errors.push(PlanError::new(PlanErrorKind::Id, at, message));
            }
            out.extend(self.step(id, value, &at));
        }
        out
    }

    fn step(&mut self, id: &str, value: &Json, path: &Path<'_>) -> Option<Step> {
        let fields = self.object(value, path, &STEP_MEMBERS)?;
        let tool = match fields.get("tool") {
            Some(Json::String(tool)) if !tool.is_empty() => tool.clone(),
            _ => {
                self.fail(&path.key("tool"), "'tool' is the name of a tool");
                String::new()
            }
        };
        let each = fields.get("each").map(|each| {
            let path = path.key("each");
            let each = Template::parse(each, &path, &mut self.errors);
            if matches!(&each, Template::Object(_))
                || matches!(&each, Template::Literal(value) if value.as_array().is_none())
            {
                self.fail(&path, "'each' is an array, or a reference to one");
            }
            each
        });
        let when = fields
            .get("when")
            .and_then(|when| Condition::parse(when, &path.key("when"), &mut self.errors));
        let on_error = match fields.get("on_error") {
            None => OnError::default(),
            Some(value) => value.as_str().and_then(OnError::parse).unwrap_or_else(|| {
                let message = "'on_error' is \"fail\", \"skip\" or \"continue\"";
                self.fail(&path.key("on_error"), message);
                OnError::default()
            }),
        };
        Some(Step {
            id: id.to_owned(),
            tool,
            description: self.text(fields, "description", path),
            args: self.templates(fields, "args", path),
            after: self.after(fields, path),
            each,
            when,
            retry: self.retry(fields, path),
            timeout_ms: self.count(fields, "timeout_ms", path, 1),
            on_error,
            idempotent: self.flag(fields, "idempotent", path),
            digest: self.text(fields, "digest", path),
        })
    }

    fn templates(
        &mut self,
        fields: &Object,
        name: &str,
        path: &Path<'_>,
    ) -> Vec<(String, Template)> {
        let path = path.key(name);
        let mut out: Vec<(String, Template)> = Vec::new();
        match fields.get(name) {
            None => {}
            // A whole object by reference could have any parameters, so nothing could be checked.
            Some(Json::Object(members)) if !members.contains_key("$from") => {
                let mut seen = HashSet::new();
                for (name, value) in members.iter() {
                    if !seen.insert(name) {
                        self.fail(&path.key(name), format!("'{name}' is repeated"));
                    }
                    let template = Template::parse(value, &path.key(name), &mut self.errors);
                    out.push((name.to_owned(), template));
                }
            }
            Some(_) => {
                let message = format!("'{name}' is an object: names with values or references");
                self.fail(&path, message);
            }
        }
        out
    }

    fn after(&mut self, fields: &Object, path: &Path<'_>) -> Vec<String> {
        let path = path.key("after");
        let ids = match fields.get("after") {
            None => return Vec::new(),
            Some(Json::Array(ids)) => ids,
            Some(_) => {
                self.fail(&path, "'after' is a list of ids of steps");
                return Vec::new();
            }
        };
        let mut out = Vec::with_capacity(ids.len());
        for (index, id) in ids.iter().enumerate() {
            match id.as_str() {
                Some(id) => out.push(id.to_owned()),
                None => self.fail(&path.index(index), "expected the id of a step"),
            }
        }
        out
    }

    fn retry(&mut self, fields: &Object, path: &Path<'_>) -> Option<StepRetry> {
        let path = path.key("retry");
        let fields = self.object(fields.get("retry")?, &path, &["max", "backoff_ms"])?;
        if !fields.contains_key("max") {
            self.fail(&path.key("max"), "'max' is missing: the maximum number of retries");
        }
        let max = u32::try_from(self.count(fields, "max", &path, 0)?).unwrap_or(u32::MAX);
        Some(StepRetry { max, backoff_ms: self.count(fields, "backoff_ms", &path, 0) })
    }

    fn limits(&mut self, fields: &Object, path: &Path<'_>) -> PlanLimits {
        let path = path.key("limits");
        let known = ["calls", "time_ms", "parallel"];
        let Some(fields) =
            fields.get("limits").and_then(|limits| self.object(limits, &path, &known))
        else {
            return PlanLimits::default();
        };
        let parallel = self.count(fields, "parallel", &path, 1);
        PlanLimits {
            calls: self.count(fields, "calls", &path, 1),
            time_ms: self.count(fields, "time_ms", &path, 1),
            parallel: parallel.map(|parallel| u32::try_from(parallel).unwrap_or(u32::MAX)),
        }
    }

    fn text(&mut self, fields: &Object, name: &str, path: &Path<'_>) -> Option<String> {
        let text = fields.get(name)?.as_str();
        if text.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a text"));
        }
        text.map(str::to_owned)
    }

    fn flag(&mut self, fields: &Object, name: &str, path: &Path<'_>) -> Option<bool> {
        let value = fields.get(name)?.as_bool();
        if value.is_none() {
            self.fail(&path.key(name), format!("'{name}' is true or false"));
        }
        value
    }

    fn count(&mut self, fields: &Object, name: &str, path: &Path<'_>, min: u64) -> Option<u64> {
        let count = fields.get(name)?.as_u64().filter(|count| *count >= min);
        if count.is_none() {
            self.fail(&path.key(name), format!("'{name}' is a whole number, at least {min}"));
        }
        count
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
