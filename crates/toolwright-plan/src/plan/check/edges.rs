//! Edges: whether the output that a reference leads to exists, and fits what it feeds.

use toolwright_core::schema::{Check, Containment, Located, are_disjoint, containment, locate};
use toolwright_json::Json;
use toolwright_json::object;
use toolwright_json::pointer::Path;

use super::{CheckedEdge, Checker, EdgeFit, MAX_SCHEMA_BYTES, step_path};
use crate::plan::condition::Condition;
use crate::plan::document::Step;
use crate::plan::error::{PlanError, PlanErrorKind};
use crate::plan::template::{Reference, Source, Template};

/// What a reference feeds.
enum Target<'s> {
    /// A parameter, or a part of one
    Parameter(&'s Json, String),
    /// An array whose items are iterated
    Each,
    /// A condition
    Condition,
    /// An output of the plan, or a value that a schema of the plan checks
    Anything,
}

impl Checker<'_> {
    /// Checks every reference.
    pub(super) fn edges(&mut self) {
        let plan = self.plan;
        for step in &plan.steps {
            let base = step_path(step);
            for (path, reference) in step.references() {
                let target = self.target(step, &path);
                let (fit, problem) = self.edge(Some(step), reference, &target);
                self.record(base.clone() + &path, reference, fit, problem);
            }
        }
        for (name, template) in &plan.outputs {
            let base = Path::ROOT.key("outputs").key(name).pointer();
            for (path, reference) in template.references() {
                let (fit, problem) = self.edge(None, reference, &Target::Anything);
                self.record(base.clone() + &path, reference, fit, problem);
            }
        }
    }

    fn record(
        &mut self,
        path: String,
        reference: &Reference,
        fit: EdgeFit,
        problem: Option<PlanError>,
    ) {
        if let Some(mut error) = problem {
            error.path.clone_from(&path);
            self.fail(error);
        }
        self.report.edges.push(CheckedEdge { path, from: reference.to_string(), fit });
    }

    /// Determines what the reference at a path of a step feeds.
    fn target(&self, step: &Step, path: &str) -> Target<'_> {
        if let Some(rest) = path.strip_prefix("/args") {
            let parameters = self.parameters.get(step.tool.as_str());
            return match parameters {
                Some(parameters) => Target::Parameter(parameters.check().schema(), rest.to_owned()),
                None => Target::Anything,
            };
        }
        match (path, &step.when) {
            ("/each", _) => Target::Each,
            (_, Some(Condition::True(_))) if path == "/when" => Target::Condition,
            _ => Target::Anything,
        }
    }

    fn edge(
        &self,
        step: Option<&Step>,
        reference: &Reference,
        target: &Target<'_>,
    ) -> (EdgeFit, Option<PlanError>) {
        // References to one large schema would copy and compile it again and again.
        if self.schema_bytes.get() > MAX_SCHEMA_BYTES {
            return (EdgeFit::Unknown, None);
        }
        let count = |schema: &Json| {
            self.schema_bytes.set(self.schema_bytes.get().saturating_add(schema.weight()));
        };
        let error = |kind, message: String| PlanError::new(kind, "", message);
        let given = match self.schema_of(step, reference) {
            Located::Schema(schema) => schema,
            Located::Unknown => return (EdgeFit::Unknown, None),
            Located::Missing { .. } if reference.default.is_some() => {
                return (EdgeFit::Unknown, None);
            }
            Located::Missing { segment, names } => {
                let message = format!("'{reference}' leads to no value: there is no '{segment}'");
                let error = error(PlanErrorKind::Reference, message);
                let names = names.iter().map(String::as_str);
                return (EdgeFit::Wrong, Some(error.suggesting(&segment, names)));
            }
        };
        count(&given);
        let wanted = match target {
            Target::Anything => return (EdgeFit::Fits, None),
            Target::Each => Located::Schema(object! {"type": "array"}.into()),
            Target::Condition => Located::Schema(object! {"type": "boolean"}.into()),
            Target::Parameter(schema, pointer) => locate(schema, pointer),
        };
        let Located::Schema(wanted) = wanted else { return (EdgeFit::Unknown, None) };
        count(&wanted);
        let fit = match fit(&given, &wanted) {
            // Only arguments are coerced.
            EdgeFit::Coerces if !matches!(target, Target::Parameter(..)) => EdgeFit::Wrong,
            fit => fit,
        };
        if fit != EdgeFit::Wrong {
            return (fit, None);
        }
        let message = format!(
            "'{reference}' is {}, and {} is expected",
            described(&given),
            described(&wanted)
        );
        (fit, Some(error(PlanErrorKind::Edge, message)))
    }

    /// Returns what is known of the value of a reference.
    fn schema_of(&self, step: Option<&Step>, reference: &Reference) -> Located {
        match &reference.source {
            Source::Index => Located::Schema(object! {"type": "integer"}.into()),
            Source::Inputs => match &self.plan.inputs {
                Some(schema) => locate(schema, &reference.pointer),
                None => Located::Unknown,
            },
            Source::Item => match step.and_then(|step| step.each.as_ref()) {
                Some(Template::Reference(each)) if each.source != Source::Item => {
                    let mut item = each.as_ref().clone();
                    item.pointer.push_str("/0");
                    item.pointer.push_str(&reference.pointer);
                    self.schema_of(None, &item)
                }
                _ => Located::Unknown,
            },
            Source::Step(id) => {
                let found = self.positions.get(id.as_str()).map(|&at| &self.plan.steps[at]);
                let output = found.and_then(|step| self.tool(step)?.tool.output.as_ref());
                match (found, output) {
                    (Some(step), Some(output)) if step.each.is_some() => {
                        let mut all = object! {"type": "array", "items": output.clone()};
                        for keyword in ["$defs", "definitions"] {
                            all.insert_some(keyword, output.get(keyword).cloned());
                        }
                        locate(&all.into(), &reference.pointer)
                    }
                    (Some(_), Some(output)) => locate(output, &reference.pointer),
                    _ => Located::Unknown,
                }
            }
        }
    }
}

/// Compares what is given with what is wanted.
fn fit(given: &Json, wanted: &Json) -> EdgeFit {
    let (Ok(inner), Ok(outer)) = (Check::compile(given), Check::compile(wanted)) else {
        return EdgeFit::Unknown;
    };
    if containment(&inner, &outer) == Containment::Contained {
        return EdgeFit::Fits;
    }
    if !are_disjoint(&inner, &outer) {
        return EdgeFit::Unknown;
    }
    if can_coerce(given, wanted) { EdgeFit::Coerces } else { EdgeFit::Wrong }
}

/// Whether arguments of the given types may be converted to the wanted ones; see
/// [`coerce`](toolwright_core::args::coerce).
fn can_coerce(given: &Json, wanted: &Json) -> bool {
    let (given, wanted_types) = (types(given), types(wanted));
    let has = |types: &Option<Vec<&str>>, names: &[&str]| {
        types.as_ref().is_none_or(|types| types.iter().any(|own| names.contains(own)))
    };
    let from_text = ["number", "integer", "boolean", "array", "object", "string"];
    let single = ["string", "number", "integer", "boolean", "object"];
    has(&given, &["string"]) && has(&wanted_types, &from_text)
        || has(&given, &["number", "integer", "boolean"]) && has(&wanted_types, &["string"])
        || has(&given, &single)
            && has(&wanted_types, &["array"])
            && wanted.get("items").is_none_or(|items| {
                let items = types(items);
                given.as_ref().is_none_or(|given| has(&items, given))
            })
}

/// Returns the types that a schema names, if it does.
fn types(schema: &Json) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Json::String(name) => Some(vec![name]),
        Json::Array(names) => Some(names.iter().filter_map(Json::as_str).collect()),
        _ => None,
    }
}

/// Describes a schema in an error.
fn described(schema: &Json) -> String {
    let short = |value: &Json| {
        let text = value.compact();
        (text.len() <= 60).then_some(text)
    };
    let named = types(schema).map(|types| types.join(" or "));
    let Json::Object(members) = schema else { return "any value".to_owned() };
    let values = members.get("enum").or_else(|| members.get("const")).and_then(short);
    match (values, named) {
        (Some(values), _) => values,
        (None, Some(types)) => format!("of type {types}"),
        (None, None) => short(schema).unwrap_or_else(|| "another kind of value".to_owned()),
    }
}
