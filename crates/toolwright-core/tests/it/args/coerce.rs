//! Coercion: the recorded cases, and properties that hold for every schema and value.

use std::collections::BTreeMap;

use toolwright_core::Json;
use toolwright_core::args::coerce::Coercion;
use toolwright_core::args::{CoercionOptions, Op, Reading};
use toolwright_core::schema::{Check, Violation};

use toolwright_testing::fixtures::lines;

fn field<'r>(row: &'r Json, name: &str) -> &'r str {
    row.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Resolves the arguments of a recorded case.
fn resolve(row: &Json, options: CoercionOptions) -> Result<Reading, Vec<Violation>> {
    let schema = row.get("schema").unwrap();
    let check = Check::compile(schema).unwrap();
    let args = match row.get("args") {
        Some(args) => args.clone(),
        None => Json::parse(field(row, "raw")).unwrap(),
    };
    let coercion = Coercion::new(&check).with_options(options).for_tool(field(row, "tool"));
    coercion.apply(args).map_err(|unmended| unmended.errors)
}

#[test]
fn valid_arguments_stay_as_they_are() {
    for row in lines("args/valid.jsonl") {
        let reading = resolve(&row, CoercionOptions::LENIENT).unwrap();
        assert_eq!(Some(&reading.value), row.get("args"), "{}", field(&row, "id"));
        assert!(reading.changes.is_empty());
    }
}

#[test]
fn mutated_arguments_are_repaired_or_refused_as_recorded() {
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in lines("args/mutated.jsonl") {
        for options in [CoercionOptions::default(), CoercionOptions::LENIENT] {
            let op = field(&row, "op");
            let is_opt_in =
                matches!(op, "camel_case_name" | "comma_list_for_array" | "thousands_sep");
            let resolved = resolve(&row, options);
            let is_right = match (field(&row, "kind"), &resolved) {
                ("coercible", Ok(reading)) => reading.value.equals(row.get("expect").unwrap()),
                ("coercible", Err(_)) => is_opt_in && options == CoercionOptions::default(),
                ("control", Ok(reading)) => Some(&reading.value) == row.get("args"),
                ("invalid", Err(violations)) => has_recorded(&row, violations),
                _ => false,
            };
            if !is_right {
                wrong
                    .entry(op.into())
                    .or_default()
                    .push(format!("{} {resolved:?}", field(&row, "id")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether every recorded error was found.
fn has_recorded(row: &Json, violations: &[Violation]) -> bool {
    row.get("errors").and_then(Json::as_array).unwrap().iter().all(|error| {
        let path = field(error, "path").trim_end_matches('/');
        let is_it = |violation: &Violation| {
            violation.path == path && violation.keyword == field(error, "keyword")
        };
        violations.iter().any(is_it)
    })
}

/// Returns the resolved arguments as text, or `refused`.
fn become_with(options: CoercionOptions, schema: &str, args: &str) -> String {
    let check = Check::compile(&Json::parse(schema).unwrap()).unwrap();
    let coercion = Coercion::new(&check).with_options(options).for_tool("book_flight");
    match coercion.apply(Json::parse(args).unwrap()) {
        Ok(reading) => {
            assert!(check.accepts(&reading.value));
            reading.value.compact()
        }
        Err(unmended) => {
            assert_eq!(unmended.errors, check.violations(&unmended.reading.value));
            "refused".into()
        }
    }
}

/// Returns one value after coercion by its own schema.
fn value_with(options: CoercionOptions, schema: &str, value: &str) -> String {
    let schema = format!(r#"{{"type":"object","properties":{{"v":{schema}}},"required":["v"]}}"#);
    let became = become_with(options, &schema, &format!(r#"{{"v":{value}}}"#));
    let inner = became.strip_prefix(r#"{"v":"#).and_then(|text| text.strip_suffix('}'));
    inner.map_or(became.clone(), str::to_owned)
}

fn value(schema: &str, value: &str) -> String {
    value_with(CoercionOptions::default(), schema, value)
}

#[test]
fn a_string_becomes_the_number_it_spells_and_nothing_else() {
    let (number, integer) = (r#"{"type":"number"}"#, r#"{"type":"integer"}"#);
    for (schema, given, expected) in [
        (integer, r#""12""#, "12"),
        (integer, r#"" 12 ""#, "12"),
        (integer, r#""-7""#, "-7"),
        (integer, r#""5.0""#, "5.0"),
        (integer, r#""12345678901234567890123""#, "12345678901234567890123"),
        (number, r#""-1.5e3""#, "-1.5e3"),
        (number, r#""0.10""#, "0.10"),
        (integer, r#""1.5""#, "refused"),
        (integer, r#""12abc""#, "refused"),
        (integer, r#""0x10""#, "refused"),
        (integer, r#""007""#, "refused"),
        (integer, r#""１２""#, "refused"),
        (integer, r#""""#, "refused"),
        (number, r#""NaN""#, "refused"),
        (number, r#""1,234""#, "refused"),
        (number, "true", "refused"),
    ] {
        assert_eq!(value(schema, given), expected, "{given} for {schema}");
    }
    for (given, expected) in [
        (r#""1,234""#, "1234"),
        (r#""-9,597,000.50""#, "-9597000.50"),
        (r#""1,23""#, "refused"),
        (r#""1234,567""#, "refused"),
        (r#"",123""#, "refused"),
        (r#""0,123""#, "refused"),
    ] {
        assert_eq!(value_with(CoercionOptions::LENIENT, number, given), expected, "{given}");
    }
}

#[test]
fn a_string_becomes_the_boolean_it_spells() {
    for (given, expected) in [
        (r#""true""#, "true"),
        (r#""FALSE""#, "false"),
        (r#"" Yes ""#, "true"),
        (r#""no""#, "false"),
        (r#""perhaps""#, "refused"),
        (r#""1""#, "refused"),
        ("1", "refused"),
        ("0", "refused"),
    ] {
        assert_eq!(value(r#"{"type":"boolean"}"#, given), expected, "{given}");
    }
}

#[test]
fn a_scalar_becomes_text_and_a_container_does_not() {
    for (given, expected) in [
        ("12345678901234567890", r#""12345678901234567890""#),
        ("0.10", r#""0.10""#),
        ("true", r#""true""#),
        (r#"{"a":1}"#, "refused"),
        ("[1]", "refused"),
        ("null", "refused"),
    ] {
        assert_eq!(value(r#"{"type":"string"}"#, given), expected, "{given}");
    }
}

#[test]
fn a_listed_value_is_found_by_its_closest_spelling() {
    let schema = r#"{"enum":["one-way","round trip","A","A-","B-","x_1","x1",3,"-1","1"]}"#;
    for (given, expected) in [
        (r#"" ONE_WAY ""#, r#""one-way""#),
        (r#""RoundTrip""#, r#""round trip""#),
        (r#""a""#, r#""A""#),
        (r#""b-""#, r#""B-""#),
        (r#""B""#, "refused"),
        (r#""X 1""#, r#""x_1""#),
        (r#""3""#, "3"),
        ("1", r#""1""#),
        (r#""- 1""#, "refused"),
        (r#""oneways""#, "refused"),
    ] {
        assert_eq!(value(schema, given), expected, "{given}");
    }
    assert_eq!(value(r#"{"enum":["a-b","a_b"]}"#, r#""a b""#), "refused");
    assert_eq!(value(r#"{"enum":["Red","RED"]}"#, r#""red""#), "refused");
    assert_eq!(value(r#"{"const":"Celsius"}"#, r#""celsius""#), r#""Celsius""#);
}

#[test]
fn a_json_string_is_parsed_only_where_the_schema_rejects_it() {
    let array = r#"{"type":"array","items":{"type":"integer"}}"#;
    let object = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let string = r#"{"type":"string"}"#;
    let either = r#"{"anyOf":[{"type":"string"},{"type":"array"}]}"#;
    for (schema, given, expected) in [
        (array, r#""[1, 2]""#, "[1,2]"),
        (array, r#""[\"1\", 2]""#, "[1,2]"),
        (array, r#""\"[1]\"""#, "[1]"),
        (array, r#""[1, \"x\"]""#, "refused"),
        (array, r#""[1, 2""#, "refused"),
        (object, r#""{\"n\": 1}""#, r#"{"n":1}"#),
        (object, r#""{\"n\": \"1\"}""#, r#"{"n":1}"#),
        (object, r#""{\"m\": 1}""#, "refused"),
        (object, r#""[1]""#, "refused"),
        (string, r#""[1, 2]""#, r#""[1, 2]""#),
        (string, r#""{\"a\": 1}""#, r#""{\"a\": 1}""#),
        (either, r#""[1, 2]""#, r#""[1, 2]""#),
        // Text that is not a JSON array of strings; it is not wrapped into one either.
        (r#"{"type":"array","items":{"type":"string"}}"#, r#""[\"a\", \"b\"""#, "refused"),
    ] {
        assert_eq!(value(schema, given), expected, "{given} for {schema}");
    }
}

#[test]
fn json_in_another_spelling_is_parsed_and_reported() {
    let words = r#"{"type":"array","items":{"type":"string"}}"#;
    let flags = r#"{"type":"object","additionalProperties":{"type":"boolean"}}"#;
    for (schema, given, expected) in [
        (words, r#""['a', 'b']""#, r#"["a","b"]"#),
        (words, r#""[\"a\", \"b\",]""#, r#"["a","b"]"#),
        (flags, r#""{'on': True}""#, r#"{"on":true}"#),
        (words, r#""['a', 'b'""#, "refused"),
        (words, r#""see ['a']""#, r#"["see ['a']"]"#),
        (flags, r#""{\"on\": true, \"on\": false}""#, "refused"),
    ] {
        assert_eq!(value(schema, given), expected, "{given} for {schema}");
    }
    let schema = format!(r#"{{"properties":{{"v":{words}}}}}"#);
    let check = Check::compile(&Json::parse(&schema).unwrap()).unwrap();
    let args = Json::parse(r#"{"v":"['a']"}"#).unwrap();
    let changes = Coercion::new(&check).apply(args).unwrap().changes;
    let ops: Vec<Op> = changes.iter().map(|change| change.op).collect();
    assert_eq!(ops, [Op::Parse, Op::Quote]);
    assert!(changes.iter().all(|change| change.path.starts_with("/v")));
}

#[test]
fn a_single_value_becomes_an_array_of_one() {
    let strings = r#"{"type":"array","items":{"type":"string"}}"#;
    let numbers = r#"{"type":"array","items":{"type":"number"}}"#;
    let grid = r#"{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#;
    let objects = r#"{"type":"array","items":{"type":"object","required":["id"]}}"#;
    for (schema, given, expected) in [
        (strings, r#""a""#, r#"["a"]"#),
        (numbers, "5", "[5]"),
        (numbers, r#""5""#, "[5]"),
        (objects, r#"{"id":1}"#, r#"[{"id":1}]"#),
        (objects, r#"{"name":1}"#, "refused"),
        (strings, r#"{"id":1}"#, "refused"),
        (strings, "null", "refused"),
        // Ambiguous: `[[1],[2]]` or `[[1,2]]`.
        (grid, "[1,2]", "refused"),
        (grid, "1", "refused"),
        // Ambiguous: one item or two.
        (strings, r#""a, b""#, "refused"),
        (r#"{"type":"array","items":{"enum":["a, b","c"]}}"#, r#""a, b""#, r#"["a, b"]"#),
    ] {
        assert_eq!(value(schema, given), expected, "{given} for {schema}");
    }
    for (schema, given, expected) in [
        (strings, r#""a, b""#, r#"["a","b"]"#),
        (strings, r#""甲、乙，丙""#, r#"["甲","乙","丙"]"#),
        (numbers, r#""1, 2""#, "[1,2]"),
        (numbers, r#""1,234""#, "refused"),
        (strings, r#""a,,b""#, r#"["a,,b"]"#),
        (r#"{"type":"array","items":{"enum":["a, b","c"]}}"#, r#""A, B""#, r#"["a, b"]"#),
    ] {
        assert_eq!(
            value_with(CoercionOptions::LENIENT, schema, given),
            expected,
            "{given} for {schema}"
        );
    }
}

#[test]
fn a_null_is_removed_where_no_value_is_required() {
    let schema = r##"{"type":"object","required":["a"],"properties":{
        "a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":["integer","null"]},
        "d":{"type":"object","properties":{"e":{"$ref":"#/$defs/e"}}},
        "f":{"type":"array","items":{"type":"integer"}},
        "g":{"type":"object","additionalProperties":{"type":"string"}}},
        "$defs":{"e":{"enum":["x","y"]}}}"##;
    for (given, expected) in [
        (r#"{"a":1,"b":null}"#, r#"{"a":1}"#),
        (r#"{"a":1,"c":null}"#, r#"{"a":1,"c":null}"#),
        (r#"{"a":"1","b":null,"d":{"e":null}}"#, r#"{"a":1,"d":{}}"#),
        (r#"{"a":null}"#, "refused"),
        (r#"{"a":1,"f":[null]}"#, "refused"),
        (r#"{"a":1,"g":{"k":null}}"#, "refused"),
    ] {
        assert_eq!(become_with(CoercionOptions::LENIENT, schema, given), expected, "{given}");
    }
}

#[test]
fn wrapped_arguments_are_unwrapped() {
    let open = r#"{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"}},
        "required":["city"]}"#;
    let inputs = r#"{"type":"object","properties":{"input":{"type":"string"},"n":{"type":"integer"}},
        "required":["input","n"]}"#;
    for (schema, given, expected) in [
        (open, r#"{"arguments":{"city":"Oslo"}}"#, r#"{"city":"Oslo"}"#),
        (open, r#"{"book_flight":{"city":"Oslo"}}"#, r#"{"city":"Oslo"}"#),
        (open, r#"{"name":"book_flight","arguments":{"city":"Oslo"}}"#, r#"{"city":"Oslo"}"#),
        (open, r#"{"name":"book_flight","arguments":"{\"city\":\"Oslo\"}"}"#, r#"{"city":"Oslo"}"#),
        (open, r#"{"input":{"city":"Oslo","n":"3"}}"#, r#"{"city":"Oslo","n":3}"#),
        (open, r#""{\"arguments\":{\"city\":\"Oslo\"}}""#, r#"{"city":"Oslo"}"#),
        // A call of another tool, an additional member, no member that fits, an unknown wrapper
        // key.
        (open, r#"{"name":"book_hotel","arguments":{"city":"Oslo"}}"#, "refused"),
        (open, r#"{"arguments":{"city":"Oslo"},"n":3}"#, "refused"),
        (open, r#"{"arguments":{"city":"Oslo"},"note":"x"}"#, "refused"),
        (open, r#"{"arguments":{"town":"Oslo"}}"#, "refused"),
        (open, r#"{"arguments":{"city":"Oslo"},"input":{"city":"Rome"}}"#, "refused"),
        (open, r#"{"trip":{"city":"Oslo"}}"#, "refused"),
        (inputs, r#"{"input":{"input":"x","n":1}}"#, "refused"),
        // The value is valid, so it stays.
        (
            r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
            r#"{"input":{"n":1}}"#,
            r#"{"input":{"n":1}}"#,
        ),
    ] {
        assert_eq!(become_with(CoercionOptions::default(), schema, given), expected, "{given}");
    }
}

#[test]
fn names_are_case_folded_only_if_enabled_and_unambiguous() {
    let closed = r#"{"type":"object","additionalProperties":false,"required":["user_name"],
        "properties":{"user_name":{"type":"string"},"max_count":{"type":"integer"}}}"#;
    let open = r#"{"type":"object","required":["user_name"],
        "properties":{"user_name":{"type":"string"},"max_count":{"type":"integer"}}}"#;
    for (schema, given, expected) in [
        (closed, r#"{"userName":"a","Max-Count":"3"}"#, r#"{"user_name":"a","max_count":3}"#),
        (open, r#"{"USER NAME":"a","maxCount":3}"#, r#"{"user_name":"a","maxCount":3}"#),
        (closed, r#"{"user_name":"a","userName":"b"}"#, "refused"),
        (closed, r#"{"userName":"a","UserName":"b"}"#, "refused"),
        (closed, r#"{"login":"a"}"#, "refused"),
        (closed, r#"{"userName":"a","zz":1}"#, "refused"),
        (closed, r#"{"params":{"userName":"a"}}"#, r#"{"user_name":"a"}"#),
    ] {
        assert_eq!(become_with(CoercionOptions::LENIENT, schema, given), expected, "{given}");
        assert_eq!(become_with(CoercionOptions::default(), schema, given), "refused", "{given}");
    }
    let nested =
        format!(r#"{{"type":"object","properties":{{"u":{{"type":"array","items":{closed}}}}}}}"#);
    let given = r#"{"u":[{"userName":"a"}]}"#;
    assert_eq!(
        become_with(CoercionOptions::LENIENT, &nested, given),
        r#"{"u":[{"user_name":"a"}]}"#
    );
}

#[test]
fn a_union_is_coerced_by_the_closest_branch_and_a_tie_is_refused() {
    let shapes = r##"{"oneOf":[{"$ref":"#/$defs/circle"},{"$ref":"#/$defs/square"}]}"##;
    let document = format!(
        r#"{{"type":"object","properties":{{"v":{shapes},"all":{{"allOf":[{{"type":"integer"}},{{"minimum":3}}]}}}},
        "$defs":{{
          "circle":{{"type":"object","properties":{{"kind":{{"const":"circle"}},"r":{{"type":"number"}}}},"required":["kind","r"]}},
          "square":{{"type":"object","properties":{{"kind":{{"const":"square"}},"side":{{"type":"number"}}}},"required":["kind","side"]}}}}}}"#
    );
    for (given, expected) in [
        (r#"{"v":{"kind":"circle","r":"5"}}"#, r#"{"v":{"kind":"circle","r":5}}"#),
        (r#"{"v":{"kind":"Square","side":"5"}}"#, r#"{"v":{"kind":"square","side":5}}"#),
        (r#"{"v":"{\"kind\":\"circle\",\"r\":\"5\"}"}"#, r#"{"v":{"kind":"circle","r":5}}"#),
        (r#"{"v":{"kind":"circle","side":"5"}}"#, "refused"),
        (r#"{"all":"3"}"#, r#"{"all":3}"#),
        (r#"{"all":"2"}"#, "refused"),
    ] {
        assert_eq!(become_with(CoercionOptions::default(), &document, given), expected, "{given}");
    }
    for (schema, given, expected) in [
        (r#"{"type":["integer","boolean"]}"#, r#""1""#, "1"),
        (r#"{"type":["integer","null"]}"#, r#""1""#, "1"),
        (
            r#"{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]}"#,
            r#""1""#,
            "1",
        ),
        (r#"{"anyOf":[{"type":"integer"},{"type":"string"}]}"#, r#""1""#, r#""1""#),
        (r#"{"anyOf":[{"const":"A-b"},{"const":"a_B"}]}"#, r#""a b""#, "refused"),
        (r#"{"anyOf":[{"const":1},{"const":"ONE"}]}"#, r#""one""#, r#""ONE""#),
    ] {
        assert_eq!(value(schema, given), expected, "{given} for {schema}");
    }
}

#[test]
fn hostile_schemas_and_values_are_refused_quickly() {
    // Each union has two branches to the next one.
    let way =
        |at: usize, title: &str| format!(r##"{{"$ref":"#/$defs/a{}","title":"{title}"}}"##, at + 1);
    let step = |at| format!(r#""a{at}":{{"anyOf":[{},{}]}}"#, way(at, "left"), way(at, "right"));
    for (steps, expected) in [(3, r#"{"v":1}"#), (6, "refused")] {
        let unions: Vec<String> = (0..steps).map(step).collect();
        let schema = format!(
            r##"{{"$defs":{{{},"a{steps}":{{"type":"integer"}}}},"properties":{{"v":{{"$ref":"#/$defs/a0"}}}}}}"##,
            unions.join(",")
        );
        assert_eq!(become_with(CoercionOptions::LENIENT, &schema, r#"{"v":"1"}"#), expected);
    }
    // JSON nested in strings.
    let mut text = "[1]".to_owned();
    for _ in 0..10 {
        text = Json::from(text).compact();
    }
    assert_eq!(become_with(CoercionOptions::LENIENT, r#"{"type":"object"}"#, &text), "refused");
    // A large number of changes is not a reason to refuse.
    let many = |item: &str| format!("[{}]", vec![item; 1000].join(","));
    let integers = r#"{"type":"array","items":{"type":"integer"}}"#;
    assert_eq!(value(integers, &many(r#""5""#)), many("5"));
}

#[test]
fn long_values_are_shown_by_their_beginning() {
    let schema = Json::parse(r#"{"type":"object","properties":{"v":{"type":"array"}}}"#).unwrap();
    let check = Check::compile(&schema).unwrap();
    let list = Json::Array(vec![Json::from("天"); 5000]).compact();
    let args = Json::Object(toolwright_core::object! {"v": list.as_str()});
    let reading = Coercion::new(&check).apply(args).unwrap();
    assert_eq!(reading.value.pointer("/v").unwrap().compact(), list);
    let shown = reading.changes[0].to_json();
    for side in ["from", "to"] {
        let text = shown.get(side).and_then(Json::as_str).unwrap();
        assert!(text.len() < 5000 && text.contains("天") && text.ends_with("bytes)"), "{text}");
    }
}

#[test]
fn an_error_elsewhere_does_not_prevent_a_coercion() {
    let schema = r#"{"type":"object","required":["path","n"],"properties":{
        "path":{"type":"string"},"n":{"type":"integer"},"on":{"type":"boolean"},"tag":{"type":"string"}}}"#;
    let check = Check::compile(&Json::parse(schema).unwrap()).unwrap();
    let given = Json::parse(r#"{"n":"5","on":"perhaps","tag":null}"#).unwrap();
    let unmended = Coercion::new(&check).apply(given).unwrap_err();
    assert_eq!(unmended.reading.value.compact(), r#"{"n":5,"on":"perhaps"}"#);
    assert_eq!(unmended.reading.changes.len(), 2);
    let wrong: Vec<(&str, &str)> =
        unmended.errors.iter().map(|error| (&*error.path, &*error.keyword)).collect();
    assert_eq!(wrong, [("", "required"), ("/on", "type")]);
}
