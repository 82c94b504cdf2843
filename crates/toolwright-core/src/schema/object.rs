//! Objects in strict subsets: closed, every property required, optional ones nullable.

use std::collections::HashSet;

use toolwright_json::{Json, Object};

use super::keep::Draft;
use super::lower::{Built, Lowering};
use super::nulls::{Location, Null, Property};
use super::shape::{Member, Shape, Source, Value};
use super::subset::Types;
use super::walk::step;
use crate::loss::Severity;

/// Maximum number of schemas that are visited to determine whether one accepts null.
const NULL_FUEL: usize = 256;

impl<'s> Lowering<'s, '_> {
    /// Writes `properties`.
    pub(super) fn properties(
        &mut self,
        draft: &mut Draft,
        place: &mut Location,
        shape: &Shape<'s>,
        named: &[(&'s str, Vec<Source<'s>>)],
    ) {
        let required = required_of(shape);
        let mut properties = Object::new();
        for (name, sources) in named {
            let Built { json, place: below } = self.node(sources);
            if !self.rules.all_required {
                properties.push(name.to_string(), json);
                continue;
            }
            let optional = !required.contains(name);
            let mut fuel = NULL_FUEL;
            let meant = sources.iter().all(|source| self.accepts_null(source.schema, &mut fuel));
            let null = match (meant, optional) {
                (true, _) => Null::Meant,
                (false, true) => Null::Injected,
                (false, false) => Null::Impossible,
            };
            place.properties.push(Property { name: name.to_string(), null, place: below });
            let at = sources.first().map_or("", |source| source.at.as_ref());
            properties
                .push(name.to_string(), if optional { self.nullable(json, at) } else { json });
        }
        draft.push("properties", properties);
    }

    /// Makes a schema accept null, in place of omitting the property.
    fn nullable(&mut self, schema: Json, at: &str) -> Json {
        let Json::Object(mut object) = schema else { return schema };
        if accepts_null_as_written(&object) {
            return Json::Object(object);
        }
        let null = || Json::Object(toolwright_json::object! { "type": "null" });
        let changed = if let Some(Json::Array(branches)) = object.get_mut("anyOf") {
            branches.push(null());
            "anyOf"
        } else if object.contains_key("$ref") || object.contains_key("const") {
            let keyword = if object.contains_key("const") { "const" } else { "$ref" };
            object = toolwright_json::object! { "anyOf": vec![Json::Object(object), null()] };
            keyword
        } else {
            let mut types = match object.get("type") {
                Some(Json::Array(types)) => types.clone(),
                Some(single) => vec![single.clone()],
                None => Vec::new(),
            };
            let compound =
                types.iter().any(|name| matches!(name.as_str(), Some("object" | "array")));
            if compound && self.rules.types == Types::ScalarList {
                object = toolwright_json::object! { "anyOf": vec![Json::Object(object), null()] };
            } else {
                if !types.contains(&Json::from("null")) {
                    types.push("null".into());
                    object.insert("type", types);
                }
                if let Some(Json::Array(values)) = object.get_mut("enum")
                    && !values.contains(&Json::Null)
                {
                    values.push(Json::Null);
                    let at = step(at, "enum");
                    self.push(&at, "extended by null", "have all required", Severity::Note);
                }
            }
            "type"
        };
        self.push(&step(at, changed), "made nullable", "have all required", Severity::Note);
        Json::Object(object)
    }

    /// Whether the original schema accepts null; true if that cannot be determined.
    fn accepts_null(&self, schema: &Json, fuel: &mut usize) -> bool {
        let Json::Object(object) = schema else { return schema != &Json::Bool(false) };
        if *fuel == 0 {
            return true;
        }
        *fuel -= 1;
        object.iter().all(|(key, value)| match (key, value) {
            ("type", value) => {
                let is_null = |name: &Json| {
                    name.as_str().is_some_and(|name| name.eq_ignore_ascii_case("null"))
                };
                value.as_array().map_or_else(|| is_null(value), |names| names.iter().any(is_null))
                    || object.get("nullable") == Some(&Json::Bool(true))
            }
            ("enum", Json::Array(values)) => values.contains(&Json::Null),
            ("const", value) => value.is_null(),
            ("anyOf" | "oneOf", Json::Array(any)) => {
                any.iter().any(|schema| self.accepts_null(schema, fuel))
            }
            ("allOf", Json::Array(all)) => all.iter().all(|schema| self.accepts_null(schema, fuel)),
            ("not", schema) => !self.accepts_null(schema, fuel),
            ("$ref", Json::String(reference)) => self
                .document
                .resolve(reference)
                .is_none_or(|(target, _)| self.accepts_null(target, fuel)),
            _ => true,
        })
    }

    /// Writes `required`, without unknown names and with those that must be required.
    pub(super) fn required(&mut self, draft: &mut Draft, shape: &Shape<'s>) {
        let names = property_names(shape);
        let given = shape.data("required");
        let at =
            shape.get("required").map_or_else(|| step(&shape.at, "required"), |m| m.at.to_string());
        let mut seen = HashSet::new();
        let mut list: Vec<&str> = Vec::new();
        let known: HashSet<&str> = names.iter().copied().collect();
        let mut pruned = given.is_some_and(|given| given.as_array().is_none());
        for name in given.and_then(Json::as_array).unwrap_or_default() {
            match name.as_str() {
                Some(name) if known.contains(name) => {
                    if seen.insert(name) {
                        list.push(name);
                    }
                }
                _ => pruned = true,
            }
        }
        if self.rules.all_required {
            list.extend(names.iter().filter(|name| seen.insert(**name)));
        }
        let value = Json::from(list);
        let empty = value.as_array().is_some_and(<[Json]>::is_empty);
        if given != Some(&value) && !(given.is_none() && empty) {
            let (what, why, severity) = if pruned {
                ("without what is no property", "require only properties", Severity::Major)
            } else if self.rules.all_required {
                ("of all properties", "have all required", Severity::Note)
            } else {
                ("without repetitions", "require a property once", Severity::Note)
            };
            self.push(&at, what, why, severity);
        }
        if !empty || given == Some(&value) {
            draft.push("required", value);
        }
    }

    /// Writes `additionalProperties`.
    pub(super) fn additional(&mut self, draft: &mut Draft, member: &Member<'s>, root: bool) {
        let closed = match &member.value {
            Value::Schema(sources) => {
                sources.iter().any(|source| source.schema == &Json::Bool(false))
            }
            _ => false,
        };
        if self.rules.closed {
            if !closed {
                self.push(&member.at, "became false", "are closed", Severity::Major);
            }
            draft.push("additionalProperties", false);
        } else if closed {
            self.push(&member.at, "removed", "do not have it", self.rules.unenforced());
        } else if matches!(member.raw, Json::Bool(true)) {
            self.push(&member.at, "removed", "are open in any case", Severity::Note);
        } else {
            self.drop(draft, member.key, member.raw, &member.at, root);
        }
    }

    /// Adds the keywords of a closed object.
    pub(super) fn close(&mut self, draft: &mut Draft, shape: &Shape<'s>, root: bool) {
        let free = !draft.has("properties");
        if free {
            let at = step(&shape.at, "properties");
            self.push(&at, "added", "list the properties of an object", Severity::Note);
            draft.push("properties", Object::new());
        }
        if self.rules.all_required && !draft.has("required") {
            self.required(draft, shape);
        }
        if !draft.has("additionalProperties") {
            let severity = if free && !root { Severity::Major } else { Severity::Note };
            self.push(&step(&shape.at, "additionalProperties"), "added", "are closed", severity);
            draft.push("additionalProperties", false);
        }
    }
}

/// Returns the required names.
fn required_of<'n>(shape: &'n Shape<'_>) -> HashSet<&'n str> {
    let names = shape.data("required").and_then(Json::as_array).unwrap_or_default();
    names.iter().filter_map(Json::as_str).collect()
}

/// Returns the names of the properties.
fn property_names<'s>(shape: &Shape<'s>) -> Vec<&'s str> {
    match shape.get("properties") {
        Some(Member { value: Value::Named(named), .. }) => {
            named.list.iter().map(|(name, _)| *name).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a lowered schema already accepts null.
fn accepts_null_as_written(object: &Object) -> bool {
    let is_null = |name: &Json| name.as_str() == Some("null");
    if let Some(Json::Array(values)) = object.get("enum")
        && !values.contains(&Json::Null)
    {
        return false;
    }
    match (object.get("type"), object.get("anyOf")) {
        (Some(Json::Array(names)), _) => names.iter().any(is_null),
        (Some(name), _) => is_null(name),
        (None, Some(Json::Array(branches))) => {
            branches.iter().filter_map(Json::as_object).any(accepts_null_as_written)
        }
        _ => false,
    }
}
