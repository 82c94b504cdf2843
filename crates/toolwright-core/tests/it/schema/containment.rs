//! Containment of schemas: known pairs, and random pairs against random values.

use toolwright_core::json::Object;
use toolwright_core::schema::{Check, Containment, containment};
use toolwright_core::{Json, object};

use toolwright_testing::fixtures;
use toolwright_testing::seeds::{self, Dice};

fn check(schema: &str) -> Check {
    Check::compile(&Json::parse(schema).unwrap()).unwrap()
}

fn compare(inner: &str, outer: &str) -> Containment {
    containment(&check(inner), &check(outer))
}

#[test]
fn a_schema_with_fewer_values_is_contained() {
    for (inner, outer) in [
        (r#"{"type":"integer"}"#, r#"{"type":"number"}"#),
        (r#"{"type":"integer","minimum":1}"#, r#"{"exclusiveMinimum":0}"#),
        (r#"{"type":"integer","multipleOf":6}"#, r#"{"multipleOf":3}"#),
        (r#"{"type":"integer"}"#, r#"{"multipleOf":0.5}"#),
        (r#"{"enum":["a","b"]}"#, r#"{"type":"string","maxLength":1}"#),
        (r#"{"type":["string","null"]}"#, r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#),
        (r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, r#"{"type":["null","string"]}"#),
        (r#"{"type":"boolean"}"#, r#"{"enum":[true,false,null]}"#),
        (r#"{"type":"string","pattern":"^a"}"#, r#"{"pattern":"^a"}"#),
        (
            r#"{"type":"array","items":{"type":"integer"},"minItems":2}"#,
            r#"{"type":"array","items":{"type":"number"},"minItems":1}"#,
        ),
        (
            r#"{"type":"array","prefixItems":[{"const":1},{"type":"string"}],"items":false}"#,
            r#"{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}"#,
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{}},"required":["a"],
            "additionalProperties":false}"#,
            r#"{"type":"object","properties":{"a":{"type":"number"}},"maxProperties":2}"#,
        ),
        (
            r#"{"type":"object","properties":{"a":{"const":1}},"required":["a"]}"#,
            r#"{"oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},
            {"properties":{"a":{"const":2}},"required":["a"]}]}"#,
        ),
        (
            r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
            r#"{"patternProperties":{"^x":{"type":"number"}}}"#,
        ),
        (
            r#"{"type":"object","patternProperties":{"^x":{"const":1}},"additionalProperties":{"const":2}}"#,
            r#"{"additionalProperties":{"type":"integer"}}"#,
        ),
        (
            r##"{"$defs":{"t":{"type":"object","properties":{"v":{"type":"integer"},
            "next":{"$ref":"#/$defs/t"}},"required":["v"]}},"$ref":"#/$defs/t"}"##,
            r##"{"$defs":{"u":{"type":"object","properties":{"v":{"type":"number"},
            "next":{"$ref":"#/$defs/u"}}}},"$ref":"#/$defs/u"}"##,
        ),
        (r#"{"type":"string"}"#, r#"{"not":{"type":"number"}}"#),
        (
            r#"{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"integer"}},
            "required":["k","v"]}"#,
            r#"{"if":{"properties":{"k":{"const":"x"}}},"then":{"required":["v"]}}"#,
        ),
        ("false", r#"{"type":"string"}"#),
        (r#"{"type":"string","format":"date","description":"d"}"#, r#"{"type":"string"}"#),
    ] {
        assert_eq!(compare(inner, outer), Containment::Contained, "{inner} in {outer}");
    }
}

#[test]
fn a_value_shows_that_a_schema_is_not_contained() {
    for (inner, outer, path) in [
        (r#"{"type":"number"}"#, r#"{"type":"integer"}"#, ""),
        (r#"{"type":"string"}"#, r#"{"type":"string","minLength":1}"#, ""),
        (r#"{"type":"string"}"#, r#"{"enum":["a","b"]}"#, ""),
        (r#"{"type":"integer","minimum":0}"#, r#"{"minimum":1}"#, ""),
        (
            r#"{"type":"array","items":{"type":["integer","null"]}}"#,
            r#"{"items":{"type":"integer"}}"#,
            "/0",
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}"#,
            r#"{"properties":{"a":{"properties":{"b":{"type":"integer"}}}}}"#,
            "/a/b",
        ),
        (r#"{"type":"object","properties":{"a":{}}}"#, r#"{"required":["a"]}"#, ""),
        (r#"{"type":"object"}"#, r#"{"type":"object","additionalProperties":false}"#, ""),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}"#,
            r#"{"type":"string"}"#,
            "",
        ),
        (
            r##"{"$defs":{"t":{"type":"object","properties":{"v":{"type":"number"},
            "next":{"$ref":"#/$defs/t"}},"required":["v"]}},"$ref":"#/$defs/t"}"##,
            r##"{"$defs":{"u":{"type":"object","properties":{"v":{"type":"number"},
            "next":{"type":"null"}}}},"$ref":"#/$defs/u"}"##,
            "/next",
        ),
    ] {
        match compare(inner, outer) {
            Containment::NotContained(witness) => {
                assert!(check(inner).accepts(&witness.value), "{inner}: {}", witness.value);
                assert!(!check(outer).accepts(&witness.value), "{outer}: {}", witness.value);
                assert_eq!(witness.violation.path, path, "{}", witness.value);
            }
            other => panic!("{inner} in {outer}: {other:?}"),
        }
    }
}

#[test]
fn what_can_be_neither_proved_nor_refuted_is_unknown() {
    let unknown = compare(r#"{"type":"string","pattern":"^ab"}"#, r#"{"pattern":"^a"}"#);
    assert_eq!(unknown, Containment::Unknown { schema_path: "/pattern".into() });
}

const SCALARS: [&str; 16] = [
    "null", "true", "false", "-1", "0", "1", "1.0", "2", "3", "0.5", "2.5", "\"\"", "\"a\"",
    "\"b\"", "\"ab\"", "\"xyz\"",
];
const NAMES: [&str; 4] = ["a", "b", "c", "xa"];
const PATTERNS: [&str; 3] = ["^x", "a", "^[ab]$"];

fn scalar(dice: &mut Dice) -> Json {
    Json::parse(dice.pick(&SCALARS)).unwrap()
}

fn value(dice: &mut Dice, depth: usize) -> Json {
    match dice.roll(if depth == 0 { 4 } else { 8 }) {
        0..=3 => scalar(dice),
        4 | 5 => Json::Array((0..dice.roll(4)).map(|_| value(dice, depth - 1)).collect()),
        _ => {
            let mut object = Object::new();
            for _ in 0..dice.roll(4) {
                object.insert(dice.pick(&NAMES), value(dice, depth - 1));
            }
            Json::Object(object)
        }
    }
}

fn schemas(dice: &mut Dice, depth: usize) -> Json {
    Json::Array((0..=dice.roll(3)).map(|_| schema(dice, depth)).collect())
}

fn named(dice: &mut Dice, names: &[&'static str], depth: usize) -> Json {
    let mut object = Object::new();
    for _ in 0..=dice.roll(2) {
        object.insert(dice.pick(names), schema(dice, depth));
    }
    Json::Object(object)
}

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Adds a random keyword.
fn constrain(dice: &mut Dice, object: &mut Object, depth: usize) {
    let limit = Json::parse(dice.pick(&["0", "1", "2", "3", "-1", "0.5"])).unwrap();
    let count = Json::from(dice.roll(4));
    let pick = dice.roll(if depth == 0 { 14 } else { 36 });
    let deeper = depth.saturating_sub(1);
    let (key, value) = match pick {
        0..=4 => ("type", Json::from(dice.pick(&TYPES))),
        5 => (
            "type",
            Json::Array(vec![dice.pick(&TYPES[..3]).into(), dice.pick(&TYPES[3..]).into()]),
        ),
        6 => ("enum", Json::Array((0..=dice.roll(3)).map(|_| value(dice, 1)).collect())),
        7 => ("const", value(dice, 1)),
        8 => ("minimum", limit),
        9 => ("maximum", limit),
        10 => (dice.pick(&["exclusiveMinimum", "exclusiveMaximum"]), limit),
        11 => ("multipleOf", Json::parse(dice.pick(&["1", "2", "0.5", "3"])).unwrap()),
        12 => (dice.pick(&["minLength", "maxLength"]), count),
        13 => ("pattern", dice.pick(&PATTERNS).into()),
        14..=16 => ("items", schema(dice, deeper)),
        17 => ("prefixItems", schemas(dice, deeper)),
        18 => (dice.pick(&["minItems", "maxItems"]), count),
        19 => ("uniqueItems", Json::Bool(true)),
        20 => ("contains", schema(dice, deeper)),
        21..=24 => ("properties", named(dice, &NAMES, deeper)),
        25 => ("required", Json::Array(vec![dice.pick(&NAMES).into()])),
        26 | 27 => ("additionalProperties", schema(dice, deeper)),
        28 => ("patternProperties", named(dice, &PATTERNS, deeper)),
        29 => (dice.pick(&["minProperties", "maxProperties"]), count),
        30 => ("propertyNames", schema(dice, 0)),
        31 => (dice.pick(&["anyOf", "oneOf", "allOf"]), schemas(dice, deeper)),
        32 => (dice.pick(&["not", "if", "then", "else"]), schema(dice, deeper)),
        33 => ("$ref", dice.pick(&["#/$defs/one", "#/$defs/two", "#"]).into()),
        34 => ("dependentRequired", object! {"a": Json::Array(vec!["b".into()])}.into()),
        _ => ("dependentSchemas", named(dice, &NAMES, deeper)),
    };
    object.insert(key, value);
}

fn schema(dice: &mut Dice, depth: usize) -> Json {
    match dice.roll(16) {
        0 => Json::Bool(true),
        1 => Json::Bool(false),
        _ => {
            let mut object = Object::new();
            for _ in 0..=dice.roll(3) {
                constrain(dice, &mut object, depth);
            }
            Json::Object(object)
        }
    }
}

fn document(dice: &mut Dice) -> Json {
    let mut schema = schema(dice, 3);
    if let Json::Object(object) = &mut schema {
        let definitions = object! {"one": self::schema(dice, 1), "two": self::schema(dice, 2)};
        object.insert("$defs", definitions);
    }
    schema
}

#[test]
fn nothing_is_proved_of_a_reference_that_leads_back_for_the_same_value() {
    for endless in [
        r##"{"not":{"maximum":1,"$ref":"#"}}"##,
        r##"{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"if":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}"##,
    ] {
        let answer = compare(r#"{"type":"boolean"}"#, endless);
        assert!(!matches!(answer, Containment::Contained), "{endless}");
    }
}

/// Adds or removes a keyword, at the root or in a part of the schema.
fn vary(dice: &mut Dice, schema: &mut Json, depth: usize) {
    let Json::Object(object) = schema else { return };
    let keys: Vec<String> = object.keys().map(str::to_owned).collect();
    let inner = ["items", "additionalProperties", "properties", "a", "b", "$defs", "one"];
    let part = keys.iter().find(|key| inner.contains(&key.as_str()));
    if let Some(part) = part.and_then(|key| object.get_mut(key)).filter(|_| depth > 0) {
        return vary(dice, part, depth - 1);
    }
    match keys.get(dice.roll(keys.len() + 1)) {
        Some(key) if key != "$defs" => _ = object.remove(key),
        _ => constrain(dice, object, 1),
    }
}

/// Compares random schemas, and checks each answer; returns how many are contained, not contained and
/// unknown.
fn compare_random(seed: u64, pairs: usize) -> [usize; 3] {
    let mut dice = Dice::new(seed);
    let values: Vec<Json> = (0..1_000).map(|_| value(&mut dice, 3)).collect();
    let [mut contained, mut refuted, mut unknown] = [0; 3];
    for _ in 0..pairs {
        let one = document(&mut dice);
        let other = match dice.roll(4) {
            0 => document(&mut dice),
            depth => {
                let mut other = one.clone();
                vary(&mut dice, &mut other, depth - 1);
                other
            }
        };
        let (Ok(inner), Ok(outer)) = (Check::compile(&one), Check::compile(&other)) else {
            continue;
        };
        match containment(&inner, &outer) {
            Containment::Contained => {
                contained += 1;
                for value in &values {
                    let is_right = !inner.accepts(value) || outer.accepts(value);
                    assert!(is_right, "{value}: {one} in {other}");
                }
            }
            Containment::NotContained(witness) => {
                refuted += 1;
                let value = &witness.value;
                assert!(inner.accepts(value) && !outer.accepts(value), "{value}: {one} in {other}");
            }
            _ => unknown += 1,
        }
    }
    [contained, refuted, unknown]
}

/// The variable `TOOLWRIGHT_PAIRS` sets the number of pairs.
#[test]
fn no_value_contradicts_an_answer_about_random_schemas() {
    let pairs = std::env::var("TOOLWRIGHT_PAIRS").map_or(1_000, |pairs| pairs.parse().unwrap());
    seeds::check(|seed| {
        let [contained, refuted, unknown] = compare_random(seed, pairs);
        println!("seed {seed}: contained {contained}, not contained {refuted}, unknown {unknown}");
        assert!(contained > pairs / 4 && refuted > pairs / 8 && unknown < pairs / 4);
    });
}

/// As an edge of a plan connects one tool to another, each property of a recorded tool is compared with
/// properties of others.
#[test]
fn few_answers_about_recorded_tools_are_unknown() {
    let lines = std::fs::read_to_string(fixtures::root().join("args/valid.jsonl")).unwrap();
    let tools: Vec<Json> = lines.lines().map(|line| Json::parse(line).unwrap()).collect();
    let properties =
        tools.iter().filter_map(|tool| tool.pointer("/schema/properties")?.as_object());
    let checks: Vec<Check> = properties
        .flat_map(Object::iter)
        .filter_map(|(_, schema)| Check::compile(schema).ok())
        .collect();
    let whole = tools.iter().filter_map(|tool| Check::compile(tool.get("schema")?).ok());
    let mut unknown = 0;
    let mut compared = 0;
    for (at, inner) in checks.iter().enumerate() {
        let outer = &checks[at * 7919 % checks.len()];
        compared += 1;
        unknown += usize::from(matches!(containment(inner, outer), Containment::Unknown { .. }));
    }
    for check in whole {
        assert_eq!(containment(&check, &check), Containment::Contained, "{}", check.schema());
    }
    println!("{unknown} of {compared} are unknown");
    assert!(compared > 1_000 && unknown * 100 <= compared);
}
