//! What a plan means: its steps one after another, in the order of the document, straight from the JSON.

use std::collections::HashMap;

use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_plan::StepState;

use super::generate;

/// How a step ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Succeeded(Json),
    Skipped,
    Failed {
        kind: String,
        /// The item that failed
        item: Option<usize>,
        continued: bool,
    },
    Blocked,
}

impl Ended {
    pub fn state(&self) -> StepState {
        match self {
            Ended::Succeeded(_) => StepState::Succeeded,
            Ended::Skipped => StepState::Skipped,
            Ended::Failed { .. } => StepState::Failed,
            Ended::Blocked => StepState::Blocked,
        }
    }

    fn is_failure(&self) -> bool {
        matches!(self, Ended::Failed { continued: false, .. } | Ended::Blocked)
    }
}

/// The result of a plan.
#[derive(Debug)]
pub struct Expected {
    pub steps: Vec<(String, Ended)>,
    pub outputs: Json,
    pub has_failed: bool,
}

/// Does what the tools of random plans do.
pub fn work(arguments: &Object) -> Result<Json, String> {
    // The order of the arguments does not count.
    let digest = arguments.iter().fold(0_u64, |sum, (name, value)| {
        let text = format!("{name}={}", value.compact());
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        sum.wrapping_add(hash)
    });
    let digest = digest ^ (digest >> 29);
    let fails_by_chance = arguments.contains_key("chance") && digest.is_multiple_of(2);
    if fails_by_chance || arguments.get("fail").and_then(Json::as_bool) == Some(true) {
        return Err(format!("broken {digest}"));
    }
    let item =
        |at: u64| object! {"n": (digest >> at) % 10, "fail": (digest >> at).is_multiple_of(5)};
    let list: Vec<Object> = (0..digest % 4).map(item).collect();
    let output = object! {"n": digest % 10, "ok": digest.is_multiple_of(2), "list": list};
    // Many tools return JSON as text.
    Ok(if digest % 7 < 2 { Json::from(output.compact()) } else { output.into() })
}

/// Whether the call of a step of a plan, or of one within its calls, may not be repeated.
pub fn is_once(plan: &Json, step: &str) -> bool {
    if let Some((_, inner)) = step.split_once('/') {
        return is_once(&generate::nested(), inner);
    }
    let step = plan.get("steps").unwrap().get(step).unwrap();
    let once = ["once", "ask"].contains(&step.get("tool").and_then(Json::as_str).unwrap());
    step.get("idempotent").and_then(Json::as_bool).map_or(once, |idempotent| !idempotent)
}

/// Runs a plan.
pub fn run(plan: &Json, inputs: &Json) -> Expected {
    let mut run = Run { inputs, ended: HashMap::new(), slot: None, slot_writer: None };
    let mut steps = Vec::new();
    for (id, step) in plan.get("steps").and_then(Json::as_object).unwrap().iter() {
        let ended = run.step(step);
        if step.get("tool").and_then(Json::as_str) == Some("store") {
            run.slot_writer = Some(id.to_owned());
            if let Ended::Succeeded(output) = &ended {
                run.slot = Some(output.clone());
            }
        }
        run.ended.insert(id.to_owned(), ended.clone());
        steps.push((id.to_owned(), ended));
    }
    let mut outputs = Object::new();
    for (name, template) in plan.get("outputs").and_then(Json::as_object).unwrap().iter() {
        outputs.insert(name.to_owned(), run.fill_or_null(template));
    }
    let has_failed =
        steps.iter().any(|(_, ended)| matches!(ended, Ended::Failed { continued: false, .. }));
    Expected { steps, outputs: outputs.into(), has_failed }
}

struct Run<'p> {
    inputs: &'p Json,
    ended: HashMap<String, Ended>,
    slot: Option<Json>,
    /// The last step that fills the slot
    slot_writer: Option<String>,
}

/// Why a reference has no value.
enum Absent {
    Skipped,
    Missing,
}

type Item<'i> = Option<(&'i Json, usize)>;

impl Run<'_> {
    fn step(&self, step: &Json) -> Ended {
        let reads_slot = step.get("tool").and_then(Json::as_str) == Some("load");
        let mut needed = Vec::new();
        for member in ["args", "each", "when"] {
            step.get(member).inspect(|value| sources(value, &mut needed));
        }
        for id in step.get("after").and_then(Json::as_array).unwrap_or_default() {
            needed.push(id.as_str().unwrap().to_owned());
        }
        needed.extend(self.slot_writer.clone().filter(|_| reads_slot));
        if needed.iter().any(|id| self.ended.get(id).is_some_and(Ended::is_failure)) {
            return Ended::Blocked;
        }
        let on_error = step.get("on_error").and_then(Json::as_str).unwrap_or("fail");
        let fail = |kind: &str, item| match on_error {
            "skip" => Ended::Skipped,
            _ => Ended::Failed { kind: kind.to_owned(), item, continued: on_error == "continue" },
        };
        let when = step.get("when");
        let mut of_condition = Vec::new();
        when.inspect(|when| sources(when, &mut of_condition));
        let is_filter = of_condition.iter().any(|source| ["item", "index"].contains(&&**source));
        if when.is_some_and(|when| !is_filter && !self.holds(when, None)) {
            return Ended::Skipped;
        }
        let Some(each) = step.get("each") else {
            return match self.call(step, None) {
                Ok(output) => Ended::Succeeded(output),
                Err(None) => Ended::Skipped,
                Err(Some(kind)) => fail(&kind, None),
            };
        };
        let items = match self.fill(each, None) {
            Ok(Json::Array(items)) => items,
            Ok(_) => return fail("invalid_each", None),
            Err(Absent::Skipped) => return Ended::Skipped,
            Err(Absent::Missing) => return fail("missing_value", None),
        };
        let mut outputs = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if when.is_some_and(|when| is_filter && !self.holds(when, Some((item, at)))) {
                continue;
            }
            match (self.call(step, Some((item, at))), on_error) {
                (Ok(output), _) => outputs.push(output),
                (Err(None), _) | (Err(Some(_)), "skip") => {}
                (Err(Some(_)), "continue") => outputs.push(Json::Null),
                (Err(Some(kind)), _) => return fail(&kind, Some(at)),
            }
        }
        Ended::Succeeded(Json::Array(outputs))
    }

    /// Makes a call. An error without a kind leaves it out.
    fn call(&self, step: &Json, item: Item<'_>) -> Result<Json, Option<String>> {
        let arguments =
            self.fill(step.get("args").unwrap(), item).map_err(|absent| match absent {
                Absent::Skipped => None,
                Absent::Missing => Some("missing_value".to_owned()),
            })?;
        let Json::Object(mut arguments) = arguments else { unreachable!() };
        if step.get("tool").and_then(Json::as_str) == Some("load") {
            let slot = self.slot.clone().ok_or_else(|| Some("empty_slot".to_owned()))?;
            arguments.insert("slot", slot);
        }
        if step.get("tool").and_then(Json::as_str) == Some("nested") {
            let nested = run(&generate::nested(), &arguments.into());
            let failed = nested.has_failed.then(|| Some("ToolError".to_owned()));
            return failed.map_or(Ok(nested.outputs), Err);
        }
        work(&arguments).map_err(|_| Some("ToolError".to_owned()))
    }

    fn fill(&self, template: &Json, item: Item<'_>) -> Result<Json, Absent> {
        match template {
            Json::Object(members) if members.contains_key("$from") => self.value(members, item),
            Json::Object(members) => {
                let mut out = Object::new();
                for (name, value) in members.iter() {
                    out.insert(name.to_owned(), self.fill(value, item)?);
                }
                Ok(out.into())
            }
            Json::Array(items) => Ok(Json::Array(
                items.iter().map(|own| self.fill(own, item)).collect::<Result<_, _>>()?,
            )),
            other => Ok(other.clone()),
        }
    }

    /// Fills a value in which whatever has no value is null.
    fn fill_or_null(&self, template: &Json) -> Json {
        match template {
            Json::Array(items) => {
                Json::Array(items.iter().map(|own| self.fill_or_null(own)).collect())
            }
            other => self.fill(other, None).unwrap_or_default(),
        }
    }

    fn value(&self, reference: &Object, item: Item<'_>) -> Result<Json, Absent> {
        let from = reference.get("$from").and_then(Json::as_str).unwrap();
        let (source, pointer) = from.find('/').map_or((from, ""), |at| from.split_at(at));
        let default = reference.get("$default").cloned();
        let found = match source {
            "inputs" => self.inputs.pointer(pointer).cloned(),
            "item" => item.and_then(|(item, _)| inside(item, pointer)),
            "index" => item.map(|(_, at)| Json::from(at)),
            id => match &self.ended[id] {
                Ended::Succeeded(output) => inside(output, pointer),
                Ended::Failed { continued: true, .. } => return Ok(default.unwrap_or_default()),
                Ended::Skipped if default.is_none() => return Err(Absent::Skipped),
                _ => None,
            },
        };
        found.or(default).ok_or(Absent::Missing)
    }

    fn holds(&self, condition: &Json, item: Item<'_>) -> bool {
        let Json::Object(members) = condition else { return condition.as_bool().unwrap() };
        if members.contains_key("$from") {
            return self.value(members, item).unwrap_or_default().as_bool() == Some(true);
        }
        let list = |name: &str| members.get(name).and_then(Json::as_array);
        if let Some(conditions) = list("all") {
            return conditions.iter().all(|own| self.holds(own, item));
        }
        if let Some(conditions) = list("any") {
            return conditions.iter().any(|own| self.holds(own, item));
        }
        if let Some(condition) = members.get("not") {
            return !self.holds(condition, item);
        }
        let value = self.fill(members.get("value").unwrap(), item).unwrap_or_default();
        let schema = members.get("is").unwrap();
        if let Some(minimum) = schema.get("minimum").and_then(Json::as_u64) {
            return value.as_u64().is_none_or(|number| number >= minimum);
        }
        match schema.get("type") {
            Some(_) => value.as_array().is_some(),
            None => value.is_null(),
        }
    }
}

/// Looks up a part of a value, also in a text that is JSON.
fn inside(value: &Json, pointer: &str) -> Option<Json> {
    match value.as_str().filter(|_| !pointer.is_empty()) {
        Some(text) => Json::parse(text).ok()?.pointer(pointer).cloned(),
        None => value.pointer(pointer).cloned(),
    }
}

/// Collects the sources of the references in a value.
fn sources(value: &Json, found: &mut Vec<String>) {
    match value {
        Json::Object(members) => match members.get("$from").and_then(Json::as_str) {
            Some(from) => found.push(from.split('/').next().unwrap_or_default().to_owned()),
            None => members.iter().for_each(|(_, value)| sources(value, found)),
        },
        Json::Array(items) => items.iter().for_each(|value| sources(value, found)),
        _ => {}
    }
}
