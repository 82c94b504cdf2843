//! The functions of GitHub's OpenAPI document, which are one large prefab, as a set.
//!
//! The document is GitHub's (MIT), out of the package of npm that `openapi-report` uses, and is not in this repository.
//! `github.jsonl` has fifty queries that were written for this report: each means what a summary of the document
//! says, in other words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Query, Set, document, parse_lines, text};
use crate::features::light_of;
use crate::openapi_report::fetch_github;
use crate::run::{Failure, Outcome, Program};

/// Queries: `{"text", "tools"}`.
const QUERIES: &str = include_str!("github.jsonl");

/// Fetches the document, imports it and returns its functions with the queries.
pub(super) fn read() -> Outcome<Set> {
    let file = fetch_github()?;
    let features = light_of("toolwright");
    let functions = Program::cargo()
        .with(&["run", "--quiet", "-p", "toolwright", "--features", &features])
        .with(&["--example", "openapi_functions", "--", &file])
        .read()?;
    let invalid = |what: &str, error: &serde_json::Error| Failure(format!("{what}: {error}"));
    let functions = parse_lines(&functions).map_err(|error| invalid(&file, &error))?;
    let queries = parse_lines(QUERIES).map_err(|error| invalid("github.jsonl", &error))?;
    Ok(Set {
        name: "github".to_owned(),
        documents: functions.iter().map(document).collect(),
        queries: queries.iter().enumerate().map(query).collect(),
    })
}

fn query((position, line): (usize, &Value)) -> Query {
    let tools = line["tools"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let relevant: BTreeSet<String> = tools.map(str::to_owned).collect();
    Query { id: position.to_string(), text: text(line, "text"), relevant }
}
