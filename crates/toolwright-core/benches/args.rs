//! Measures how long resolving arguments takes, compared with plain `serde_json` and `jsonschema`
//! on the same text.
//!
//! Ours runs all steps from a model's text to a call that can run: read, parse, hide, coerce,
//! complete, check. The baseline parses the text to a `serde_json::Value` and validates it. Both
//! use a compiled validator, and both are measured alternately, so that noise affects both.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use divan::{Bencher, black_box};
use toolwright_core::args::{CheckedCall, CoercionOptions, Parameters, hidden_names, parse};
use toolwright_core::{Arguments, Call, Json, Tool};

fn main() {
    divan::main();
    table();
}

/// A tool with eight parameters.
const SCHEMA: &str = r#"{"type":"object","properties":{
    "origin":{"type":"string","minLength":2,"maxLength":64},
    "destination":{"type":"string","minLength":2,"maxLength":64},
    "date":{"type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}$"},
    "cabin":{"type":"string","enum":["economy","premium","business","first"]},
    "passengers":{"type":"array","minItems":1,"maxItems":9,"items":{"type":"object",
        "properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":130}},
        "required":["name","age"]}},
    "budget":{"type":"number","exclusiveMinimum":0},
    "flexible":{"type":"boolean"},
    "currency":{"type":"string","default":"EUR"}},
    "required":["origin","destination","date","passengers"],"additionalProperties":false}"#;

/// A valid call with all eight parameters.
const VALID: &str = r#"{"origin": "Berlin", "destination": "東京", "date": "2026-11-15", "cabin": "economy", "passengers": [{"name": "Ada Lovelace", "age": 36}, {"name": "Alan Turing", "age": 41}], "budget": 1834.50, "flexible": true, "currency": "JPY"}"#;

/// Other kinds of calls, whose cost is shown but has no goal.
const OTHERS: [(&str, &str); 3] = [
    (
        "defaults",
        r#"{"origin":"Berlin","destination":"東京","date":"2026-11-15","passengers":[{"name":"Ada","age":36}]}"#,
    ),
    (
        "coerced",
        r#"{"origin":"Berlin","destination":"東京","date":"2026-11-15","passengers":[{"name":"Ada","age":"36"}],"flexible":"true"}"#,
    ),
    ("refused", r#"{"origin":"Berlin","destination":"東京","date":"soon","passengers":[]}"#),
];

/// Our pipeline.
struct Ours(Parameters);

impl Ours {
    fn new() -> Ours {
        let tool = Tool::function("book_flight", Json::parse(SCHEMA).unwrap());
        Ours(Parameters::compile(&tool, &hidden_names("@system")).unwrap())
    }

    /// Resolves a call as a codec returns it.
    fn run(&self, call: &Call) -> bool {
        let resolved = self.0.resolve(parse(&call.arguments), &CoercionOptions::default());
        CheckedCall::new(call, resolved).is_ok()
    }
}

fn call(text: &str) -> Call {
    Call::new("call_1", "book_flight", Arguments::from_text(text))
}

/// The baseline: parse and validate.
fn floor(validator: &jsonschema::Validator, text: &str) -> bool {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    validator.is_valid(&value)
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

#[divan::bench]
fn valid_call(bencher: Bencher<'_, '_>) {
    let (ours, call) = (Ours::new(), call(VALID));
    bencher.bench_local(|| assert!(ours.run(black_box(&call))));
}

#[divan::bench]
fn floor_of_valid_call(bencher: Bencher<'_, '_>) {
    let validator = validator();
    bencher.bench_local(|| assert!(floor(&validator, black_box(VALID))));
}

#[divan::bench]
fn compile(bencher: Bencher<'_, '_>) {
    bencher.bench_local(Ours::new);
}

/// Prints the cost of each kind of call, and the ratio that has a goal.
fn table() {
    let (ours, validator) = (Ours::new(), validator());
    let valid = call(VALID);
    assert!(ours.run(&valid) && floor(&validator, VALID));
    let (mine, plain) = turns(&mut || ours.run(&valid), &mut || floor(&validator, VALID));
    let read = |text: &str| ours.run(&call(black_box(text)));
    let (text, _) = turns(&mut || read(VALID), &mut || floor(&validator, VALID));
    println!("\n{:<28} {:>9} {:>9} {:>6}", "arguments", "µs", "floor µs", "ratio");
    let row = |name: &str, mine: f64, plain: f64| {
        println!("{name:<28} {:>9.2} {:>9.2} {:>6.2}", mine * 1e6, plain * 1e6, mine / plain);
    };
    row("valid, eight parameters", mine, plain);
    row("the same from bare text", text, plain);
    for (name, text) in OTHERS {
        let call = call(text);
        let (mine, plain) = turns(&mut || ours.run(&call), &mut || floor(&validator, text));
        row(name, mine, plain);
    }
    println!("the goal for the first is at most 2");
}

/// Returns the median times of two functions, measured alternately.
fn turns(mine: &mut dyn FnMut() -> bool, plain: &mut dyn FnMut() -> bool) -> (f64, f64) {
    // Without `--bench`, as in a test run, one round shows that they run.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_measured { 41 } else { 1 };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        first.push(time(mine));
        second.push(time(plain));
    }
    (median(&mut first), median(&mut second))
}

fn time(function: &mut dyn FnMut() -> bool) -> f64 {
    let start = Instant::now();
    let mut runs = 0.0;
    while start.elapsed() < Duration::from_millis(5) {
        for _ in 0..50 {
            black_box(function());
        }
        runs += 50.0;
    }
    start.elapsed().as_secs_f64() / runs
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
