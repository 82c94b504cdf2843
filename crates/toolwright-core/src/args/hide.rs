//! Hides parameters from the model: their names, and a schema without them.

use std::borrow::Cow;

use toolwright_json::{Json, Object};

use crate::schema::{SchemaError, measure};
use crate::wire_json;

/// The parameters that the preset `@system` hides.
pub const SYSTEM: [&str; 2] = ["executor", "storage"];

/// Maximum depth of references and branches followed to find parameters.
const MAX_DEPTH: usize = 8;

/// Maximum number of JSON values that are copied in place of references.
const MAX_COPIED: usize = 200_000;

const TOO_LARGE: &str =
    "is too large to hide parameters in it: it refers to large definitions too often";

/// Parses a comma-separated list of names; `@system` stands for [`SYSTEM`].
pub fn hidden_names(list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && !names.iter().any(|own| own == name) {
            names.push(name.to_owned());
        }
    };
    for name in list.split(',').map(str::trim) {
        match name {
            "@system" => SYSTEM.into_iter().for_each(&mut add),
            name => add(name),
        }
    }
    names
}

/// Removes parameters from a schema, wherever it names them.
///
/// A reference at the root is followed; its target is copied, because other references may use it.
pub(super) fn strip<'s>(schema: &'s Json, hidden: &[String]) -> Result<Cow<'s, Json>, SchemaError> {
    if hidden.is_empty() {
        return Ok(Cow::Borrowed(schema));
    }
    measure(schema)?;
    let mut hiding = Hiding { root: schema, hidden, left: MAX_COPIED };
    let stripped = hiding.without(schema, MAX_DEPTH);
    let limit = || SchemaError::Limit { path: String::new(), reason: TOO_LARGE };
    stripped.map(Cow::Owned).ok_or_else(limit)
}

/// Copies a schema without some parameters.
struct Hiding<'s> {
    root: &'s Json,
    hidden: &'s [String],
    /// Number of values that may still be copied in place of references
    left: usize,
}

impl<'s> Hiding<'s> {
    fn hides(&self, name: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == name)
    }

    /// Removes hidden names from a list.
    fn shown(&self, names: &Json) -> Json {
        let is_shown = |name: &&Json| !name.as_str().is_some_and(|name| self.hides(name));
        match names {
            Json::Array(names) => Json::Array(names.iter().filter(is_shown).cloned().collect()),
            other => other.clone(),
        }
    }

    /// Returns the schema without hidden parameters; none if too much would be copied.
    fn without(&mut self, schema: &'s Json, depth: usize) -> Option<Json> {
        let (Json::Object(object), Some(deeper)) = (schema, depth.checked_sub(1)) else {
            return Some(schema.clone());
        };
        let mut out = Object::with_capacity(object.len());
        let mut target = None;
        for (key, value) in object.iter() {
            let value = match (key, value) {
                ("properties" | "dependentSchemas" | "dependentRequired", Json::Object(named)) => {
                    self.members(key, named, deeper)?
                }
                ("required", value) => self.shown(value),
                ("allOf" | "anyOf" | "oneOf", Json::Array(branches)) => {
                    let branches = branches.iter().map(|branch| self.without(branch, deeper));
                    Json::Array(branches.collect::<Option<_>>()?)
                }
                ("if" | "then" | "else", value) => self.without(value, deeper)?,
                ("$ref", value) => {
                    target = local(value, self.root);
                    match target {
                        Some(_) => continue,
                        None => value.clone(),
                    }
                }
                (_, value) => value.clone(),
            };
            out.push(wire_json::key(key), value);
        }
        if let Some(target) = target {
            self.left = self.left.checked_sub(values(target))?;
            let target = self.without(target, deeper)?;
            match out.get_mut("allOf") {
                Some(Json::Array(branches)) => branches.push(target),
                _ => out.insert("allOf", Json::Array(vec![target])),
            }
        }
        Some(Json::Object(out))
    }

    /// Removes hidden parameters from a keyword that is an object by parameter.
    fn members(&mut self, keyword: &str, named: &'s Object, depth: usize) -> Option<Json> {
        let mut out = Object::with_capacity(named.len());
        for (name, value) in named.iter() {
            if self.hides(name) {
                continue;
            }
            let value = match keyword {
                "dependentSchemas" => self.without(value, depth)?,
                "dependentRequired" => self.shown(value),
                _ => value.clone(),
            };
            out.push(wire_json::key(name), value);
        }
        Some(Json::Object(out))
    }
}

/// Returns the number of JSON values in a value, including itself.
fn values(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Json::Object(object) => 1 + object.iter().map(|(_, item)| values(item)).sum::<usize>(),
        _ => 1,
    }
}

/// Resolves a reference within the document.
fn local<'s>(reference: &Json, root: &'s Json) -> Option<&'s Json> {
    root.pointer(reference.as_str()?.strip_prefix('#')?)
}

/// Returns the schemas that apply to the same value as this one: itself, its reference, its
/// `allOf`.
pub(super) fn composed<'s>(schema: &'s Json, root: &'s Json) -> Vec<&'s Object> {
    let mut found = Vec::new();
    gather(schema, root, MAX_DEPTH, &mut found);
    found
}

fn gather<'s>(schema: &'s Json, root: &'s Json, depth: usize, found: &mut Vec<&'s Object>) {
    let (Json::Object(object), Some(deeper)) = (schema, depth.checked_sub(1)) else { return };
    found.push(object);
    if let Some(target) = object.get("$ref").and_then(|reference| local(reference, root)) {
        gather(target, root, deeper, found);
    }
    for branch in object.get("allOf").and_then(Json::as_array).unwrap_or_default() {
        gather(branch, root, deeper, found);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_COPIED, hidden_names, strip};
    use toolwright_json::Json;

    #[test]
    fn a_large_definition_is_not_copied_without_bound() {
        let names: Vec<String> =
            (0..MAX_COPIED / 100).map(|at| format!(r#""p{at}":true"#)).collect();
        let references = vec![r##"{"$ref":"#/$defs/a"}"##; 200];
        let text = format!(
            r#"{{"allOf":[{}],"$defs":{{"a":{{"properties":{{{}}}}}}}}}"#,
            references.join(","),
            names.join(",")
        );
        let schema = Json::parse(&text).unwrap();
        let error = strip(&schema, &["s".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("too large to hide parameters"), "{error}");
    }

    #[test]
    fn lists_and_the_preset_are_read() {
        assert_eq!(hidden_names("a, b,,a"), ["a", "b"]);
        assert_eq!(hidden_names("@system,x"), ["executor", "storage", "x"]);
        assert!(hidden_names("").is_empty());
    }

    #[test]
    fn a_parameter_is_gone_wherever_it_is_named() {
        let parse = |text: &str| Json::parse(text).unwrap();
        let schema = parse(
            r##"{"$defs":{"a":{"properties":{"s":{},"x":{"properties":{"s":{}}}},"required":["s","x"]}},
                "$ref":"#/$defs/a","properties":{"s":{"type":"string"}},
                "anyOf":[{"required":["s"]},true],"dependentRequired":{"x":["s","y"],"s":["x"]}}"##,
        );
        let stripped = strip(&schema, &["s".to_owned()]).unwrap();
        let expected = parse(
            r#"{"$defs":{"a":{"properties":{"s":{},"x":{"properties":{"s":{}}}},"required":["s","x"]}},
                "properties":{},"anyOf":[{"required":[]},true],"dependentRequired":{"x":["y"]},
                "allOf":[{"properties":{"x":{"properties":{"s":{}}}},"required":["x"]}]}"#,
        );
        assert!(stripped.same(&expected), "{stripped}");
        assert_eq!(*strip(&schema, &[]).unwrap(), schema);
    }
}
