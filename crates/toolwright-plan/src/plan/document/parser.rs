//! Reads the document of a plan, and collects everything that is wrong with its shape.

use std::collections::HashSet;

use super::{OnError, Plan, PlanLimits, Step, StepRetry, VERSION, id_problem};
use crate::plan::condition::Condition;
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::template::Template;
use toolwright_core::schema::Check;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

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

/// Reads a document and collects its errors.
#[derive(Default)]
pub(super) struct Parser {
    pub(super) errors: Vec<PlanError>,
}

impl Parser {
    fn fail(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.errors.push(PlanError::new(PlanErrorKind::Shape, path, message));
    }

    pub(super) fn plan(&mut self, document: &Json) -> Plan {
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
            let problem = id_problem(id).or_else(|| {
                (!seen.insert(id)).then(|| format!("there are two steps with the id '{id}'"))
            });
            if let Some(message) = problem {
                self.errors.push(PlanError::new(PlanErrorKind::Id, at, message));
            }
            // Other steps may refer to one that cannot be read.
            let unread = || Step { id: id.to_owned(), ..Step::default() };
            out.push(self.step(id, value, &at).unwrap_or_else(unread));
        }
        out
    }

    fn step(&mut self, id: &str, value: &Json, path: &Path<'_>) -> Option<Step> {
        let fields = self.object(value, path, &STEP_MEMBERS)?;
        let tool = match fields.get("tool") {
            Some(Json::String(tool)) if !tool.is_empty() => tool.as_str().to_owned(),
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
