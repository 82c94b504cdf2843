//! Case 22: schemas that Gemini rejects are rewritten.

use toolwright_core::profile::Subset;

use super::check;

#[test]
fn gemini_schemas_have_no_additional_properties() {
    check(
        Subset::GeminiOpenapi,
        r#"{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}},"b":{"type":"object","properties":{},"additionalProperties":true}},"additionalProperties":false}"#,
        r#"{"type":"OBJECT","properties":{"a":{"type":"OBJECT","description":"additionalProperties: {\"type\":\"string\"}"},"b":{"type":"OBJECT","properties":{}}}}"#,
        &[
            "note /properties/a/additionalProperties moved into the description",
            "note /properties/a/description extended",
            "note /properties/b/additionalProperties removed",
            "note /additionalProperties removed",
        ],
    );
}

#[test]
fn type_lists_become_a_flag_or_branches() {
    check(
        Subset::GeminiOpenapi,
        r#"{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":3},"b":{"type":["string","integer","null"],"description":"B","maxLength":3,"minimum":1},"c":{"type":"null"}}}"#,
        r#"{"type":"OBJECT","properties":{"a":{"type":"STRING","maxLength":3,"nullable":true},"b":{"anyOf":[{"type":"STRING","maxLength":3},{"type":"INTEGER","minimum":1}],"description":"B","nullable":true},"c":{"type":"NULL"}}}"#,
        &["note /properties/a/type rewritten", "note /properties/b/type split into anyOf"],
    );
}

#[test]
fn branches_without_type_get_one() {
    check(
        Subset::GeminiOpenapi,
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"oneOf":[{"required":["x"]},{"required":["y"]}]},"b":{"anyOf":[{"enum":["u"]},{"const":"v"}]}}}"#,
        r#"{"type":"OBJECT","properties":{"a":{"anyOf":[{"type":"OBJECT","properties":{"x":{"type":"STRING"},"y":{"type":"STRING"}},"required":["x"]},{"type":"OBJECT","properties":{"x":{"type":"STRING"},"y":{"type":"STRING"}},"required":["y"]}]},"b":{"anyOf":[{"type":"STRING","enum":["u"]},{"type":"STRING","enum":["v"]}]}}}"#,
        &[
            "note /properties/a/oneOf became anyOf",
            "note /properties/a/type said in each branch",
            "note /properties/a/properties said in each branch",
            "note /properties/b/anyOf/0/type added",
            "note /properties/b/anyOf/1/type added",
            "note /properties/b/anyOf/1/const became enum",
        ],
    );
}

#[test]
fn arrays_without_items_get_some() {
    check(
        Subset::GeminiOpenapi,
        r#"{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"string","items":{"type":"string"}},"c":{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}]}}}"#,
        r#"{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"}]}},"b":{"type":"STRING"},"c":{"type":"ARRAY","items":{"type":"NUMBER"},"description":"prefixItems: [{\"type\":\"number\"},{\"type\":\"number\"}]"}}}"#,
        &[
            "major /properties/a/items limited to simple types",
            "note /properties/b/items removed",
            "note /properties/c/prefixItems moved into the description",
            "note /properties/c/description extended",
        ],
    );
}

#[test]
fn enumerations_are_of_strings() {
    check(
        Subset::GeminiOpenapi,
        r#"{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]},"b":{"enum":["x",null]},"c":{"const":7,"description":"C"}},"required":["a","z"]}"#,
        r#"{"type":"OBJECT","properties":{"a":{"type":"INTEGER","description":"enum: [1,2]"},"b":{"type":"STRING","enum":["x"],"nullable":true},"c":{"type":"INTEGER","description":"C (const: 7)"}},"required":["a"]}"#,
        &[
            "note /properties/a/enum moved into the description",
            "note /properties/a/description extended",
            "note /properties/b/type added",
            "note /properties/b/enum without null",
            "note /properties/c/type added",
            "note /properties/c/const moved into the description",
            "note /properties/c/description extended",
            "major /required without what is no property",
        ],
    );
}
