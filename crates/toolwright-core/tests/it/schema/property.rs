//! Properties of lowering, over generated schemas: it is idempotent, and the result is within the
//! subset.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use toolwright_core::Json;
use toolwright_core::json::Object;
use toolwright_core::profile::{SchemaRule, Subset};
use toolwright_core::schema::{BUDGET, SchemaChange, lower, undo_nulls};

use super::{SUBSETS, json, rule};

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

fn scalar() -> impl Strategy<Value = Json> {
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

fn schema() -> BoxedStrategy<Json> {
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

/// Asserts that every schema within a lowered schema is within the subset.
fn assert_within(subset: Subset, schema: &Json, root: bool) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{subset:?}: {schema}"));
    let keys: HashSet<&str> = object.keys().collect();
    assert_eq!(keys.len(), object.len(), "repeated keys in {schema}");
    for key in ["allOf", "oneOf", "not", "if", "patternProperties", "propertyNames", "prefixItems"]
    {
        assert!(!keys.contains(key), "{subset:?}: {key} in {schema}");
    }
    let strict = matches!(subset, Subset::OpenaiStrict | Subset::DeepseekStrict);
    let closed = strict || subset == Subset::AnthropicStrict;
    let gemini = subset == Subset::GeminiOpenapi;
    if keys.contains("$ref") {
        assert!(closed && subset != Subset::DeepseekStrict && keys.len() == 1, "{schema}");
        return;
    }
    let kinds: Vec<&str> = match object.get("type") {
        Some(Json::Array(kinds)) => {
            assert!(subset == Subset::Ollama || strict, "{subset:?}: {schema}");
            kinds.iter().filter_map(Json::as_str).collect()
        }
        Some(kind) => kind.as_str().into_iter().collect(),
        None => vec![],
    };
    if subset != Subset::Ollama {
        assert!(kinds.is_empty() == keys.contains("anyOf"), "{subset:?}: {schema}");
        assert!(
            kinds.iter().all(|kind| *kind == kind.to_uppercase()) == gemini || kinds.is_empty()
        );
        let is = |kind: &str| kinds.iter().any(|own| own.eq_ignore_ascii_case(kind));
        assert_eq!(is("array"), keys.contains("items"), "{subset:?}: {schema}");
        assert!(is("object") || !keys.contains("properties"), "{subset:?}: {schema}");
        if closed && is("object") {
            assert_eq!(object.get("additionalProperties"), Some(&Json::Bool(false)), "{schema}");
            let names: Vec<&str> =
                object.get("properties").unwrap().as_object().unwrap().keys().collect();
            let required = object.get("required").and_then(Json::as_array).unwrap_or_default();
            let required: HashSet<&str> = required.iter().filter_map(Json::as_str).collect();
            assert!(required.iter().all(|name| names.contains(name)), "{schema}");
            assert!(!strict || names.iter().all(|name| required.contains(name)), "{schema}");
            assert!(subset != Subset::DeepseekStrict || root || !names.is_empty(), "{schema}");
        }
    }
    if gemini {
        let values = object.get("enum").and_then(Json::as_array).unwrap_or_default();
        assert!(values.iter().all(|value| value.as_str().is_some()), "{schema}");
        assert!(!keys.contains("additionalProperties") && !keys.contains("const"), "{schema}");
    }
    for key in ["properties", "$defs", "definitions"] {
        let verbatim = subset == Subset::Ollama && key != "properties";
        let named = object.get(key).and_then(Json::as_object).filter(|_| !verbatim);
        for (_, schema) in named.into_iter().flat_map(Object::iter) {
            assert_within(subset, schema, false);
        }
    }
    for schema in object.get("anyOf").and_then(Json::as_array).unwrap_or_default() {
        assert_within(subset, schema, false);
    }
    if let Some(items) = object.get("items").filter(|_| subset != Subset::Ollama) {
        assert_within(subset, items, false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lowering_is_idempotent_and_within_the_subset(text in document(), root_union: bool, integer: bool) {
        let schema = json(&text);
        for subset in SUBSETS {
            let rule = SchemaRule { root_union, integer_as_number: integer, ..rule(subset) };
            let lowered = lower(&schema, &rule, true);
            prop_assert!(lowered.schema.to_string().len() < 100 * BUDGET);
            let mut pointers = HashSet::new();
            for change in &lowered.changes {
                prop_assert!(pointers.insert(&change.pointer), "{} twice", change.pointer);
                let parent = change.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(schema.pointer(parent).is_some(), "{subset:?}: {change:?}");
            }
            // A root that is not an object stays unchanged, and is reported each time.
            let is_left = |change: &SchemaChange| change.what == "left as it is";
            let left = lowered.changes.iter().any(is_left);
            if subset != Subset::Full && !left {
                assert_within(subset, &lowered.schema, true);
            }
            let mut again = lower(&lowered.schema, &rule, true);
            again.changes.retain(|change| !left || !is_left(change));
            prop_assert_eq!(&again.schema, &lowered.schema, "{:?} of {}", subset, lowered.schema);
            prop_assert_eq!(again.changes, vec![], "{:?} of {}", subset, lowered.schema);
        }
    }

    #[test]
    fn any_json_is_lowered_without_a_panic(value in scalar(), schema in schema()) {
        for subset in SUBSETS {
            for schema in [&value, &schema] {
                let lowered = lower(schema, &rule(subset), false);
                let mut arguments = value.clone();
                undo_nulls(&mut arguments, &lowered.nulls);
                prop_assert_eq!(lower(schema, &rule(subset), false), lowered);
            }
        }
    }
}
