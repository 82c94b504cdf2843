//! Properties of lowering, over generated schemas: it is idempotent, and the result is within the
//! subset.

use std::collections::HashSet;

use proptest::prelude::*;
use toolwright_core::Json;
use toolwright_core::json::Object;
use toolwright_core::profile::{SchemaRule, Subset};
use toolwright_core::schema::{BUDGET, SchemaChange, lower, undo_nulls};

use toolwright_testing::generate::schema::{document, scalar, schema};

use super::{SUBSETS, json, rule};

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
