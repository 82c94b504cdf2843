//! Lowering of schemas: what each target is shown, what is reported, and what is undone.

use std::fmt::Write;

use proptest::prelude::*;
use toolwright_core::Json;
use toolwright_core::fit::Severity;
use toolwright_core::fit::profile::{SchemaRule, Subset};
use toolwright_core::schema::{BUDGET, Lowered, lower, undo_nulls};

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
fn dump() {
    for subset in SUBSETS {
        for tool in [0, 1] {
            let l = lower(&recorded(tool), &rule(subset), false);
            println!("{subset:?}\n{}\n{}", l.schema, report(&l));
        }
    }
}
