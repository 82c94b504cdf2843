//! Lowering of schemas: the schema that each target receives, what is reported, and what is undone.

mod containment;
mod gemini;
mod nulls;
pub mod property;
mod reference;
mod strict;

use std::fmt::Write;

use toolwright_core::Json;
use toolwright_core::loss::Severity;
use toolwright_core::profile::{SchemaRule, Subset};
use toolwright_core::schema::{Lowered, lower};

const SUBSETS: [Subset; 6] = [
    Subset::Full,
    Subset::OpenaiStrict,
    Subset::DeepseekStrict,
    Subset::AnthropicStrict,
    Subset::Ollama,
    Subset::GeminiOpenapi,
];

fn rule(subset: Subset) -> SchemaRule {
    SchemaRule { subset, strict: subset, root_union: false, integer_as_number: false }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn lowered(subset: Subset, schema: &str) -> Lowered {
    lower(&json(schema), &rule(subset), false)
}

/// The changes as lines: severity, pointer, what.
fn report(lowered: &Lowered) -> String {
    let mut out = String::new();
    for change in &lowered.changes {
        let word = change.severity.word();
        writeln!(out, "{word} {} {}", change.pointer, change.what).unwrap();
    }
    out
}

#[track_caller]
fn check(subset: Subset, schema: &str, expected: &str, changes: &[&str]) {
    let lowered = lowered(subset, schema);
    assert_eq!(lowered.schema.to_string(), json(expected).to_string());
    assert_eq!(report(&lowered).lines().collect::<Vec<_>>(), changes);
    let again = lower(&lowered.schema, &rule(subset), false);
    assert_eq!((again.schema, again.changes), (lowered.schema, Vec::new()), "not settled");
}

/// The schemas of the recorded tools.
fn recorded(tool: usize) -> Json {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/anthropic/captured/anthropic_tools.json"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let pointer = format!("/body/tools/{tool}/input_schema");
    json(&text).pointer(&pointer).unwrap().clone()
}

#[test]
fn recorded_schemas_for_openai() {
    let days = lower(&recorded(0), &rule(Subset::OpenaiStrict), true);
    assert_eq!(
        days.schema.pointer("/properties/unit").unwrap().to_string(),
        r#"{"type":["string","null"],"enum":["celsius","fahrenheit",null],"description":"Temperature unit 温度单位"}"#
    );
    let flights = lower(&recorded(1), &rule(Subset::OpenaiStrict), true);
    assert_eq!(
        report(&flights).lines().collect::<Vec<_>>(),
        [
            "note /properties/passengers/type made nullable",
            "note /required of all properties",
            "note /$defs/Passenger/properties/age/type made nullable",
            "note /$defs/Passenger/required of all properties",
        ]
    );
    // References, patterns and bounds stay; nullable members stay unchanged.
    for pointer in [
        "/properties/passengers/items",
        "/properties/passengers/minItems",
        "/properties/origin",
        "/properties/return_date",
        "/properties/max_price",
    ] {
        assert_eq!(flights.schema.pointer(pointer), recorded(1).pointer(pointer), "{pointer}");
    }
}

#[test]
fn recorded_schemas_for_deepseek() {
    let flights = lower(&recorded(1), &rule(Subset::DeepseekStrict), true);
    assert_eq!(
        flights.schema.pointer("/properties/passengers").unwrap().to_string(),
        r#"{"anyOf":[{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":["integer","null"]}},"required":["name","age"],"additionalProperties":false},"description":"minItems: 1"},{"type":"null"}]}"#
    );
    let strict = json(
        r#"{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city","unit"],"additionalProperties":false}"#,
    );
    let lowered = lower(&strict, &rule(Subset::DeepseekStrict), true);
    assert_eq!((lowered.schema, lowered.changes), (strict, Vec::new()));
}

#[test]
fn recorded_schemas_for_anthropic() {
    let whole = lower(&recorded(1), &rule(Subset::Full), false);
    assert_eq!((whole.schema, whole.changes), (recorded(1), Vec::new()));
    let flights = lower(&recorded(1), &rule(Subset::AnthropicStrict), true);
    assert_eq!(
        report(&flights).lines().collect::<Vec<_>>(),
        [
            "minor /properties/origin/pattern moved into the description",
            "note /properties/origin/description extended",
            "minor /properties/destination/pattern moved into the description",
            "note /properties/destination/description extended",
            "note /properties/return_date/type split into anyOf",
        ]
    );
    assert_eq!(
        flights.schema.pointer("/properties/origin/description"),
        Some(&json(r#""IATA code 出发机场 (pattern: ^[A-Z]{3}$)""#))
    );
    assert!(flights.nulls.is_empty(), "optional properties stay optional");
}

#[test]
fn recorded_schemas_for_ollama() {
    let flights = lower(&recorded(1), &rule(Subset::Ollama), false);
    let schema = &flights.schema;
    assert_eq!(
        schema.pointer("/properties/max_price"),
        recorded(1).pointer("/properties/max_price")
    );
    assert_eq!(schema.pointer("/$defs"), recorded(1).pointer("/$defs"));
    assert_eq!(
        schema.pointer("/properties/passengers").unwrap().to_string(),
        r##"{"type":"array","items":{"$ref":"#/$defs/Passenger"},"description":"minItems: 1"}"##
    );
    assert_eq!(schema.get("additionalProperties"), None);
}

#[test]
fn recorded_schemas_for_gemini() {
    let flights = lower(&recorded(1), &rule(Subset::GeminiOpenapi), false);
    assert_eq!(
        flights.schema.to_string(),
        r#"{"type":"OBJECT","properties":{"origin":{"type":"STRING","pattern":"^[A-Z]{3}$","description":"IATA code 出发机场"},"destination":{"type":"STRING","pattern":"^[A-Z]{3}$"},"departure_date":{"type":"STRING","format":"date"},"return_date":{"type":"STRING","format":"date","nullable":true},"passengers":{"type":"ARRAY","minItems":1,"items":{"type":"OBJECT","properties":{"name":{"type":"STRING"},"age":{"type":"INTEGER"}},"required":["name"]}},"max_price":{"type":"NUMBER","nullable":true}},"required":["origin","destination","departure_date"]}"#
    );
    assert_eq!(
        report(&flights).lines().collect::<Vec<_>>(),
        [
            "note /properties/return_date/type rewritten",
            "note /properties/passengers/items/$ref written out in place",
            "note /$defs/Passenger/additionalProperties removed",
            "note /properties/max_price/anyOf null became nullable",
            "note /additionalProperties removed",
            "note /$defs removed",
        ]
    );
    // The schemas that Google's client sends are within the subset.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/gemini/captured/gemini_openapi_parameters.json"
    );
    let sent = json(&std::fs::read_to_string(path).unwrap());
    let sent = sent.pointer("/body/tools/0/functionDeclarations/0/parameters").unwrap();
    let lowered = lower(sent, &rule(Subset::GeminiOpenapi), false);
    assert!(lowered.changes.is_empty());
    assert_eq!(
        lowered.schema.to_string(),
        sent.to_string().replace("property_ordering", "propertyOrdering")
    );
}

#[test]
fn unions_at_the_root_become_one_object() {
    check(
        Subset::Full,
        r##"{"description":"D","oneOf":[{"type":"object","properties":{"kind":{"const":"c"},"r":{"type":"number"}},"required":["kind","r"],"additionalProperties":false},{"$ref":"#/$defs/S"},{"type":"null"}],"$defs":{"S":{"type":"object","title":"S","properties":{"kind":{"const":"s"},"side":{"$ref":"#/oneOf/0/properties/r"}},"required":["kind"],"additionalProperties":false}}}"##,
        r##"{"type":"object","description":"D (one of these sets of properties: (kind, r) or (kind))","$defs":{"S":{"type":"object","title":"S","properties":{"kind":{"const":"s"},"side":{"$ref":"#/properties/r"}},"required":["kind"],"additionalProperties":false}},"properties":{"kind":{"anyOf":[{"const":"c"},{"const":"s"}]},"r":{"type":"number"},"side":{"$ref":"#/properties/r"}},"required":["kind"],"additionalProperties":false}"##,
        &[
            "major /oneOf merged into one object",
            "note /oneOf/1/$ref written out in place",
            "major /oneOf/2 removed",
            "minor /$defs/S/title removed",
            "note /required of all variants",
            "note /description extended",
            "note /$defs/S/properties/side/$ref redirected",
        ],
    );
    check(
        Subset::Full,
        r#"{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"minLength":2},"b":{}},"required":["b","a"]}],"required":["b"]}"#,
        r#"{"type":"object","required":["b","a"],"properties":{"a":{"allOf":[{"type":"string"},{"minLength":2}]},"b":{}}}"#,
        &["note /allOf merged into one object", "note /required of all variants"],
    );
    // Pointers of later steps are those of the original.
    let lowered = lowered(
        Subset::AnthropicStrict,
        r#"{"anyOf":[{"properties":{"a":{"type":"integer","minimum":1}}},{"properties":{"b":{"type":"integer"}}}]}"#,
    );
    assert!(
        report(&lowered).contains("minor /anyOf/0/properties/a/minimum moved"),
        "{}",
        report(&lowered)
    );
}

#[test]
fn unions_at_the_root_stay_where_they_are_allowed() {
    let rule = SchemaRule { root_union: true, ..rule(Subset::Full) };
    let schema = json(r#"{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{}}}"#);
    let lowered = lower(&schema, &rule, false);
    assert_eq!((lowered.schema, lowered.changes), (schema, Vec::new()));
}

#[test]
fn roots_become_objects() {
    let empty = r#"{"type":"object","properties":{}}"#;
    check(Subset::Full, "true", empty, &["note  became an object"]);
    check(Subset::Full, "{}", empty, &["note /type added"]);
    check(
        Subset::Full,
        r#"{"properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{}}}"#,
        &["note /type added"],
    );
    check(
        Subset::Full,
        r#"{"type":["null","object"]}"#,
        r#"{"type":"object"}"#,
        &["note /type became object"],
    );
    for schema in [r#"{"type":"string"}"#, r#"{"enum":[1]}"#, "7", "null", "[]", "false"] {
        for subset in SUBSETS {
            let lowered = lowered(subset, schema);
            assert!(lowered.changes.iter().any(|c| c.severity == Severity::Major), "{schema}");
        }
        assert_eq!(lowered(Subset::Full, schema).schema, json(schema));
    }
}

#[test]
fn integer_maps_to_number_only_when_asked() {
    let schema = json(
        r#"{"type":"object","properties":{"type":{"type":"integer","enum":["integer"]},"n":{"type":["integer","number","null"]},"d":{"type":"object","default":{"type":"integer"}}}}"#,
    );
    let plain = lower(&schema, &rule(Subset::Full), false);
    assert_eq!((&plain.schema, plain.changes.len()), (&schema, 0));
    let asked = SchemaRule { integer_as_number: true, ..rule(Subset::Full) };
    let lowered = lower(&schema, &asked, false);
    assert_eq!(
        lowered.schema.to_string(),
        r#"{"type":"object","properties":{"type":{"type":"number","enum":["integer"]},"n":{"type":["number","null"]},"d":{"type":"object","default":{"type":"integer"}}}}"#
    );
    assert_eq!(
        report(&lowered).lines().collect::<Vec<_>>(),
        [
            "major /properties/type/type integer became number",
            "major /properties/n/type integer became number",
        ]
    );
}

#[test]
fn strictness_chooses_the_subset() {
    let rule = SchemaRule { strict: Subset::OpenaiStrict, ..rule(Subset::Full) };
    let schema = json(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    assert_eq!(lower(&schema, &rule, false).changes.len(), 0);
    assert_eq!(lower(&schema, &rule, true).changes.len(), 3);
}
