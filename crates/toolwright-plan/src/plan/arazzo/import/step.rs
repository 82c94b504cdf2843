//! Steps, with their parameters, payloads, outputs and failure actions.

use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::{Importer, Replaced, items, refuse, refuse_rest, text};
use crate::plan::arazzo::expression::{Expression, is_pointer, is_selector};
use crate::plan::document::templates_to_json;
use crate::plan::error::{Fields, Node};
use crate::plan::template::Template;

/// Fields that a step of a plan has under another name.
const OWN: [(&str, &str); 6] = [
    ("timeout", "timeout_ms"),
    ("x-toolwright-each", "each"),
    ("x-toolwright-when", "when"),
    ("x-toolwright-on-error", "on_error"),
    ("x-toolwright-idempotent", "idempotent"),
    ("x-toolwright-digest", "digest"),
];

impl<'d> Importer<'d> {
    /// Notes the id and the outputs of a step, which other steps refer to.
    pub(super) fn declare(&mut self, step: &Node<'d>) {
        let member = |name: &str| step.value.get(name).and_then(Json::as_str);
        let Some(id) = member("stepId") else { return };
        if self.ids.insert(id, member("x-toolwright-id").unwrap_or(id)).is_some() {
            step.fault_at("/stepId", format!("there are two steps with the id '{id}'"));
        }
        let Some(outputs) = step.value.get("outputs") else { return };
        for (name, node) in step.below("outputs", outputs).members().unwrap_or_default() {
            let value = node.value;
            let selector = || match value.get("type")?.as_str()? {
                "jsonpointer" if value.get("context")?.as_str()? == "$response.body" => {
                    value.get("selector")?.as_str()
                }
                _ => None,
            };
            let pointer = match value {
                Json::String(text) => match Expression::parse(text) {
                    Some(Expression::Body { pointer }) => Some(pointer),
                    _ => None,
                },
                _ => selector(),
            };
            match pointer {
                Some(pointer) if is_pointer(pointer) => {
                    self.outputs.insert((id, name), pointer);
                }
                _ => refuse(
                    &node,
                    "the output of a plan's step is the body of the response, or a part of it by a JSON Pointer",
                ),
            }
        }
    }

    pub(super) fn step(
        &mut self,
        step: Node<'d>,
        at: usize,
        shared: &[(String, Template)],
    ) -> Option<(&'d str, Object)> {
        let mut fields = Fields::of(step)?;
        let node = fields.node.clone();
        let id = fields.require("stepId")?.text()?;
        let id = self.ids.get(id).copied().unwrap_or(id);
        let base = Path::ROOT.key("steps").key(id).pointer();
        self.places.push((base.clone(), node.pointer.clone()));
        let mut out = Object::new();
        out.insert_some("tool", self.operation(&mut fields));
        self.place(format!("{base}/tool"), &node, "operationId");
        out.insert_some("description", text(&mut fields, "description"));

        let args = self.arguments(&mut fields, shared);
        if let Some(own) = fields.take("x-toolwright-args") {
            let path = format!("{}/requestBody/payload", node.pointer);
            self.replaced.push(Replaced::Arguments { step: at, path, value: args });
            out.insert("args", own.value.clone());
            self.places.push((format!("{base}/args"), own.pointer));
        } else {
            if !args.is_empty() {
                out.insert("args", templates_to_json(&args));
            }
            self.place(format!("{base}/args"), &node, "requestBody/payload");
        }

        let after = self.depends_on(&mut fields);
        if let Some(own) = fields.take("x-toolwright-after") {
            let path = format!("{}/dependsOn", node.pointer);
            self.replaced.push(Replaced::Dependencies { step: at, path, value: after });
            if own.value.as_array().is_none_or(|steps| !steps.is_empty()) {
                out.insert("after", own.value.clone());
            }
        } else if !after.is_empty() {
            out.insert("after", after);
        }
        self.place(format!("{base}/after"), &node, "dependsOn");

        out.insert_some("retry", retry(&mut fields));
        for (name, own) in OWN {
            out.insert_some(own, fields.take(name).map(|value| value.value.clone()));
            self.place(format!("{base}/{own}"), &node, name);
        }
        check_success(&mut fields);
        // Both were read before the other steps, which refer to them.
        fields.ignore(&["outputs", "x-toolwright-id"]);
        refuse_rest(&fields);
        Some((id, out))
    }

    /// Returns the name of the tool.
    fn operation(&mut self, fields: &mut Fields<'d>) -> Option<&'d str> {
        let node = fields.require("operationId")?;
        let text = node.text()?;
        let full = text.strip_prefix("$sourceDescriptions.").filter(|_| !self.is_exported);
        let (source, name) = full.and_then(|full| full.split_once('.')).unwrap_or(("", text));
        if *self.operations.entry(name).or_insert(source) != source {
            let message = format!(
                "two sources have an operation '{name}': a plan names tools without a source"
            );
            refuse(&node, message);
        }
        Some(name)
    }

    /// Returns the arguments: parameters of the workflow, parameters of the step, members of the payload.
    fn arguments(
        &mut self,
        fields: &mut Fields<'d>,
        shared: &[(String, Template)],
    ) -> Vec<(String, Template)> {
        let mut args = self.parameters(items(fields, "parameters"));
        let inherited = shared.iter().filter(|(name, _)| !args.iter().any(|(own, _)| own == name));
        let inherited: Vec<(String, Template)> = inherited.cloned().collect();
        args.extend(inherited);
        let Some(mut body) = fields.take("requestBody").and_then(Fields::of) else { return args };
        if let Some(media) = body.take("contentType") {
            let is_json = |media: &str| media == "application/json" || media.ends_with("+json");
            if !media.text().is_none_or(is_json) {
                refuse(&media, "a plan sends JSON only");
            }
        }
        if let Some(payload) = body.take("payload") {
            let is_reference = !self.is_exported && is_selector(payload.value);
            if payload.value.as_object().is_none() || is_reference {
                let message =
                    "the payload of a plan's step is an object, by the names of parameters";
                refuse(&payload, message);
            } else {
                for (name, node) in payload.members().unwrap_or_default() {
                    if args.iter().any(|(own, _)| own == name) {
                        refuse(&node, format!("'{name}' is a parameter as well"));
                    }
                    args.push((name.to_owned(), self.value(&node)));
                }
            }
        }
        refuse_rest(&body);
        args
    }

    /// Reads parameters, of which some may be components.
    pub(super) fn parameters(&mut self, parameters: Vec<Node<'d>>) -> Vec<(String, Template)> {
        let mut out: Vec<(String, Template)> = Vec::new();
        for parameter in parameters {
            let Some(mut fields) = Fields::of(parameter) else { continue };
            let mut value = fields.take("value");
            if let Some(reference) = fields.take("reference") {
                refuse_rest(&fields);
                let name = reference.value.as_str();
                let name = name.and_then(|name| name.strip_prefix("$components.parameters."));
                let found = name.and_then(|name| self.components?.get("parameters")?.get(name));
                let found = reference.some_or(found, "there is no such component");
                let component = found.map(|value| Node { value, ..fields.node.clone() });
                let Some(component) = component.and_then(Fields::of) else { continue };
                fields = component;
                let default = fields.take("value");
                value = value.or(default);
            }
            fields.ignore(&["in"]);
            let name = text(&mut fields, "name");
            refuse_rest(&fields);
            let (Some(name), Some(value)) = (name, value) else {
                fields.node.fault("a parameter has a 'name' and a 'value'");
                continue;
            };
            if out.iter().any(|(own, _)| own == name) {
                refuse(&fields.node, format!("there are two parameters '{name}'"));
            }
            out.push((name.to_owned(), self.value(&value)));
        }
        out
    }

    /// Returns the steps that must end before, by their ids in the plan.
    fn depends_on(&self, fields: &mut Fields<'d>) -> Vec<String> {
        let mut after = Vec::new();
        for node in items(fields, "dependsOn") {
            match node.text() {
                Some(other) if other.starts_with('$') => {
                    refuse(&node, "a plan cannot depend on a step of another workflow");
                }
                Some(other) => after.push((*self.ids.get(other).unwrap_or(&other)).to_owned()),
                None => {}
            }
        }
        after
    }
}

/// Refuses criteria that say more than that the call succeeded.
fn check_success(fields: &mut Fields<'_>) {
    for criterion in items(fields, "successCriteria") {
        let member = |name: &str| criterion.value.get(name);
        let condition = member("condition").and_then(Json::as_str).unwrap_or_default();
        let status = condition
            .strip_prefix("$statusCode")
            .and_then(|rest| rest.trim_start().strip_prefix("=="))
            .map(str::trim);
        let is_success = status.is_some_and(|status| {
            status.len() == 3 && status.starts_with('2') && status.parse::<u16>().is_ok()
        });
        let is_simple = member("type").is_none_or(|kind| kind.as_str() == Some("simple"));
        if !is_success || !is_simple {
            let message = "a plan's step succeeds if its call does: only '$statusCode == 200' and other \
                           codes of success can be expressed";
            refuse(&criterion, message);
        }
    }
}

/// Returns the retries. An action that ends the workflow is what a plan does anyway.
fn retry(fields: &mut Fields<'_>) -> Option<Object> {
    let mut retry: Option<Object> = None;
    let actions = items(fields, "onFailure");
    let last = actions.len().saturating_sub(1);
    for (at, action) in actions.into_iter().enumerate() {
        if action.value.get("reference").is_some() {
            refuse(&action, "write the action into the step");
            continue;
        }
        let Some(mut fields) = Fields::of(action) else { continue };
        fields.ignore(&["name"]);
        let kind = fields.take("type").and_then(|kind| kind.value.as_str());
        let (max, pause) = (fields.take("retryLimit"), fields.take("retryAfter"));
        refuse_rest(&fields);
        match kind {
            Some("end") if at == last => {}
            Some("retry") if retry.is_none() => {
                let max = max.map_or_else(|| 1_u64.into(), |max| max.value.clone());
                let mut out = object! {"max": max};
                out.insert_some("backoff_ms", pause.and_then(|pause| milliseconds(&pause)));
                retry = Some(out);
            }
            _ => refuse(
                &fields.node,
                "a plan repeats a failed call, or ends: it cannot do anything else",
            ),
        }
    }
    retry
}

/// Reads a number of seconds.
fn milliseconds(node: &Node<'_>) -> Option<u64> {
    let ms = match node.value {
        Json::Number(seconds) => to_milliseconds(seconds.as_str()),
        _ => None,
    };
    node.some_or(ms, "'retryAfter' is a number of seconds, exact to a millisecond")
}

/// Converts a decimal number of seconds.
fn to_milliseconds(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 3 {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::to_milliseconds;

    #[test]
    fn seconds_are_converted_exactly() {
        let cases = [("0", Some(0)), ("1.5", Some(1500)), ("0.001", Some(1)), ("2.50", Some(2500))];
        for (text, ms) in cases {
            assert_eq!(to_milliseconds(text), ms, "{text}");
        }
        for text in ["0.0001", "-1", "1e3", "99999999999999999999"] {
            assert_eq!(to_milliseconds(text), None, "{text}");
        }
    }
}
