//! Writes the functions of an OpenAPI document as sets that `cargo xtask search-report` reads. It passes the document
//! and two folders.
//!
//! The first folder receives `tools.jsonl`, the functions as the search sees them. The second one receives them with
//! queries that are the functions' own summaries, and with the functions that have these.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use toolwright_catalog::Manifest;
use toolwright_catalog::openapi::{ImportOptions, import};
use toolwright_core::Json;
use toolwright_core::json::Object;
use toolwright_core::object;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [document, functions, summaries] = &arguments[..] else {
        return Err("needs the file of an OpenAPI document and two folders".into());
    };
    let imported = import(&Json::parse_bytes(&fs::read(document)?)?, &ImportOptions::new())?;
    let manifest = Manifest::parse(&imported.manifest).map_err(|faults| faults[0].to_string())?;
    let mut tools = String::new();
    let mut by_summary: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for function in &manifest.functions {
        let parameters = function.definition.get("parameters").and_then(Json::as_array);
        let text = |parameter: &Json, key| {
            parameter.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let parameters = parameters.unwrap_or_default().iter().map(|parameter| {
            Json::from(format!("{}: {}", text(parameter, "name"), text(parameter, "description")))
        });
        push_line(
            &mut tools,
            object! {
                "id": function.name.as_str(),
                "name": function.name.as_str(),
                "description": function.description.as_str(),
                "params": Json::Array(parameters.collect()),
            },
        );
        let summary = function.description.lines().next().unwrap_or_default();
        by_summary.entry(summary).or_default().push(&function.name);
    }
    let (mut queries, mut relevant) = (String::new(), String::new());
    for (id, (summary, names)) in by_summary.into_iter().enumerate() {
        let id = id.to_string();
        push_line(&mut queries, object! {"id": id.as_str(), "text": summary});
        for name in names {
            push_line(&mut relevant, object! {"query_id": id.as_str(), "tool_id": name});
        }
    }
    for (folder, name, content) in [
        (functions, "tools.jsonl", &tools),
        (summaries, "tools.jsonl", &tools),
        (summaries, "queries.jsonl", &queries),
        (summaries, "qrels.jsonl", &relevant),
    ] {
        fs::create_dir_all(folder)?;
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

fn push_line(lines: &mut String, line: Object) {
    lines.push_str(&Json::from(line).compact());
    lines.push('\n');
}
