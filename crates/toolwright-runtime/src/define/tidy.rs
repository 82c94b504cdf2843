//! Simplifies the schemas of `schemars` for models and vendors.
//!
//! | `schemars` writes | result | reason |
//! |---|---|---|
//! | `$ref` to a type that is used once, or is no object | inlined | small models and some templates do not resolve references |
//! | `"format": "uint8"`, `"int32"`, … | bounds, or nothing | vendors reject unknown formats |
//! | `true` for any value | `{}` | equivalent, and accepted by every vendor |
//! | `anyOf` of an enumeration and null | the enumeration with null | one level fewer |

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use toolwright_json::pointer::unescape;

/// Formats that correspond to bounds, or that a model cannot use.
const BOUNDS: [(&str, i64, i64); 6] = [
    ("int8", -128, 127),
    ("int16", -32_768, 32_767),
    ("int32", -2_147_483_648, 2_147_483_647),
    ("uint8", 0, 255),
    ("uint16", 0, 65_535),
    ("uint32", 0, 4_294_967_295),
];
const NOISE: [&str; 8] = ["int", "int64", "int128", "uint", "uint64", "uint128", "float", "double"];

/// Keywords of schemas that are too large to be repeated.
const LARGE: [&str; 4] = ["properties", "oneOf", "anyOf", "prefixItems"];

/// Simplifies a root schema.
pub(super) fn tidy(mut schema: Value) -> Value {
    let definitions = match schema.as_object_mut().and_then(|root| root.shift_remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut place = Placing { kept: Map::new(), uses: HashMap::new(), definitions };
    count(&schema, &mut place.uses);
    for definition in place.definitions.values() {
        count(definition, &mut place.uses);
    }
    place.walk(&mut schema, &mut Vec::new());
    each(&mut schema, &mut simplify);
    place.kept.values_mut().for_each(|kept| each(kept, &mut simplify));
    if let (Some(root), false) = (schema.as_object_mut(), place.kept.is_empty()) {
        root.insert("$defs".to_owned(), Value::Object(place.kept));
    }
    schema
}

/// Inlines definitions.
struct Placing {
    definitions: Map<String, Value>,
    /// Number of references to each definition
    uses: HashMap<String, usize>,
    /// Definitions that stay
    kept: Map<String, Value>,
}

impl Placing {
    /// Replaces the references of a schema. `open` are the definitions that contain it.
    fn walk(&mut self, schema: &mut Value, open: &mut Vec<String>) {
        if let Some(name) = reference(schema) {
            self.place(&name, schema, open);
            return;
        }
        children(schema, &mut |child| self.walk(child, open));
    }

    fn place(&mut self, name: &str, schema: &mut Value, open: &mut Vec<String>) {
        if self.kept.contains_key(name) {
            return;
        }
        let Some(definition) = self.definitions.get(name) else { return };
        if open.iter().any(|outer| outer == name) {
            // Recursive: the outermost use must stay a reference too.
            self.uses.insert(name.to_owned(), usize::MAX);
            return;
        }
        let mut definition = definition.clone();
        open.push(name.to_owned());
        self.walk(&mut definition, open);
        open.pop();
        let often = self.uses.get(name).is_some_and(|uses| *uses > 1);
        let recursive = self.uses.get(name) == Some(&usize::MAX);
        let large = LARGE.iter().any(|word| definition.get(word).is_some());
        if recursive || (often && large) || !merge(schema, &definition) {
            self.kept.insert(name.to_owned(), definition);
        }
    }
}

/// Returns the name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<String> {
    let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    Some(unescape(name).into_owned())
}

/// Replaces a reference by its definition. Annotations beside the reference take precedence;
/// returns false if it has other keywords.
fn merge(schema: &mut Value, definition: &Value) -> bool {
    const NOTES: [&str; 3] = ["description", "default", "title"];
    let (Some(place), Some(definition)) = (schema.as_object_mut(), definition.as_object()) else {
        return false;
    };
    let meet = |key: &String| place.contains_key(key) && !NOTES.contains(&key.as_str());
    if definition.keys().any(meet) {
        return false;
    }
    place.shift_remove("$ref");
    let said = std::mem::replace(place, definition.clone());
    place.extend(said);
    true
}

/// Counts the references in a schema.
fn count(schema: &Value, uses: &mut HashMap<String, usize>) {
    if let Some(name) = reference(schema) {
        *uses.entry(name).or_default() += 1;
    }
    match schema {
        Value::Array(items) => items.iter().for_each(|item| count(item, uses)),
        Value::Object(members) => members.values().for_each(|member| count(member, uses)),
        _ => {}
    }
}

/// Visits a schema and its subschemas, innermost first.
fn each(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    children(schema, &mut |child| each(child, visit));
    if *schema == Value::Bool(true) {
        *schema = Value::Object(Map::new());
    }
    if let Some(schema) = schema.as_object_mut() {
        visit(schema);
    }
}

/// Visits the direct subschemas of a schema.
fn children(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    const ONE: [&str; 6] = [
        "items",
        "additionalProperties",
        "propertyNames",
        "contains",
        "not",
        "unevaluatedProperties",
    ];
    const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
    const MAPS: [&str; 3] = ["properties", "patternProperties", "$defs"];
    let Some(schema) = schema.as_object_mut() else { return };
    for (key, value) in schema {
        match value {
            Value::Array(items) if LISTS.contains(&key.as_str()) => {
                items.iter_mut().for_each(&mut *visit);
            }
            Value::Object(members) if MAPS.contains(&key.as_str()) => {
                members.values_mut().for_each(&mut *visit);
            }
            Value::Object(_) if ONE.contains(&key.as_str()) => visit(value),
            _ => {}
        }
    }
}

fn simplify(schema: &mut Map<String, Value>) {
    bound(schema);
    if let Some(nullable) = nullable(schema) {
        schema.shift_remove("anyOf");
        let said = std::mem::replace(schema, nullable);
        schema.extend(said);
    }
}

/// Converts the format of a number to bounds.
fn bound(schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
    if let Some((_, least, most)) = BOUNDS.iter().find(|(name, ..)| *name == format) {
        let (least, most) = (json!(least), json!(most));
        schema.shift_remove("format");
        schema.entry("minimum").or_insert(least);
        schema.entry("maximum").or_insert(most);
    } else if NOISE.contains(&format) {
        schema.shift_remove("format");
    }
}

/// Converts `anyOf` of an enumeration and null to an enumeration with null.
fn nullable(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let [one, null] = schema.get("anyOf")?.as_array()?.as_slice() else { return None };
    if *null != json!({"type": "null"}) {
        return None;
    }
    let mut one = one.as_object()?.clone();
    let kind = one.get("type")?.as_str()?.to_owned();
    one.get_mut("enum")?.as_array_mut()?.push(Value::Null);
    one.insert("type".to_owned(), json!([kind, "null"]));
    Some(one)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::tidy;

    #[test]
    fn what_is_said_at_a_place_goes_before_what_is_said_of_the_type() {
        let schema = json!({
            "properties": {"a": {"$ref": "#/$defs/A", "description": "here"}},
            "$defs": {"A": {"type": "string", "description": "there"}},
        });
        let tidied = json!({"properties": {"a": {"type": "string", "description": "here"}}});
        assert_eq!(tidy(schema), tidied);
    }

    #[test]
    fn a_small_type_is_written_wherever_it_is_used_and_a_large_one_once() {
        let small = json!({"$ref": "#/$defs/Small"});
        let large = json!({"$ref": "#/$defs/Large"});
        let schema = json!({
            "prefixItems": [small, small, large, large],
            "$defs": {
                "Small": {"type": "string", "enum": ["a"]},
                "Large": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/Inner"}}},
                "Inner": {"type": "object", "properties": {}},
            },
        });
        let small = json!({"type": "string", "enum": ["a"]});
        let inner = json!({"type": "object", "properties": {}});
        let tidied = json!({
            "prefixItems": [small, small, large, large],
            "$defs": {"Large": {"type": "object", "properties": {"inner": inner}}},
        });
        assert_eq!(tidy(schema), tidied);
    }

    #[test]
    fn types_that_contain_each_other_end() {
        let schema = json!({
            "items": {"$ref": "#/$defs/A"},
            "$defs": {
                "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
                "B": {"properties": {"a": {"$ref": "#/$defs/A"}}},
            },
        });
        let b = json!({"properties": {"a": {"$ref": "#/$defs/A"}}});
        let tidied = json!({
            "items": {"$ref": "#/$defs/A"},
            "$defs": {"A": {"properties": {"b": b}}},
        });
        assert_eq!(tidy(schema), tidied);
    }

    #[test]
    fn words_that_would_be_lost_keep_the_reference() {
        let schema = json!({
            "items": {"$ref": "#/$defs/A", "minLength": 2},
            "$defs": {"A": {"type": "string", "minLength": 1}},
        });
        assert_eq!(tidy(schema.clone()), schema);
    }

    #[test]
    fn formats_of_numbers_become_bounds_that_are_no_wider() {
        let schema = json!({"type": "integer", "format": "int16", "minimum": 0});
        assert_eq!(tidy(schema), json!({"type": "integer", "minimum": 0, "maximum": 32767}));
        let schema = json!({"type": "integer", "format": "int64"});
        assert_eq!(tidy(schema), json!({"type": "integer"}));
        let schema = json!({"type": "string", "format": "date-time"});
        assert_eq!(tidy(schema.clone()), schema);
    }
}
