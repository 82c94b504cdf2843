//! Steps, with their parameters, payloads, outputs and failure actions.

use toolwright_core::wire_json::key;
use toolwright_json::object;
use toolwright_json::pointer::Path;
use toolwright_json::{Json, Object};

use super::{Importer, Replaced, plan_step};
use crate::plan::arazzo::expression::{Expression, is_pointer, is_selector};
use crate::plan::template::Template;

const STEP: &[&str] = &[
    "stepId",
    "description",
    "operationId",
    "parameters",
    "requestBody",
    "successCriteria",
    "onFailure",
    "outputs",
    "timeout",
    "dependsOn",
    "x-toolwright-id",
    "x-toolwright-args",
    "x-toolwright-after",
    "x-toolwright-each",
    "x-toolwright-when",
    "x-toolwright-on-error",
    "x-toolwright-idempotent",
    "x-toolwright-digest",
];

/// Our fields that a step of a plan has under another name.
const OWN: [(&str, &str); 5] = [
    ("x-toolwright-each", "each"),
    ("x-toolwright-when", "when"),
    ("x-toolwright-on-error", "on_error"),
    ("x-toolwright-idempotent", "idempotent"),
    ("x-toolwright-digest", "digest"),
];

impl<'d> Importer<'d> {
    /// Notes the id and the outputs of a step, which other steps refer to.
    pub(super) fn declare(&mut self, step: &'d Json, path: &Path<'_>) {
        let Some(id) = step.get("stepId").and_then(Json::as_str) else { return };
        let own = step.get("x-toolwright-id").and_then(Json::as_str);
        if self.ids.insert(id, own.unwrap_or(id)).is_some() {
            self.fail(&path.key("stepId"), format!("there are two steps with the id '{id}'"));
        }
        let Some(Json::Object(outputs)) = step.get("outputs") else { return };
        let path = path.key("outputs");
        for (name, value) in outputs.iter() {
            let path = path.key(name);
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
                _ => self.refuse(
                    &path,
                    "the output of a plan's step is the body of the response, or a part of it by a JSON Pointer",
                ),
            }
        }
    }

    pub(super) fn step(
        &mut self,
        step: &'d Json,
        at: usize,
        path: &Path<'_>,
        shared: &[(String, Template)],
    ) -> Option<(&'d str, Object)> {
        let members = self.members(step, path, STEP)?;
        let Some(id) = self.text(members, "stepId", path) else {
            self.fail(&path.key("stepId"), "a step has a 'stepId'");
            return None;
        };
        let id = self.ids.get(id).copied().unwrap_or(id);
        let base = plan_step(id);
        self.places.push((base.clone(), path.pointer()));
        let mut out = Object::new();
        out.insert_some("tool", self.operation(members, path));
        self.places.push((format!("{base}/tool"), path.key("operationId").pointer()));
        out.insert_some("description", self.text(members, "description", path));

        let args = self.arguments(members, path, shared);
        let body = path.key("requestBody");
        if let Some(own) = members.get("x-toolwright-args") {
            let path_of_payload = body.key("payload").pointer();
            let replaced = Replaced::Arguments { step: at, path: path_of_payload, value: args };
            self.replaced.push(replaced);
            out.insert("args", own.clone());
            let place = path.key("x-toolwright-args").pointer();
            self.places.push((format!("{base}/args"), place));
        } else {
            let argument = |(name, value): &(String, Template)| (key(name), value.to_json());
            if !args.is_empty() {
                out.insert("args", args.iter().map(argument).collect::<Object>());
            }
            self.places.push((format!("{base}/args"), body.key("payload").pointer()));
        }

        let after = self.depends_on(members, path);
        if let Some(own) = members.get("x-toolwright-after") {
            let place = path.key("dependsOn").pointer();
            self.replaced.push(Replaced::Dependencies { step: at, path: place, value: after });
            if own.as_array().is_none_or(|own| !own.is_empty()) {
                out.insert("after", own.clone());
            }
        } else if !after.is_empty() {
            out.insert("after", after);
        }
        self.places.push((format!("{base}/after"), path.key("dependsOn").pointer()));

        out.insert_some("retry", self.retry(members, path));
        out.insert_some("timeout_ms", members.get("timeout").cloned());
        self.places.push((format!("{base}/timeout_ms"), path.key("timeout").pointer()));
        for (name, own) in OWN {
            out.insert_some(own, members.get(name).cloned());
            self.places.push((format!("{base}/{own}"), path.key(name).pointer()));
        }
        self.success(members, path);
        Some((id, out))
    }

    /// Returns the name of the tool.
    fn operation(&mut self, members: &'d Object, path: &Path<'_>) -> Option<&'d str> {
        let Some(text) = self.text(members, "operationId", path) else {
            self.fail(&path.key("operationId"), "a step of a plan has an 'operationId'");
            return None;
        };
        let full = text.strip_prefix("$sourceDescriptions.").filter(|_| !self.is_exported);
        let (source, name) = full.and_then(|full| full.split_once('.')).unwrap_or(("", text));
        if *self.operations.entry(name).or_insert(source) != source {
            let message = format!(
                "two sources have an operation '{name}': a plan names tools without a source"
            );
            self.refuse(&path.key("operationId"), message);
        }
        Some(name)
    }

    /// Returns the arguments: parameters of the workflow, parameters of the step, members of the payload.
    fn arguments(
        &mut self,
        members: &'d Object,
        path: &Path<'_>,
        shared: &[(String, Template)],
    ) -> Vec<(String, Template)> {
        let own = self.list(members, "parameters", path);
        let mut args = self.parameters(own, &path.key("parameters"));
        let inherited = shared.iter().filter(|(name, _)| !args.iter().any(|(own, _)| own == name));
        let inherited: Vec<(String, Template)> = inherited.cloned().collect();
        args.extend(inherited);
        let Some(body) = members.get("requestBody") else { return args };
        let path = path.key("requestBody");
        let Some(body) = self.members(body, &path, &["contentType", "payload"]) else {
            return args;
        };
        match self.text(body, "contentType", &path) {
            None | Some("application/json") => {}
            Some(other) if other.ends_with("+json") => {}
            Some(_) => self.refuse(&path.key("contentType"), "a plan sends JSON only"),
        }
        let path = path.key("payload");
        match body.get("payload") {
            None => {}
            Some(payload @ Json::Object(payload_members))
                if self.is_exported || !is_selector(payload) =>
            {
                for (name, value) in payload_members.iter() {
                    let path = path.key(name);
                    if args.iter().any(|(own, _)| own == name) {
                        self.refuse(&path, format!("'{name}' is a parameter as well"));
                    }
                    let value = self.value(value, &path);
                    args.push((name.to_owned(), value));
                }
            }
            Some(_) => self.refuse(
                &path,
                "the payload of a plan's step is an object, by the names of parameters",
            ),
        }
        args
    }

    /// Reads parameters, of which some may be components.
    pub(super) fn parameters(
        &mut self,
        parameters: &'d [Json],
        path: &Path<'_>,
    ) -> Vec<(String, Template)> {
        let mut out: Vec<(String, Template)> = Vec::new();
        for (at, parameter) in parameters.iter().enumerate() {
            let path = path.index(at);
            let mut value = parameter.get("value");
            let mut parameter = parameter;
            if let Some(reference) = parameter.get("reference").and_then(Json::as_str) {
                self.members(parameter, &path, &["reference", "value"]);
                let found = reference
                    .strip_prefix("$components.parameters.")
                    .and_then(|name| self.document.get("components")?.get("parameters")?.get(name));
                let Some(found) = found else {
                    self.fail(&path.key("reference"), "there is no such component");
                    continue;
                };
                value = value.or_else(|| found.get("value"));
                parameter = found;
            }
            let Some(members) = self.members(parameter, &path, &["name", "in", "value"]) else {
                continue;
            };
            let (Some(name), Some(value)) = (self.text(members, "name", &path), value) else {
                self.fail(&path, "a parameter has a 'name' and a 'value'");
                continue;
            };
            if out.iter().any(|(own, _)| own == name) {
                self.refuse(&path, format!("there are two parameters '{name}'"));
            }
            let value = self.value(value, &path.key("value"));
            out.push((name.to_owned(), value));
        }
        out
    }

    /// Returns the steps that must end before, by their ids in the plan.
    fn depends_on(&mut self, members: &'d Object, path: &Path<'_>) -> Vec<String> {
        let mut after = Vec::new();
        let list = path.key("dependsOn");
        for (at, other) in self.list(members, "dependsOn", path).iter().enumerate() {
            let path = list.index(at);
            match other.as_str() {
                Some(other) if other.starts_with('$') => {
                    self.refuse(&path, "a plan cannot depend on a step of another workflow");
                }
                Some(other) => after.push((*self.ids.get(other).unwrap_or(&other)).to_owned()),
                None => self.fail(&path, "expected the id of a step"),
            }
        }
        after
    }

    /// Refuses criteria that say more than that the call succeeded.
    fn success(&mut self, members: &'d Object, path: &Path<'_>) {
        let list = path.key("successCriteria");
        for (at, criterion) in self.list(members, "successCriteria", path).iter().enumerate() {
            let path = list.index(at);
            let condition = criterion.get("condition").and_then(Json::as_str).unwrap_or_default();
            let status = condition
                .strip_prefix("$statusCode")
                .and_then(|rest| rest.trim_start().strip_prefix("=="))
                .map(str::trim);
            let is_success = status.is_some_and(|status| {
                status.len() == 3 && status.starts_with('2') && status.parse::<u16>().is_ok()
            });
            let is_simple =
                criterion.get("type").is_none_or(|kind| kind.as_str() == Some("simple"));
            if !is_success || !is_simple {
                let message = "a plan's step succeeds if its call does: only '$statusCode == 200' and other \
                               codes of success can be expressed";
                self.refuse(&path, message);
            }
        }
    }

    /// Returns the retries. An action that ends the workflow is what a plan does anyway.
    fn retry(&mut self, members: &'d Object, path: &Path<'_>) -> Option<Object> {
        const ACTION: &[&str] = &["name", "type", "retryAfter", "retryLimit"];
        let list = path.key("onFailure");
        let mut retry: Option<Object> = None;
        let actions = self.list(members, "onFailure", path);
        for (at, action) in actions.iter().enumerate() {
            let path = list.index(at);
            if action.get("reference").is_some() {
                self.refuse(&path, "write the action into the step");
                continue;
            }
            let Some(fields) = self.members(action, &path, ACTION) else { continue };
            match fields.get("type").and_then(Json::as_str) {
                Some("end") if at + 1 == actions.len() => {}
                Some("retry") if retry.is_none() => {
                    let max = fields.get("retryLimit").cloned().unwrap_or_else(|| 1_u64.into());
                    let mut out = object! {"max": max};
                    if let Some(seconds) = fields.get("retryAfter") {
                        let ms = match seconds {
                            Json::Number(seconds) => milliseconds(seconds.as_str()),
                            _ => None,
                        };
                        if ms.is_none() {
                            let message =
                                "'retryAfter' is a number of seconds, exact to a millisecond";
                            self.fail(&path.key("retryAfter"), message);
                        }
                        out.insert_some("backoff_ms", ms);
                    }
                    retry = Some(out);
                }
                _ => self.refuse(
                    &path,
                    "a plan repeats a failed call, or ends: it cannot do anything else",
                ),
            }
        }
        retry
    }
}

/// Converts a decimal number of seconds.
fn milliseconds(seconds: &str) -> Option<u64> {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 3 {
        return None;
    }
    format!("{whole}{fraction:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn seconds_are_converted_exactly() {
        let cases = [("0", Some(0)), ("1.5", Some(1500)), ("0.001", Some(1)), ("2.50", Some(2500))];
        for (text, ms) in cases {
            assert_eq!(milliseconds(text), ms, "{text}");
        }
        for text in ["0.0001", "-1", "1e3", "99999999999999999999"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
