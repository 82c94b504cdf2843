//! Lowering to the other subsets.

use toolwright_core::profile::Subset;

use super::{check, json, lowered, report};

#[test]
fn strict_objects_are_closed() {
    check(
        Subset::OpenaiStrict,
        r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"number"}},"f":{"type":"object"},"o":{"properties":{"x":{"type":"string"}},"additionalProperties":true}},"required":["m","f","o"]}"#,
        r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":false,"properties":{}},"f":{"type":"object","properties":{},"additionalProperties":false},"o":{"type":"object","properties":{"x":{"type":["string","null"]}},"additionalProperties":false,"required":["x"]}},"required":["m","f","o"],"additionalProperties":false}"#,
        &[
            "major /properties/m/additionalProperties became false",
            "note /properties/m/properties added",
            "note /properties/f/properties added",
            "major /properties/f/additionalProperties added",
            "note /properties/o/type added",
            "note /properties/o/properties/x/type made nullable",
            "major /properties/o/additionalProperties became false",
            "note /properties/o/required of all properties",
            "note /additionalProperties added",
        ],
    );
}

#[test]
fn strict_openai_describes_dropped_keywords_in_text() {
    check(
        Subset::OpenaiStrict,
        r##"{"type":"object","properties":{"a":{"type":"string","not":{"const":"x"},"format":"uri","examples":["e"],"x-own":1},"b":{"allOf":[{"type":"integer","minimum":1},{"minimum":3,"maximum":9}],"default":null},"c":{"type":"array","items":{"type":"string"},"uniqueItems":true},"d":{}},"required":["a","b","c","d"],"patternProperties":{"^x":{"$ref":"#/$defs/s"}},"additionalProperties":false,"$defs":{"s":{"type":"string"}}}"##,
        r#"{"type":"object","properties":{"a":{"type":"string","description":"not: {\"const\":\"x\"}, format: uri, examples: [\"e\"]"},"b":{"type":"integer","minimum":3,"maximum":9},"c":{"type":"array","items":{"type":"string"},"description":"uniqueItems: true"},"d":{"type":["string","number","boolean","null"]}},"required":["a","b","c","d"],"additionalProperties":false,"$defs":{"s":{"type":"string"}}}"#,
        &[
            "minor /properties/a/not moved into the description",
            "minor /properties/a/format moved into the description",
            "minor /properties/a/examples moved into the description",
            "note /properties/a/x-own removed",
            "note /properties/a/description extended",
            "note /properties/b/allOf merged with what is around it",
            "note /properties/b/default removed",
            "minor /properties/c/uniqueItems moved into the description",
            "note /properties/c/description extended",
            "major /properties/d/type limited to simple types",
            "major /patternProperties removed",
        ],
    );
}

#[test]
fn strict_openai_reports_exceeded_limits() {
    let mut schema = r#"{"type":"object","properties":{"leaf":{"type":"string"}}}"#.to_owned();
    for _ in 0..10 {
        schema = format!(r#"{{"type":"object","properties":{{"properties":{schema}}}}}"#);
    }
    let deep = lowered(Subset::OpenaiStrict, &schema);
    assert!(report(&deep).contains("major  nests too deep"), "{}", report(&deep));
    let inner = json(&schema).pointer("/properties/properties").unwrap().to_string();
    assert!(!report(&lowered(Subset::OpenaiStrict, &inner)).contains("nests"));

    let many: Vec<String> = (0..5001).map(|n| format!(r#""p{n}":{{"type":"null"}}"#)).collect();
    let wide = format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(","));
    assert!(report(&lowered(Subset::OpenaiStrict, &wide)).contains("too many properties"));
}

#[test]
fn strict_anthropic_drops_bounds_and_splits_types() {
    check(
        Subset::AnthropicStrict,
        r#"{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":1,"default":2},"b":{"type":"array","items":{"type":"string"},"minItems":2},"c":{"oneOf":[{"const":"x","type":"string"},{"type":"integer"}]}}}"#,
        r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"integer","description":"minimum: 1"},{"type":"null"}],"default":2},"b":{"type":"array","items":{"type":"string"},"description":"minItems: 2"},"c":{"anyOf":[{"const":"x","type":"string"},{"type":"integer"}]}},"additionalProperties":false}"#,
        &[
            "note /properties/a/type split into anyOf",
            "minor /properties/a/minimum moved into the description",
            "note /properties/a/description extended",
            "minor /properties/b/minItems moved into the description",
            "note /properties/b/description extended",
            "note /properties/c/oneOf became anyOf",
            "note /additionalProperties added",
        ],
    );
}

#[test]
fn strict_deepseek_has_no_maps_and_no_untyped_values() {
    check(
        Subset::DeepseekStrict,
        r#"{"type":"object","properties":{"m":{"type":"object","description":"M","additionalProperties":{"type":"number"}},"l":{"type":["array","string"],"items":{"type":"string"},"maxLength":4}},"required":["m","l"]}"#,
        r#"{"type":"object","properties":{"m":{"type":"string","description":"M (an object, as JSON text)"},"l":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string","description":"maxLength: 4"}]}},"required":["m","l"],"additionalProperties":false}"#,
        &[
            "major /properties/m/type became text",
            "note /properties/m/description extended",
            "note /properties/l/type split into anyOf",
            "minor /properties/l/maxLength moved into the description",
            "note /properties/l/description extended",
            "note /additionalProperties added",
        ],
    );
}

#[test]
fn ollama_keeps_the_fields_of_its_structs() {
    check(
        Subset::Ollama,
        r##"{"type":"object","description":"R","title":"T","properties":{"a":{"$ref":"#/definitions/d"},"b":{"oneOf":[{"type":"string","minLength":1},{"type":"null"}]},"c":{"type":"array","items":{"$ref":"#/definitions/d"}},"d":{"type":"object","properties":{"x":{"type":"integer","maximum":5}},"required":["x"],"additionalProperties":false}},"minProperties":1,"definitions":{"d":{"type":"number","default":1}}}"##,
        r#"{"type":"object","properties":{"a":{"type":"number","description":"default: 1"},"b":{"anyOf":[{"type":"string","description":"minLength: 1"},{"type":"null"}]},"c":{"type":"array","items":{"type":"number","description":"default: 1"}},"d":{"type":"object","properties":{"x":{"type":"integer","description":"maximum: 5"}},"required":["x"]}}}"#,
        &[
            "minor /description removed",
            "note /title removed",
            "note /properties/a/$ref written out in place",
            "note /definitions/d/default moved into the description",
            "note /properties/a/description extended",
            "note /properties/b/oneOf became anyOf",
            "note /properties/b/oneOf/0/minLength moved into the description",
            "note /properties/b/oneOf/0/description extended",
            "note /properties/c/items/$ref written out in place",
            "note /properties/c/items/description extended",
            "note /properties/d/properties/x/maximum moved into the description",
            "note /properties/d/properties/x/description extended",
            "note /properties/d/additionalProperties removed",
            "major /minProperties removed",
            "note /definitions removed",
        ],
    );
}

#[test]
fn of_repeated_keys_the_last_counts() {
    check(
        Subset::OpenaiStrict,
        r#"{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"string","type":"number"}},"required":["a","a"],"additionalProperties":true,"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}"#,
        &["note /required of all properties"],
    );
}
