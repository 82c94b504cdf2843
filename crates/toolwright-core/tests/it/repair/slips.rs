//! Every structural error at every position of recorded calls is repaired or refused, and almost
//! never misread.

use std::collections::BTreeMap;

use toolwright_core::args::{CoercionOptions, Parameters, parse};
use toolwright_core::{Arguments, Json, Tool};

use toolwright_testing::fixtures;

/// Recorded calls that are mutated.
const CALLS: usize = 200;

/// The characters of JSON's structure.
const STRUCTURE: &str = "\"{}[],:";

/// A recorded call and the parameters of its tool, with and without required parameters.
struct Recorded {
    arguments: Json,
    strict: Parameters,
    open: Parameters,
}

#[derive(Debug, Default)]
struct Count {
    all: usize,
    right: usize,
    wrong: usize,
    example: String,
}

fn calls() -> Vec<Recorded> {
    let rows = fixtures::lines("args/valid.jsonl");
    let is_full = |row: &&Json| {
        let arguments = row.get("args").and_then(Json::as_object);
        arguments.is_some_and(|arguments| !arguments.is_empty())
            && row.get("args").is_some_and(|arguments| arguments.compact().len() < 300)
    };
    let rows: Vec<&Json> = rows.iter().filter(is_full).collect();
    let step = rows.len() / CALLS;
    assert!(step > 0, "too few calls");
    rows.into_iter().step_by(step).take(CALLS).map(recorded).collect()
}

fn recorded(row: &Json) -> Recorded {
    let schema = row.get("schema").unwrap().clone();
    let mut open = schema.clone();
    open.as_object_mut().unwrap().remove("required");
    let compile = |schema| Parameters::compile(&Tool::function("tool", schema), &[]).unwrap();
    let arguments = row.get("args").unwrap().clone();
    Recorded { arguments, strict: compile(schema), open: compile(open) }
}

/// The offsets of structural characters.
fn places(text: &str) -> Vec<usize> {
    let (mut out, mut in_string, mut escaped) = (Vec::new(), false, false);
    for (at, letter) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '"' {
            in_string = !in_string;
            out.push(at);
        } else if in_string {
            escaped = letter == '\\';
        } else if STRUCTURE.contains(letter) {
            out.push(at);
        }
    }
    out
}

/// Every error at an offset: its kind, and the resulting text.
fn slips(text: &str, at: usize) -> Vec<(String, String)> {
    let (before, own, after) = (&text[..at], &text[at..=at], &text[at + 1..]);
    let mut out = vec![
        (format!("lost {own}"), format!("{before}{after}")),
        (format!("doubled {own}"), format!("{before}{own}{own}{after}")),
    ];
    for other in STRUCTURE.chars().filter(|other| !own.contains(*other)) {
        out.push(("replaced".into(), format!("{before}{other}{after}")));
        out.push(("inserted".into(), format!("{before}{own}{other}{after}")));
    }
    if let Some(next) = after.chars().next().filter(|next| STRUCTURE.contains(*next)) {
        out.push(("swapped".into(), format!("{before}{next}{own}{}", &after[1..])));
    }
    out
}

fn judge(parameters: &Parameters, text: &str, expected: &Json, count: &mut Count) {
    count.all += 1;
    let resolved =
        parameters.resolve(parse(&Arguments::from_text(text)), &CoercionOptions::default());
    if !resolved.is_runnable() {
        return;
    }
    let mut found = resolved.arguments().clone();
    for name in resolved.defaulted().iter().filter(|name| expected.get(name).is_none()) {
        found.remove(name);
    }
    let found = Json::Object(found);
    if found.equals(expected) {
        count.right += 1;
    } else {
        count.wrong += 1;
        count.example = format!("{text}\n became {}", found.compact());
    }
}

#[test]
fn a_structural_slip_is_undone_or_refused() {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for call in calls() {
        for text in [call.arguments.compact(), call.arguments.pretty()] {
            for (kind, slipped) in places(&text).into_iter().flat_map(|at| slips(&text, at)) {
                if Json::parse(&slipped).is_ok() {
                    continue;
                }
                let count = counts.entry(kind).or_default();
                judge(&call.strict, &slipped, &call.arguments, count);
                judge(&call.open, &slipped, &call.arguments, count);
            }
        }
    }
    for (kind, Count { all, right, wrong, example }) in &counts {
        println!("{kind}: {all} slips, {right} undone, {wrong} misread");
        assert!(wrong * 100 <= *all, "{kind}: {wrong} of {all}, such as\n{example}");
        let is_sure = kind.starts_with("doubled")
            || matches!(kind.as_str(), "lost \"" | "lost ," | "lost :" | "lost }");
        assert!(!is_sure || right * 100 >= all * 95, "{kind}: {right} of {all}");
    }
}
