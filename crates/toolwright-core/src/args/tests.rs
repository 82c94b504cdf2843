//! Tests that the work on arguments is linear in their length, whatever is wrong with them.

use toolwright_json::Json;
use toolwright_json::work;

use super::{CoercionOptions, Parameters, ResolvedArguments, parse};
use crate::model::call::Arguments;
use crate::model::tool::Tool;

fn parameters(schema: &str) -> Parameters {
    Parameters::compile(&Tool::function("t", Json::parse(schema).unwrap()), &[]).unwrap()
}

fn resolve(parameters: &Parameters, text: &str) -> ResolvedArguments {
    parameters.resolve(parse(&Arguments::from_text(text)), &CoercionOptions::default())
}

/// Resolves a text of some size and one of twice the size, which may take about twice the steps.
/// Returns the larger result.
#[track_caller]
fn assert_linear(schema: &str, text: &dyn Fn(usize) -> String, size: usize) -> ResolvedArguments {
    let parameters = parameters(schema);
    let mut resolved = None;
    let mut run = |text: &str| work::steps(|| resolved = Some(resolve(&parameters, text)));
    let (once, twice) = (text(size), text(2 * size));
    let (small, large) = (run(&once), run(&twice));
    let start = twice.get(..60).unwrap_or_default();
    assert!(large <= small * 9 / 4, "{start}: {small} steps, then {large}");
    resolved.unwrap()
}

fn members(count: usize, member: impl Fn(usize) -> String) -> String {
    format!("{{{}}}", (0..count).map(member).collect::<Vec<_>>().join(","))
}

const ANY: &str = r#"{"type":"object"}"#;
const NUMBERS: &str = r#"{"type":"object","additionalProperties":{"type":"integer"}}"#;

#[test]
fn repeated_keys_take_linear_work() {
    let pairs = |count| members(count, |index| format!(r#""k{}":1"#, index / 2));
    assert!(assert_linear(ANY, &pairs, 5_000).is_runnable());
    let differing = |count| members(count, |index| format!(r#""k{}":{index}"#, index / 2));
    assert_eq!(assert_linear(ANY, &differing, 5_000).errors()[0].keyword, "repeated");
    let one = |count| members(count, |_| r#""k":1"#.into());
    assert!(assert_linear(ANY, &one, 5_000).is_runnable());
}

#[test]
fn wrong_members_take_linear_work() {
    // As many violations as are mended, among more valid values.
    let some = |count: usize| {
        let every = count / 1000;
        members(count, move |index| match index % every {
            0 => format!(r#""k{index}":"1""#),
            _ => format!(r#""k{index}":1"#),
        })
    };
    assert!(assert_linear(NUMBERS, &some, 10_000).is_runnable());
    let hopeless = |count| members(count, |index| format!(r#""k{index}":"x""#));
    assert_eq!(assert_linear(NUMBERS, &hopeless, 2_500).errors().len(), 5_000);
    // Too many to be listed.
    assert_eq!(assert_linear(NUMBERS, &hopeless, 11_000).errors()[0].keyword, "limit");
    let nullable = r#"{"type":"object","patternProperties":{"^k":{"type":"integer"}}}"#;
    let null = |count| members(count, |index| format!(r#""k{index}":null"#));
    assert!(!assert_linear(nullable, &null, 1_000).is_runnable());
}

#[test]
fn keys_without_quotes_take_linear_work() {
    let keys = |count| members(count, |index| format!("k{index}:1"));
    assert!(assert_linear(NUMBERS, &keys, 2_000).is_runnable());
}

/// A union of objects with nested unions of objects.
fn union(levels: usize) -> String {
    let Some(levels) = levels.checked_sub(1) else {
        return r#"{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}"#.into();
    };
    let items = union(levels);
    // The member that distinguishes the branches comes last.
    let branch = |length: usize| {
        format!(
            r#"{{"type":"object","properties":{{"items":{{"type":"array","items":{items}}},"kind":{{"type":"string","maxLength":{length}}}}}}}"#
        )
    };
    format!(r#"{{"anyOf":[{},{},{}]}}"#, branch(1), branch(2), branch(3))
}

/// A value for the last branch of each of these unions.
fn nested(levels: usize, leaf: &str) -> String {
    match levels.checked_sub(1) {
        None => leaf.to_owned(),
        Some(levels) => {
            let item = nested(levels, leaf);
            format!(r#"{{"items":[{item},{item}],"kind":"abc"}}"#)
        }
    }
}

#[test]
fn nested_unions_take_linear_work() {
    const GOOD: &str = r#"{"v":"x"}"#;
    for levels in [2, 3, 5] {
        let schema = format!(
            r#"{{"type":"object","properties":{{"all":{{"type":"array","items":{}}}}}}}"#,
            union(levels)
        );
        let last = |count: usize, leaf: &str| {
            let mut items = vec![nested(levels, GOOD); count];
            items.push(nested(levels, leaf));
            format!(r#"{{"all":[{}]}}"#, items.join(","))
        };
        let size = 800 >> levels;
        assert_linear(&schema, &|count| last(count, GOOD), size);
        assert_linear(&schema, &|count| last(count, "[]"), size);
        assert_linear(&schema, &|count| last(count, r#"{"v":1}"#), size);
        let every =
            |count| format!(r#"{{"all":[{}]}}"#, vec![nested(levels, "{}"); count].join(","));
        assert_linear(&schema, &every, size);
        let damaged = |count| last(count, GOOD).replace("\"kind\"", "kind");
        assert_linear(&schema, &damaged, size);
    }
}

/// A check that exceeds its limits is abandoned.
#[test]
fn what_is_too_much_is_given_up_once() {
    let schema = format!(
        r#"{{"type":"object","properties":{{"all":{{"type":"array","items":{}}}}}}}"#,
        union(7)
    );
    let parameters = parameters(&schema);
    let text = format!(r#"{{"all":[{}]}}"#, vec![nested(7, r#"{"v":"x"}"#); 40].join(","));
    let values = text.matches(['{', '[', '"']).count();
    let mut resolved = None;
    let steps = work::steps(|| resolved = Some(resolve(&parameters, &text)));
    assert_eq!(resolved.unwrap().errors()[0].keyword, "limit");
    assert!(steps < 2_000_000 + 300 * values, "{steps} steps for {values} values");
}

#[test]
fn hostile_text_takes_linear_work() {
    for (start, piece) in [
        ("", "\""),
        ("{\"a\": \"", "\""),
        ("{'a': '", "'"),
        ("", "["),
        ("", "{\"a\":"),
        ("{\"a\": [", "\"x\" /* "),
        ("{", "{"),
        ("", "{}"),
        ("{\"a\": \"", "\", \"a\": \""),
        ("{\"a\": \"", "\\\""),
        ("{\"a\": [", "\"\"\""),
        ("{\"a", ":"),
        ("{\"a\": [\"x", ", "),
        ("{\"a\": [\"x\"", ", \"y"),
        ("{\"a\": \"", "x, \"y"),
        ("{\"a\": [", "[["),
        ("{\"a\": 1", "}]"),
        ("{a: ", "x:y, "),
        ("", "{a} "),
    ] {
        let text = |size: usize| format!("{start}{}", piece.repeat(size / piece.len()));
        assert_linear(ANY, &text, 8_000);
    }
}
