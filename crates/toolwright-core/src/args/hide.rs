//! Parameters that a model need not know: their names, and a schema without them.

use std::borrow::Cow;

use crate::json::{Json, Object};

/// What the preset `@system` hides.
pub const SYSTEM: [&str; 2] = ["executor", "storage"];

/// How many references and branches are followed to find parameters.
const DEPTH: usize = 8;

/// Reads a list of names with commas between them; `@system` stands for [`SYSTEM`].
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

/// A schema without some of its parameters, wherever it names them.
///
/// A reference at the root is followed; its target is copied, because others may refer to it.
pub(super) fn strip<'s>(schema: &'s Json, hidden: &[String]) -> Cow<'s, Json> {
    if hidden.is_empty() {
        return Cow::Borrowed(schema);
    }
    Cow::Owned(without(schema, hidden, schema, DEPTH))
}

fn without(schema: &Json, hidden: &[String], root: &Json, depth: usize) -> Json {
    let Json::Object(object) = schema else { return schema.clone() };
    let is_hidden = |name: &str| hidden.iter().any(|hidden| hidden == name);
    let shown = |names: &Json| match names {
        Json::Array(names) => Json::Array(
            names.iter().filter(|name| !name.as_str().is_some_and(is_hidden)).cloned().collect(),
        ),
        other => other.clone(),
    };
    let Some(deeper) = depth.checked_sub(1) else { return schema.clone() };
    let mut out = Object::with_capacity(object.len());
    let mut target = None;
    for (key, value) in object.iter() {
        let value = match (key, value) {
            ("properties" | "dependentSchemas" | "dependentRequired", Json::Object(named)) => {
                let members = named.iter().filter(|(name, _)| !is_hidden(name));
                let each = |(name, value): (&str, &Json)| {
                    let value = match key {
                        "dependentSchemas" => without(value, hidden, root, deeper),
                        "dependentRequired" => shown(value),
                        _ => value.clone(),
                    };
                    (crate::json::key(name), value)
                };
                Json::Object(members.map(each).collect())
            }
            ("required", value) => shown(value),
            ("allOf" | "anyOf" | "oneOf", Json::Array(branches)) => Json::Array(
                branches.iter().map(|branch| without(branch, hidden, root, deeper)).collect(),
            ),
            ("if" | "then" | "else", value) => without(value, hidden, root, deeper),
            ("$ref", value) => {
                target = local(value, root);
                match target {
                    Some(_) => continue,
                    None => value.clone(),
                }
            }
            (_, value) => value.clone(),
        };
        out.push(crate::json::key(key), value);
    }
    if let Some(target) = target {
        let target = without(target, hidden, root, deeper);
        match out.get_mut("allOf") {
            Some(Json::Array(branches)) => branches.push(target),
            _ => out.insert("allOf", Json::Array(vec![target])),
        }
    }
    Json::Object(out)
}

/// The schema that a reference within the document means.
fn local<'s>(reference: &Json, root: &'s Json) -> Option<&'s Json> {
    root.pointer(reference.as_str()?.strip_prefix('#')?)
}

/// Shows the schemas that speak of the same value as this one and always hold: itself, what it
/// refers to, what it is composed of.
pub(super) fn composed<'s>(schema: &'s Json, root: &'s Json) -> Vec<&'s Object> {
    let mut found = Vec::new();
    gather(schema, root, DEPTH, &mut found);
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
    use super::{hidden_names, strip};
    use crate::json::Json;

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
        let stripped = strip(&schema, &["s".to_owned()]);
        let expected = parse(
            r#"{"$defs":{"a":{"properties":{"s":{},"x":{"properties":{"s":{}}}},"required":["s","x"]}},
                "properties":{},"anyOf":[{"required":[]},true],"dependentRequired":{"x":["y"]},
                "allOf":[{"properties":{"x":{"properties":{"s":{}}}},"required":["x"]}]}"#,
        );
        assert!(stripped.same(&expected), "{stripped}");
        assert_eq!(*strip(&schema, &[]), schema);
    }
}
