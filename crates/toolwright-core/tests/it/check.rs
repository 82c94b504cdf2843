//! Validation of values against schemas: which values are accepted, and the messages for those that
//! are not.

use toolwright_core::Json;
use toolwright_core::schema::{Check, SchemaError, Violation};

use toolwright_testing::fixtures::lines;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn check(schema: &str) -> Check {
    Check::compile(&json(schema)).unwrap()
}

fn violations(schema: &str, value: &str) -> Vec<Violation> {
    let (check, value) = (check(schema), json(value));
    let found = check.violations(&value);
    assert_eq!(found.is_empty(), check.accepts(&value), "{schema} {value}");
    assert_eq!(found, check.violations(&value), "not the same twice");
    found
}

fn one(schema: &str, value: &str) -> Violation {
    let mut found = violations(schema, value);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn recorded_arguments_are_validated_as_expected() {
    for case in lines("args/valid.jsonl") {
        let check = Check::compile(case.get("schema").unwrap()).unwrap();
        assert!(check.accepts(case.get("args").unwrap()), "{}", case.get("id").unwrap());
    }
    let mut count = 0;
    for case in lines("args/mutated.jsonl") {
        let Some(arguments) = case.get("args") else { continue };
        let check = Check::compile(case.get("schema").unwrap()).unwrap();
        let found = check.violations(arguments);
        let mut found: Vec<(&str, &str)> =
            found.iter().map(|found| (found.path.as_str(), found.keyword.as_str())).collect();
        let mut expected: Vec<(&str, &str)> = case
            .get("errors")
            .and_then(Json::as_array)
            .unwrap()
            .iter()
            .map(|error| (error.get("path").unwrap(), error.get("keyword").unwrap()))
            .map(|(path, keyword)| (path.as_str().unwrap(), keyword.as_str().unwrap()))
            .map(|(path, keyword)| (if path == "/" { "" } else { path }, keyword))
            .collect();
        for list in [&mut found, &mut expected] {
            list.sort_unstable();
            list.dedup();
        }
        assert_eq!(found, expected, "{}", case.get("id").unwrap());
        count += 1;
    }
    assert!(count > 1600);
}

#[test]
fn every_keyword_reports_the_value_and_what_is_accepted() {
    for (schema, value, keyword, got, accepted) in [
        (r#"{"type":"integer"}"#, "\"x\"", "type", "\"x\"", "\"integer\""),
        (r#"{"type":["integer","null"]}"#, "1.5", "type", "1.5", r#"["integer","null"]"#),
        (r#"{"enum":["a","b"]}"#, "\"A\"", "enum", "\"A\"", r#"["a","b"]"#),
        (r#"{"const":1}"#, "2", "const", "2", "1"),
        (r#"{"pattern":"^a"}"#, "\"b\"", "pattern", "\"b\"", "\"^a\""),
        (r#"{"minLength":3}"#, "\"天气\"", "minLength", "\"天气\"", "3"),
        (r#"{"maxLength":1}"#, "\"天气\"", "maxLength", "\"天气\"", "1"),
        (r#"{"minimum":3}"#, "2", "minimum", "2", "3"),
        (r#"{"maximum":3}"#, "3.5", "maximum", "3.5", "3"),
        (r#"{"exclusiveMinimum":3}"#, "3.0", "exclusiveMinimum", "3.0", "3"),
        (r#"{"exclusiveMaximum":3}"#, "3", "exclusiveMaximum", "3", "3"),
        (r#"{"multipleOf":0.01}"#, "0.015", "multipleOf", "0.015", "0.01"),
        (r#"{"minItems":1}"#, "[]", "minItems", "\"array\"", "1"),
        (r#"{"maxItems":1}"#, "[1,2]", "maxItems", "\"array\"", "1"),
        (r#"{"minProperties":1}"#, "{}", "minProperties", "\"object\"", "1"),
        (r#"{"maxProperties":0}"#, r#"{"a":1}"#, "maxProperties", "\"object\"", "0"),
        (
            r#"{"anyOf":[{"type":"integer"},{"type":"array","items":{"enum":["a"]}}]}"#,
            "\"x\"",
            "anyOf",
            "\"x\"",
            r#"["integer","array of one of \"a\""]"#,
        ),
        (
            r##"{"$defs":{"p":{"type":"object","required":["x"]}},"oneOf":[{"$ref":"#/$defs/p"},{"const":null}]}"##,
            "1",
            "oneOf",
            "1",
            r#"["object with 'x'","null"]"#,
        ),
        (r#"{"contains":{"type":"integer"}}"#, "[]", "contains", "\"array\"", "\"integer\""),
    ] {
        let found = one(schema, value);
        assert_eq!(found.keyword, keyword);
        assert_eq!(found.got, Some(json(got)), "{keyword}");
        assert_eq!(found.accepted, Some(json(accepted)), "{keyword}");
        assert_eq!(found.path, "");
        assert!(json(schema).pointer(&found.schema_path).is_some(), "{}", found.schema_path);
        assert!(!found.message.contains("天气"), "{}", found.message);
    }
}

#[test]
fn the_other_keywords_are_reported_with_their_path() {
    for (schema, value, path, keyword, schema_path) in [
        (r#"{"uniqueItems":true}"#, "[1,1.0]", "", "uniqueItems", "/uniqueItems"),
        (r#"{"not":{"type":"string"}}"#, "\"x\"", "", "not", "/not"),
        (r#"{"items":{"type":"string"}}"#, r#"["a",1]"#, "/1", "type", "/items/type"),
        (
            r#"{"prefixItems":[{"type":"string"}],"items":false}"#,
            r#"["a",1]"#,
            "",
            "items",
            "/items",
        ),
        (r#"{"prefixItems":[{"type":"string"}]}"#, "[1]", "/0", "type", "/prefixItems/0/type"),
        (
            r#"{"dependentRequired":{"a":["b"]}}"#,
            r#"{"a":1}"#,
            "",
            "dependentRequired",
            "/dependentRequired",
        ),
        (
            r#"{"dependentSchemas":{"a":{"required":["b"]}}}"#,
            r#"{"a":1}"#,
            "",
            "required",
            "/dependentSchemas/a/required",
        ),
        (
            r#"{"propertyNames":{"pattern":"^a"}}"#,
            r#"{"b":1}"#,
            "",
            "pattern",
            "/propertyNames/pattern",
        ),
        (
            r#"{"properties":{"a":true},"unevaluatedProperties":false}"#,
            r#"{"b":1}"#,
            "",
            "unevaluatedProperties",
            "/unevaluatedProperties",
        ),
        (r#"{"unevaluatedItems":false}"#, "[1]", "", "unevaluatedItems", "/unevaluatedItems"),
        (
            r#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#,
            r#"{"a":1}"#,
            "",
            "required",
            "/then/required",
        ),
        (
            r#"{"if":{"required":["a"]},"else":{"minProperties":1}}"#,
            "{}",
            "",
            "minProperties",
            "/else/minProperties",
        ),
        (
            r#"{"properties":{"items":false}}"#,
            r#"{"items":1}"#,
            "/items",
            "properties",
            "/properties/items",
        ),
        (r#"{"contains":{"const":1},"maxContains":1}"#, "[1,1]", "", "maxContains", "/maxContains"),
        (
            r##"{"properties":{"a/b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"minimum":1}}}"##,
            r#"{"a/b":0}"#,
            "/a~1b",
            "minimum",
            "/$defs/n/minimum",
        ),
    ] {
        let found = one(schema, value);
        assert_eq!((found.path.as_str(), found.keyword.as_str()), (path, keyword), "{schema}");
        assert_eq!(found.schema_path, schema_path, "{schema}");
    }
}

#[test]
fn similar_names_are_suggested() {
    let schema = r#"{"properties":{"travel_from":true,"date":true},"additionalProperties":false}"#;
    let found = one(schema, r#"{"travelFrom":1,"zz":2,"date":3}"#);
    assert_eq!((found.path.as_str(), found.keyword.as_str()), ("", "additionalProperties"));
    assert!(found.message.contains("'travelFrom' (did you mean 'travel_from'?)"), "{found:?}");
    assert!(found.message.contains("'zz'"), "{found:?}");
    assert_eq!(found.accepted, Some(json(r#"["travel_from","date"]"#)));
    let found = one(r#"{"enum":["celsius","fahrenheit"]}"#, "\"Celcius\"");
    assert!(found.message.contains("did you mean 'celsius'?"), "{found:?}");
    let found = one(r#"{"required":["city"]}"#, "{}");
    assert_eq!((found.message.as_str(), found.got), ("'city' is missing", None));
}

#[test]
fn numbers_are_compared_by_their_digits() {
    let accepts = |schema: &str, value: &str| check(schema).accepts(&json(value));
    for value in ["1234567890123456789012345", "1.0", "1e400", "-0.0", "18446744073709551616"] {
        assert!(accepts(r#"{"type":"integer"}"#, value), "{value}");
    }
    assert!(!accepts(r#"{"type":"integer"}"#, "12345678901234567890.5"));
    assert!(!accepts(r#"{"maximum":9007199254740992}"#, "9007199254740993"));
    assert!(!accepts(r#"{"maximum":0.1}"#, "0.10000000000000000001"));
    assert!(
        !accepts(r#"{"maximum":1e400}"#, "1.1e400") && accepts(r#"{"maximum":1e400}"#, "1e400")
    );
    assert!(!accepts(r#"{"const":1234567890123456789012345}"#, "1234567890123456789012346"));
    assert!(accepts(r#"{"const":1234567890123456789012345}"#, "1234567890123456789012345.0"));
    assert!(!accepts(r#"{"enum":[18446744073709551617, 1]}"#, "18446744073709551616"));
    assert!(accepts(r#"{"enum":[5, 0.10]}"#, "5.0") && accepts(r#"{"enum":[5, 0.10]}"#, "0.1"));
    assert!(accepts(r#"{"multipleOf":0.1}"#, "0.3") && !accepts(r#"{"multipleOf":3}"#, "1e400"));
    let found = one(r#"{"maximum":18446744073709551616}"#, "18446744073709551617");
    assert_eq!(found.got, Some(json("18446744073709551617")));
    assert_eq!(found.accepted, Some(json("18446744073709551616")));
}

#[test]
fn violations_are_in_the_order_of_the_value() {
    let schema = r#"{"items":{"type":"integer"},"maxItems":1}"#;
    let value: Vec<String> = (0..12).map(|_| "\"x\"".to_owned()).collect();
    let paths: Vec<String> = violations(schema, &format!("[{}]", value.join(",")))
        .into_iter()
        .map(|found| found.path)
        .collect();
    let expected: Vec<String> =
        std::iter::once(String::new()).chain((0..12).map(|index| format!("/{index}"))).collect();
    assert_eq!(paths, expected);
}

#[test]
fn an_unusable_schema_is_refused_with_the_reason() {
    let error = Check::compile(&json(r#"{"$ref":"https://example.com/x.json"}"#)).unwrap_err();
    assert!(matches!(error, SchemaError::Reference { .. }), "{error:?}");
    assert!(error.to_string().contains("nothing is fetched"), "{error}");
    let error = Check::compile(&json(r##"{"$ref":"#/$defs/none"}"##)).unwrap_err();
    assert!(matches!(error, SchemaError::Reference { .. }), "{error:?}");
    let error = Check::compile(&json(r#"{"properties":{"a":{"type":"strin"}}}"#)).unwrap_err();
    let SchemaError::Invalid { path, .. } = error else { panic!("{error}") };
    assert_eq!(path, "/properties/a/type");
    for schema in [r#"{"pattern":"("}"#, r#"{"multipleOf":0}"#, r#"{"minLength":-1}"#, "[]", "1"] {
        assert!(Check::compile(&json(schema)).is_err(), "{schema}");
    }
    let wide = Json::Array((0..300_000usize).map(Json::from).collect());
    let error = Check::compile(&Json::Object(toolwright_core::object! {"enum": wide})).unwrap_err();
    assert!(matches!(error, SchemaError::Limit { .. }), "{error:?}");
}

#[test]
fn the_draft_is_the_one_that_the_schema_names() {
    let draft_4 = r#"{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}"#;
    assert_eq!(one(draft_4, "3").keyword, "exclusiveMaximum");
    let draft_7 = r#"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}"#;
    assert_eq!(one(draft_7, r#"["a",1]"#).keyword, "additionalItems");
    let tuple = r#"{"items":[{"type":"string"}],"additionalItems":false}"#;
    assert_eq!(one(tuple, r#"["a",1]"#).keyword, "additionalItems", "an older draft, unsaid");
    assert!(!check(r#"{"maximum":3,"exclusiveMaximum":true}"#).accepts(&json("3")));
    assert!(check(r#"{"format":"email"}"#).accepts(&json("\"x\"")), "formats are annotations");
}

#[test]
fn recursion_and_hostile_schemas_are_bounded() {
    let list =
        r##"{"type":"object","properties":{"value":{"type":"integer"},"next":{"$ref":"#"}}}"##;
    let found = one(list, r#"{"value":1,"next":{"value":2,"next":{"value":"x"}}}"#);
    assert_eq!(
        (found.path.as_str(), found.schema_path.as_str()),
        ("/next/next/value", "/properties/value/type")
    );
    assert!(
        check(r##"{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##)
            .violations(&json("1"))
            .len()
            <= 1
    );
    let steep = r#"{"pattern":"^(a+)+$"}"#;
    let text = format!("\"{}!\"", "a".repeat(5000));
    assert!(!check(steep).accepts(&json(&text)));
    let back = r#"{"pattern":"^(?=(a+)+$)(a+)\\1$"}"#;
    assert_eq!(one(back, &text).keyword, "pattern");
}

/// Two recursive branches: a validator that follows both checks a value of n levels 2^n times.
const FORKED: &str = r##"{
    "$ref": "#/$defs/node",
    "$defs": {"node": {"oneOf": [
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/node"}}, "required": ["a"]},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/node"}}, "required": ["b"]}
    ]}}
}"##;

#[test]
fn nested_unions_take_bounded_time() {
    let check = Check::compile(&Json::parse(FORKED).unwrap()).unwrap();
    let shallow = Json::parse(r#"{"a":1,"x":{"b":2}}"#).unwrap();
    assert!(check.accepts(&shallow));
    let mut deep = String::from(r#"{"c":1}"#);
    for _ in 0..100 {
        deep = format!(r#"{{"a":1,"x":{deep}}}"#);
    }
    let deep = Json::parse(&deep).unwrap();
    assert!(!check.accepts(&deep));
    let found = check.violations(&deep);
    assert_eq!((found.len(), found[0].keyword.as_str(), found[0].path.as_str()), (1, "limit", ""));
}

/// A schema of `levels` definitions, each of which refers twice to the next one in a union.
fn doubled(union: &str, levels: usize, reference: impl Fn(usize) -> String) -> Json {
    let pair = |at: usize| format!(r#"{{"$ref":"{0}"}},{{"$ref":"{0}"}}"#, reference(at + 1));
    let definition =
        |at: usize| format!(r#""d{at}":{{"$anchor":"d{at}","{union}":[{}]}},"#, pair(at));
    let definitions = (0..levels).map(definition).collect::<Vec<_>>().concat();
    json(&format!(
        r#"{{"properties":{{"a":{{"$ref":"{}"}}}},
            "$defs":{{{definitions}"d{levels}":{{"$anchor":"d{levels}","type":"integer"}}}}}}"#,
        reference(0)
    ))
}

#[test]
fn exponential_references_are_refused_before_compilation() {
    let pointer = |at: usize| format!("#/$defs/d{at}");
    let anchor = |at: usize| format!("#d{at}");
    for union in ["allOf", "anyOf", "oneOf"] {
        for schema in [doubled(union, 20, pointer), doubled(union, 20, anchor)] {
            let error = Check::compile(&schema).unwrap_err();
            let SchemaError::Limit { path, .. } = &error else { panic!("{error:?}") };
            assert_eq!(path, "/properties/a");
            assert!(error.to_string().contains("refer to fewer definitions"), "{error}");
        }
        let check = Check::compile(&doubled(union, 6, pointer)).unwrap();
        assert!(check.accepts(&json(r#"{"a":1}"#)) || union == "oneOf");
    }
}

#[test]
fn a_long_chain_of_references_is_refused_and_a_short_one_is_followed() {
    let chain = |levels: usize| {
        let definitions: Vec<String> = (0..levels)
            .map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}}"##, at + 1))
            .collect();
        let definitions = definitions.join(",");
        json(&format!(
            r##"{{"properties":{{"next":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{definitions},"d{levels}":{{"$ref":"#"}}}}}}"##
        ))
    };
    let error = Check::compile(&chain(20_000)).unwrap_err();
    assert!(error.to_string().contains("more than 64 times"), "{error}");
    let check = Check::compile(&chain(55)).unwrap();
    let mut deep = String::from(r#"{"next":1}"#);
    for _ in 0..110 {
        deep = format!(r#"{{"next":{deep}}}"#);
    }
    assert!(check.accepts(&json(&deep)));
}

#[test]
fn patterns_are_compiled_within_bounds() {
    let schema = |count: usize, pattern: &str| {
        let each = |at: usize| format!(r#"{{"pattern":"{pattern}{at}"}}"#);
        json(&format!(
            r#"{{"items":{{"allOf":[{}]}}}}"#,
            (0..count).map(each).collect::<Vec<_>>().join(",")
        ))
    };
    assert!(Check::compile(&schema(900, "^[a-z_-]{1,64}")).is_ok());
    assert!(Check::compile(&schema(1, r"^\\p{L}{1,64}")).is_ok());
    let error = Check::compile(&schema(1_001, "x")).unwrap_err();
    assert!(error.to_string().contains("more than 1000 patterns"), "{error}");
    // Each of these would take several megabytes.
    assert!(Check::compile(&schema(200, r"\\p{L}{300}")).is_err());
}

#[test]
fn the_number_of_listed_errors_is_bounded() {
    let check = check(r#"{"items":{"type":"integer"}}"#);
    let texts = |count: usize| Json::Array(vec![Json::from("x"); count]);
    assert_eq!(check.violations(&texts(5_000)).len(), 5_000);
    let found = check.violations(&texts(50_000));
    assert_eq!((found.len(), found[0].keyword.as_str()), (1, "limit"));
    assert!(found[0].message.contains("too many places"), "{:?}", found[0]);
}

#[test]
fn scalars_count_towards_the_validation_budget() {
    let branches = vec![r#"{"minimum":1,"maximum":0}"#; 2_000].join(",");
    let check = check(&format!(r#"{{"items":{{"anyOf":[{branches}]}}}}"#));
    let numbers = Json::Array(vec![Json::from(5_usize); 20_000]);
    assert!(!check.accepts(&numbers));
    assert_eq!(check.violations(&numbers)[0].keyword, "limit");
}

#[test]
fn large_values_are_validated_completely() {
    let schema =
        r#"{"items": {"anyOf": [{"type": "array"}, {"type": "object", "required": ["a"]}]}}"#;
    let check = Check::compile(&Json::parse(schema).unwrap()).unwrap();
    let mut items = vec![Json::parse(r#"{"a":{}}"#).unwrap(); 200_000];
    assert!(check.accepts(&Json::Array(items.clone())));
    items.push(Json::parse(r#"{"b":1}"#).unwrap());
    let value = Json::Array(items);
    assert!(!check.accepts(&value));
    assert_eq!(check.violations(&value)[0].path, "/200000");
}
