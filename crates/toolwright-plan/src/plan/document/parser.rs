//! Reads the document of a plan, and collects everything that is wrong with its shape.

use std::collections::HashSet;

use toolwright_core::schema::Check;
use toolwright_json::Json;

use super::{OnError, Plan, PlanLimits, Step, StepRetry, VERSION, id_problem};
use crate::plan::condition::Condition;
use crate::plan::error::{Fields, Node, PlanError, PlanErrorKind};
use crate::plan::template::Template;

/// Reads a plan. What is wrong is left out.
pub(super) fn read(document: Node<'_>) -> Plan {
    let Some(mut fields) = open(document) else { return Plan::default() };
    match fields.take("plan") {
        Some(version) if version.value.as_str() == Some(VERSION) => {}
        _ => fields.node.fault_at("/plan", "'plan' is the version of the format, \"1\""),
    }
    let name = text(&mut fields, "name");
    let description = text(&mut fields, "description");
    let inputs = fields.take("inputs").map(|node| {
        if let Err(error) = Check::compile(node.value) {
            node.fault(format!("'inputs' is not a JSON Schema: {error}"));
        }
        node.value.clone()
    });
    let steps = match fields.take("steps") {
        Some(node) if node.value.as_object().is_some_and(|steps| !steps.is_empty()) => steps(&node),
        _ => {
            let problem = "'steps' is an object with at least one step, by id";
            fields.node.fault_at("/steps", problem);
            Vec::new()
        }
    };
    let outputs = templates(&mut fields, "outputs");
    let limits = fields.take("limits").and_then(limits).unwrap_or_default();
    fields.finish();
    Plan { name, description, inputs, steps, outputs, limits }
}

/// Opens an object without repeated members.
fn open(node: Node<'_>) -> Option<Fields<'_>> {
    node.refuse_repeated_keys();
    Fields::of(node)
}

fn steps(node: &Node<'_>) -> Vec<Step> {
    let mut seen = HashSet::new();
    let steps = node.members().unwrap_or_default().into_iter().map(|(id, node)| {
        let repeated = || format!("there are two steps with the id '{id}'");
        let problem = id_problem(id).or_else(|| (!seen.insert(id)).then(repeated));
        if let Some(message) = problem {
            node.faults.add(PlanError::new(PlanErrorKind::Id, &node.pointer, message));
        }
        // Other steps may refer to one that cannot be read.
        Step { id: id.to_owned(), ..step(node).unwrap_or_default() }
    });
    steps.collect()
}

fn step(node: Node<'_>) -> Option<Step> {
    let mut fields = open(node)?;
    let tool = match fields.take("tool").and_then(|node| node.value.as_str()) {
        Some(tool) if !tool.is_empty() => tool.to_owned(),
        _ => {
            fields.node.fault_at("/tool", "'tool' is the name of a tool");
            String::new()
        }
    };
    let step = Step {
        id: String::new(),
        tool,
        description: text(&mut fields, "description"),
        args: templates(&mut fields, "args"),
        after: fields.take("after").and_then(|node| node.texts()).map_or_else(Vec::new, owned),
        each: fields.take("each").map(|node| each(&node)),
        when: fields.take("when").and_then(|node| Condition::parse(&node)),
        retry: fields.take("retry").and_then(retry),
        timeout_ms: fields.take("timeout_ms").and_then(|node| node.count(1)),
        on_error: fields
            .take("on_error")
            .and_then(|node| node.one_of(&OnError::ALL.map(|own| (own.as_str(), own))))
            .unwrap_or_default(),
        idempotent: fields.take("idempotent").and_then(|node| node.flag()),
        digest: text(&mut fields, "digest"),
    };
    fields.finish();
    Some(step)
}

fn each(node: &Node<'_>) -> Template {
    let each = Template::parse(node);
    let is_array = |value: &Json| value.as_array().is_some();
    let is_wrong = match &each {
        Template::Object(_) => true,
        Template::Literal(value) => !is_array(value),
        _ => false,
    };
    if is_wrong {
        node.fault("'each' is an array, or a reference to one");
    }
    each
}

fn templates(fields: &mut Fields<'_>, name: &'static str) -> Vec<(String, Template)> {
    let Some(node) = fields.take(name) else { return Vec::new() };
    // A whole object by reference could have any parameters, so nothing could be checked.
    if node.value.as_object().is_none_or(|members| members.contains_key("$from")) {
        node.fault(format!("'{name}' is an object: names with values or references"));
        return Vec::new();
    }
    node.refuse_repeated_keys();
    let members = node.members().unwrap_or_default().into_iter();
    members.map(|(name, node)| (name.to_owned(), Template::parse(&node))).collect()
}

fn retry(node: Node<'_>) -> Option<StepRetry> {
    let mut fields = open(node)?;
    let max = fields.require("max").and_then(|node| node.count(0));
    let backoff_ms = fields.take("backoff_ms").and_then(|node| node.count(0));
    fields.finish();
    Some(StepRetry { max: u32::try_from(max?).unwrap_or(u32::MAX), backoff_ms })
}

fn limits(node: Node<'_>) -> Option<PlanLimits> {
    let mut fields = open(node)?;
    let [calls, time_ms, parallel] = ["calls", "time_ms", "parallel"]
        .map(|name| fields.take(name).and_then(|node| node.count(1)));
    fields.finish();
    let parallel = parallel.map(|parallel| u32::try_from(parallel).unwrap_or(u32::MAX));
    Some(PlanLimits { calls, time_ms, parallel })
}

fn text(fields: &mut Fields<'_>, name: &'static str) -> Option<String> {
    fields.take(name)?.text().map(str::to_owned)
}

fn owned(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}
