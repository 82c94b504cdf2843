//! Case 24: nulls that strict schemas require are removed again, and no others.

use toolwright_core::profile::Subset;
use toolwright_core::schema::undo_nulls;

use super::reference::RECURSIVE;
use super::{json, lowered, recorded};

/// Asserts which nulls are removed.
#[track_caller]
fn undone(subset: Subset, schema: &str, arguments: &str, expected: &str) {
    let lowered = lowered(subset, schema);
    let mut value = json(arguments);
    let changed = undo_nulls(&mut value, &lowered.nulls);
    assert_eq!(value.to_string(), expected, "{}", lowered.schema);
    assert_eq!(changed, arguments != expected);
}

#[test]
fn injected_nulls_are_removed() {
    for subset in [Subset::OpenaiStrict, Subset::DeepseekStrict] {
        undone(
            subset,
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":3},"c":{"enum":["x"]},"d":{"const":1}},"required":["a"]}"#,
            r#"{"a":null,"b":null,"c":null,"d":null}"#,
            r#"{"a":null}"#,
        );
    }
}

#[test]
fn nulls_within_arrays_and_definitions_are_removed() {
    for subset in [Subset::OpenaiStrict, Subset::DeepseekStrict] {
        let schema = recorded(1).to_string();
        undone(
            subset,
            &schema,
            r#"{"origin":"PEK","passengers":[{"name":"王","age":null},{"name":"Li","age":3}],"return_date":null,"max_price":null}"#,
            r#"{"origin":"PEK","passengers":[{"name":"王"},{"name":"Li","age":3}],"return_date":null,"max_price":null}"#,
        );
        undone(subset, &schema, r#"{"passengers":null,"x":null}"#, r#"{"x":null}"#);
    }
}

#[test]
fn nulls_that_the_schema_allows_stay() {
    for subset in [Subset::OpenaiStrict, Subset::DeepseekStrict] {
        undone(
            subset,
            r##"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/n"}]},"c":{"enum":["x",null]},"d":{},"e":{"type":"string","nullable":true},"f":{"not":{"type":"null"},"type":["string","null"]}},"$defs":{"n":{"type":"null"}}}"##,
            r#"{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null}"#,
            r#"{"a":null,"b":null,"c":null,"d":null,"e":null}"#,
        );
    }
}

#[test]
fn nulls_of_recursive_schemas_are_removed() {
    undone(
        Subset::OpenaiStrict,
        RECURSIVE,
        r#"{"tree":{"name":"a","next":{"name":"b","next":{"name":"c","next":null}}},"again":{"tree":null,"again":{"tree":{"name":"d","next":null},"again":null}}}"#,
        r#"{"tree":{"name":"a","next":{"name":"b","next":{"name":"c"}}},"again":{"again":{"tree":{"name":"d"}}}}"#,
    );
}

#[test]
fn branches_that_disagree_are_left_to_the_check() {
    undone(
        Subset::OpenaiStrict,
        r#"{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"k":{"const":1},"x":{"type":"string"},"y":{"type":"string"}},"required":["k"]},{"type":"object","properties":{"k":{"const":2},"x":{"type":"null"}},"required":["k"]}]}},"required":["u"]}"#,
        r#"{"u":{"k":2,"x":null,"y":null}}"#,
        r#"{"u":{"k":2,"x":null}}"#,
    );
}
