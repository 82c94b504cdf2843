//! Strategies for schemas, valid and not.

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_json::{Json, Object};

const NAMES: [&str; 6] = ["a", "b", "type", "properties", "x/y", "$ref"];
const TYPES: [&str; 9] =
    ["object", "array", "string", "number", "integer", "boolean", "null", "STRING", "file"];
const REFERENCES: [&str; 7] = [
    "#",
    "#/$defs/A",
    "#/$defs/B",
    "#/definitions/C",
    "#/properties/a",
    "#/anyOf/0/properties/a",
    "https://example.com/schema",
];

fn object(members: Vec<(&'static str, Json)>) -> Json {
    let mut object = Object::new();
    for (key, value) in members {
        object.insert(key, value);
    }
    Json::Object(object)
}

/// A value of any kind, mostly short.
pub fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (0..4_u64).prop_map(Json::from),
        prop::sample::select(vec!["x", "", "date", "uri", "integer"]).prop_map(Json::from),
        Just(json("1.5")),
        Just(json("{\"k\":[1]}")),
        Just(json("[]")),
    ]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(NAMES.to_vec())
}

fn named(schema: BoxedStrategy<Json>) -> impl Strategy<Value = Json> {
    vec((name(), schema), 0..4).prop_map(object)
}

/// A keyword with a value that is usually valid.
fn member(schema: BoxedStrategy<Json>) -> BoxedStrategy<(&'static str, Json)> {
    let kind = prop::sample::select(TYPES.to_vec()).prop_map(Json::from);
    let list = vec(schema.clone(), 0..4).prop_map(Json::Array);
    let number = (0..5_u64).prop_map(Json::from);
    let bounds = vec![
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxContains",
    ];
    let told = vec!["default", "const", "example", "x-own", "$comment", "required", "items"];
    let texts = vec!["description", "title", "format", "pattern", "$schema"];
    let flags = vec!["nullable", "uniqueItems", "additionalProperties", "deprecated", "items"];
    let schemas = vec!["items", "additionalProperties", "not", "if", "contains", "propertyNames"];
    let lists = vec!["anyOf", "oneOf", "allOf", "prefixItems", "items", "examples"];
    let maps = vec!["properties", "patternProperties", "$defs", "dependentSchemas"];
    prop_oneof![
        6 => kind.clone().prop_map(|kind| ("type", kind)),
        2 => vec(kind, 0..4).prop_map(|kinds| ("type", Json::Array(kinds))),
        4 => named(schema.clone()).prop_map(|map| ("properties", map)),
        2 => (prop::sample::select(maps), named(schema.clone())),
        3 => vec(name(), 0..3).prop_map(|names| ("required", Json::from(names))),
        4 => (prop::sample::select(schemas), schema.clone()),
        5 => (prop::sample::select(lists), list),
        3 => (prop::sample::select(bounds), number),
        2 => (prop::sample::select(told), scalar()),
        2 => vec(scalar(), 0..4).prop_map(|values| ("enum", Json::Array(values))),
        3 => (prop::sample::select(texts), scalar()),
        2 => (prop::sample::select(flags), any::<bool>().prop_map(Json::Bool)),
        3 => prop::sample::select(REFERENCES.to_vec()).prop_map(|name| ("$ref", Json::from(name))),
    ]
    .boxed()
}

/// A schema.
pub fn schema() -> BoxedStrategy<Json> {
    let leaf = prop_oneof![
        Just(Json::Bool(true)),
        Just(Json::Bool(false)),
        Just(Json::Object(Object::new())),
        Just(json("7")),
        prop::sample::select(TYPES.to_vec()).prop_map(|kind| object(vec![("type", kind.into())])),
        prop::sample::select(REFERENCES.to_vec())
            .prop_map(|name| object(vec![("$ref", name.into())])),
    ];
    leaf.prop_recursive(4, 48, 5, |inner| vec(member(inner.boxed()), 0..6).prop_map(object)).boxed()
}

/// A schema with definitions, usually of an object.
pub fn document() -> impl Strategy<Value = String> {
    (any::<bool>(), vec(member(schema()), 0..6), vec(schema(), 3)).prop_map(
        |(is_object, mut members, mut definitions)| {
            if is_object {
                members.retain(|(key, _)| *key != "type");
                members.insert(0, ("type", "object".into()));
            }
            members.extend(definitions.pop().map(|one| ("definitions", object(vec![("C", one)]))));
            let (a, b) = (definitions.pop().unwrap(), definitions.pop().unwrap());
            members.push(("$defs", object(vec![("A", a), ("B", b)])));
            object(members).to_string()
        },
    )
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}
