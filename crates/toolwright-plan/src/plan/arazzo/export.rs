//! A plan as an Arazzo document.

use std::collections::{BTreeMap, HashMap};

use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::segments;
use toolwright_json::{Json, Key, Number, Object};

use super::expression::{encode, expressible, is_name, is_strict_name};
use super::schema::embed;
use super::{OPENAPI_FILE, PREFIX};
use crate::plan::condition::Condition;
use crate::plan::document::{OnError, Plan, Step, StepRetry};
use crate::plan::template::{Reference, Source, Template};

/// The place of the inputs in the document.
pub(super) const INPUTS: &str = "/workflows/0/inputs";

pub(super) fn document(plan: &Plan) -> Object {
    let exporter = Exporter::new(plan);
    let mut workflow = exporter.workflow();
    workflow.insert(own("plan"), "1");
    let title = plan.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("Plan");
    object! {
        "arazzo": "1.1.0",
        "info": object! {"title": title, "version": "1.0.0"},
        "sourceDescriptions": vec![
            object! {"name": "tools", "url": OPENAPI_FILE, "type": "openapi"},
        ],
        "workflows": vec![workflow],
    }
}

/// Returns the name of an `x-toolwright` field.
pub(super) fn own(name: &str) -> Key {
    Key::Owned(format!("{PREFIX}{name}"))
}

/// Returns what Arazzo can express of named values: outputs of a plan that are references.
pub(super) fn expressible_outputs(
    outputs: &[(String, Template)],
    inputs: Option<&Json>,
) -> Vec<(String, Template)> {
    outputs
        .iter()
        .filter(|(name, _)| is_name(name))
        .map(|(name, template)| (name.clone(), expressible(template, inputs)))
        .filter(|(_, template)| template.as_reference().is_some())
        .collect()
}

/// Returns what Arazzo can express of the arguments of a step.
pub(super) fn expressible_args(step: &Step, inputs: Option<&Json>) -> Vec<(String, Template)> {
    let args = step.args.iter();
    args.map(|(name, template)| (name.clone(), expressible(template, inputs))).collect()
}

/// Returns the steps that a step of Arazzo must name: those of `after`, and those that only `x-toolwright` fields
/// refer to.
pub(super) fn depends_on(step: &Step, inputs: Option<&Json>) -> Vec<String> {
    let args = expressible_args(step, inputs);
    let said = args.iter().flat_map(|(_, template)| template.references());
    let said: Vec<&Source> = said.map(|(_, reference)| &reference.source).collect();
    let mut out: Vec<String> = Vec::new();
    let mut add = |id: &str| {
        if !out.iter().any(|other| other == id) {
            out.push(id.to_owned());
        }
    };
    step.after.iter().for_each(|id| add(id));
    for (_, reference) in step.references() {
        match &reference.source {
            source @ Source::Step(id) if !said.contains(&source) => add(id),
            _ => {}
        }
    }
    out
}

struct Exporter<'p> {
    plan: &'p Plan,
    /// The ids of the steps in the document
    ids: HashMap<&'p str, String>,
    /// The names of outputs, by step and JSON Pointer
    outputs: BTreeMap<(String, String), String>,
}

impl<'p> Exporter<'p> {
    fn new(plan: &'p Plan) -> Exporter<'p> {
        let mut ids: HashMap<&str, String> = HashMap::new();
        for (at, step) in plan.steps.iter().enumerate() {
            let mut id = step.id.clone();
            if !is_strict_name(&id) {
                id = format!("step-{at}");
                while plan.position(&id).is_some() {
                    id.push('-');
                }
            }
            ids.insert(&step.id, id);
        }
        let mut exporter = Exporter { plan, ids, outputs: BTreeMap::new() };
        let inputs = plan.inputs.as_ref();
        let args = plan.steps.iter().flat_map(|step| &step.args);
        for (_, template) in args {
            exporter.declare(&expressible(template, inputs));
        }
        for (_, template) in expressible_outputs(&plan.outputs, inputs) {
            exporter.declare(&template);
        }
        exporter
    }

    /// Names the outputs that a value refers to.
    fn declare(&mut self, template: &Template) {
        for (_, reference) in template.references() {
            let Source::Step(id) = &reference.source else { continue };
            let place = (id.clone(), reference.pointer.clone());
            if self.outputs.contains_key(&place) {
                continue;
            }
            let words: Vec<String> = segments(&reference.pointer)
                .map(|word| word.chars().filter(|letter| is_name(&letter.to_string())).collect())
                .collect();
            let mut name = words.join(".");
            if !is_name(&name) {
                "output".clone_into(&mut name);
            }
            let is_taken = |name: &String| {
                self.outputs.iter().any(|((step, _), other)| step == id && other == name)
            };
            while is_taken(&name) {
                name.push('_');
            }
            self.outputs.insert(place, name);
        }
    }

    fn expression(&self, reference: &Reference) -> String {
        if let Source::Step(id) = &reference.source {
            let place = (id.clone(), reference.pointer.clone());
            let output = self.outputs.get(&place).map_or("output", String::as_str);
            let step = self.ids.get(id.as_str()).map_or(id.as_str(), String::as_str);
            return format!("$steps.{step}.outputs.{output}");
        }
        let name = segments(&reference.pointer).next().unwrap_or_default();
        let rest = reference.pointer.splitn(3, '/').nth(2);
        let rest = rest.map(|rest| format!("#/{rest}")).unwrap_or_default();
        format!("$inputs.{name}{rest}")
    }

    fn workflow(&self) -> Object {
        let plan = self.plan;
        let id = plan.name.as_deref().filter(|name| is_strict_name(name)).unwrap_or("plan");
        let mut out = object! {"workflowId": id};
        out.insert_some("summary", plan.name.as_deref());
        out.insert_some("description", plan.description.as_deref());
        match &plan.inputs {
            Some(inputs @ Json::Object(_)) => out.insert("inputs", embed(inputs, INPUTS)),
            Some(other) => out.insert(own("inputs"), other.clone()),
            None => {}
        }
        let steps: Vec<Object> = plan.steps.iter().map(|step| self.step(step)).collect();
        out.insert("steps", steps);
        let outputs = expressible_outputs(&plan.outputs, plan.inputs.as_ref());
        if !outputs.is_empty() {
            let output = |(name, template): &(String, Template)| {
                (key(name), encode(template, &|reference| self.expression(reference)))
            };
            out.insert("outputs", outputs.iter().map(output).collect::<Object>());
        }
        let document = plan.to_json();
        if outputs != plan.outputs {
            out.insert_some(own("outputs"), document.get("outputs").cloned());
        }
        out.insert_some(own("limits"), document.get("limits").cloned());
        out
    }

    fn step(&self, step: &Step) -> Object {
        let inputs = self.plan.inputs.as_ref();
        let id = self.ids.get(step.id.as_str()).map_or(step.id.as_str(), String::as_str);
        let mut out = object! {"stepId": id};
        out.insert_some("description", step.description.as_deref());
        out.insert("operationId", step.tool.as_str());
        let depends = depends_on(step, inputs);
        if !depends.is_empty() {
            let id = |id: &String| self.ids.get(id.as_str()).unwrap_or(id).clone();
            out.insert("dependsOn", depends.iter().map(id).collect::<Vec<String>>());
        }
        let args = expressible_args(step, inputs);
        let argument = |(name, template): &(String, Template)| {
            (key(name), encode(template, &|reference| self.expression(reference)))
        };
        let payload: Object = args.iter().map(argument).collect();
        out.insert("requestBody", object! {"contentType": "application/json", "payload": payload});
        out.insert("successCriteria", vec![object! {"condition": "$statusCode == 200"}]);
        out.insert_some("onFailure", step.retry.map(|retry| vec![retry_action(retry)]));
        out.insert_some("timeout", step.timeout_ms);
        let outputs: Object = self
            .outputs
            .iter()
            .filter(|((own, _), _)| *own == step.id)
            .map(|((_, pointer), name)| {
                let pointer =
                    if pointer.is_empty() { String::new() } else { format!("#{pointer}") };
                (key(name), format!("$response.body{pointer}").into())
            })
            .collect();
        if !outputs.is_empty() {
            out.insert("outputs", outputs);
        }
        let document = step.to_json();
        out.insert_some(own("id"), (id != step.id).then_some(step.id.as_str()));
        if args != step.args {
            out.insert_some(own("args"), document.get("args").cloned());
        }
        if depends != step.after {
            out.insert(own("after"), step.after.clone());
        }
        out.insert_some(own("each"), step.each.as_ref().map(Template::to_json));
        out.insert_some(own("when"), step.when.as_ref().map(Condition::to_json));
        if step.on_error != OnError::Fail {
            out.insert(own("on-error"), step.on_error.as_str());
        }
        out.insert_some(own("idempotent"), step.idempotent);
        out.insert_some(own("digest"), step.digest.as_deref());
        out
    }
}

/// The pause of Arazzo's retries is in seconds, and does not double.
fn retry_action(retry: StepRetry) -> Object {
    let mut out = object! {"name": "retry", "type": "retry", "retryLimit": retry.max};
    let seconds = retry.backoff_ms.and_then(|ms| {
        let text = format!("{}.{:03}", ms / 1000, ms % 1000);
        Number::parse(text.trim_end_matches('0').trim_end_matches('.'))
    });
    out.insert_some("retryAfter", seconds);
    out
}
