//! `toolwright args`: one call or a batch, results, exit codes.

use toolwright_core::Json;

use crate::run::{Ran, scratch, toolwright};

/// The tool of the document that specified completion.
const OPTIMIZE: &str = r#"{"name":"optimize_structure","description":"Perform geometry optimization","parameters":{
    "type":"object","required":["input_structure","model_path"],"properties":{
    "input_structure":{"type":"string"},"model_path":{"type":"string"},
    "head":{"type":"string","default":"Omat24"},"force_tolerance":{"type":"number","default":0.01},
    "max_iterations":{"type":"integer","default":100},"relax_cell":{"type":"boolean","default":false},
    "executor":{"type":"object"},"storage":{"type":"object"}}}}"#;

fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn output(ran: &Ran) -> Json {
    Json::parse(&ran.text()).unwrap()
}

#[test]
fn optimize_structure_is_completed_as_specified() {
    let tool = file("optimize.json", OPTIMIZE);
    let arguments = r#"{"input_structure": "https://x/Cu_bulk.cif", "model_path": "https://x/dpa-2.4-7M.pt", "relax_cell": false}"#;
    let ran = toolwright(&["args", "--tool", &tool, "--args", arguments, "--hide", "@system"], b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = r#"{"tool_name":"optimize_structure","tool_args":{"input_structure":"https://x/Cu_bulk.cif","model_path":"https://x/dpa-2.4-7M.pt","relax_cell":false,"head":"Omat24","force_tolerance":0.01,"max_iterations":100},"missing_tool_args":[],"missing":[],"defaulted":["head","force_tolerance","max_iterations"],"changes":[],"errors":[]}"#;
    assert_eq!(output(&ran).compact(), expected);
    assert_eq!(ran.stderr, "");
}

#[test]
fn errors_exit_with_one_and_still_write_stdout() {
    let tool = file("optimize_errors.json", OPTIMIZE);
    let ran = toolwright(&["args", "--tool", &tool, "--args", r#"{"model_path": {}}"#], b"");
    assert_eq!(ran.code, 1);
    let result = output(&ran);
    assert_eq!(
        result.pointer("/missing_tool_args").unwrap().compact(),
        r#"["input_structure","executor","storage"]"#
    );
    assert_eq!(
        result.pointer("/missing/0").unwrap().compact(),
        r#"{"name":"input_structure","required":true}"#
    );
    assert_eq!(result.pointer("/errors/0/keyword").unwrap().as_str(), Some("required"));
    assert_eq!(result.pointer("/errors/1/path").unwrap().as_str(), Some("/model_path"));
    assert!(
        ran.stderr.contains("/model_path (type): must be a string, not an object"),
        "{}",
        ran.stderr
    );
    let ran = toolwright(&["args", "--tool", &tool, "--args", "what?"], b"");
    assert_eq!(ran.code, 1);
    assert_eq!(output(&ran).get("tool_args"), Some(&Json::Null));
    assert!(
        ran.stderr.starts_with("error: Invalid JSON input for tool optimize_structure"),
        "{}",
        ran.stderr
    );
}

#[test]
fn tools_are_read_in_any_shape_and_arguments_from_anywhere() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    for (index, shape) in [
        format!(r#"{{"type":"function","function":{{"name":"t","parameters":{schema}}}}}"#),
        format!(r#"{{"type":"function","name":"t","parameters":{schema}}}"#),
        format!(r#"{{"name":"t","input_schema":{schema}}}"#),
        format!(r#"{{"name":"t","inputSchema":{schema}}}"#),
        format!(r#"{{"toolSpec":{{"name":"t","inputSchema":{{"json":{schema}}}}}}}"#),
        format!(r#"[{{"name":"t","parametersJsonSchema":{schema}}}]"#),
        r#"{"name":"t","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}"#.to_owned(),
        r#"{"functionDeclarations":[{"name":"t","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}]}"#.to_owned(),
        r#"{"function_declarations":[{"name":"t","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}]}"#.to_owned(),
        r#"{"name":"t","parameters":{"n":{"type":"integer","required":true}}}"#.to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let tool = file(&format!("shape_{index}.json"), &shape);
        let ran = toolwright(&["args", "--tool", &tool, "--args", "@-"], br#"{"n": 5}"#);
        assert_eq!(ran.code, 0, "{shape}: {}", ran.stderr);
        let ran = toolwright(&["args", "--tool", &tool, "--args", "@-"], br#"{"n": "five"}"#);
        assert_eq!(ran.code, 1, "{shape}");
        let arguments = format!("@{}", file(&format!("shape_{index}.txt"), "{\"n\": 12345678901234567890123}"));
        let ran = toolwright(&["args", "--tool", &tool, "--args", &arguments], b"");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(output(&ran).get("tool_args").unwrap().compact(), r#"{"n":12345678901234567890123}"#);
    }
}

#[test]
fn a_batch_has_one_result_per_line_including_bad_lines() {
    let tool = r#"{"name":"t","parameters":{"type":"object","properties":{"n":{"type":"integer"},"城市":{"type":"string","default":"北京"}},"required":["n"]}}"#;
    let lines = [
        format!(r#"{{"tool":{tool},"args":{{"n":1}}}}"#),
        "not json".to_owned(),
        String::new(),
        format!(r#"{{"tool":{tool},"args":"{{\"n\": 2}}"}}"#),
        format!(r#"{{"tool":{tool}}}"#),
        r#"{"tool":{"name":"x","parameters":{"type":"nonsense"}},"args":{}}"#.to_owned(),
        format!(r#"{{"tool":{tool},"args":{{"n":"x"}}}}"#),
        format!(r#"{{"tool":{tool},"args":{{"n":3}}}}"#),
    ];
    let batch = file("batch.jsonl", &lines.join("\n"));
    let ran = toolwright(&["args", "--batch", &batch], b"");
    assert_eq!(ran.code, 1);
    let results: Vec<Json> = ran.text().lines().map(|line| Json::parse(line).unwrap()).collect();
    let seen: Vec<(String, String)> = results
        .iter()
        .map(|result| {
            let keyword = result.pointer("/errors/0/keyword").and_then(Json::as_str);
            (result.get("tool_args").unwrap().compact(), keyword.unwrap_or("-").to_owned())
        })
        .collect();
    let seen: Vec<(&str, &str)> = seen.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        seen,
        [
            (r#"{"n":1,"城市":"北京"}"#, "-"),
            ("null", "batch"),
            (r#"{"n":2,"城市":"北京"}"#, "-"),
            ("null", "batch"),
            ("null", "batch"),
            (r#"{"n":"x","城市":"北京"}"#, "type"),
            (r#"{"n":3,"城市":"北京"}"#, "-"),
        ]
    );
    assert!(ran.stderr.contains("4 of 7 calls have errors"), "{}", ran.stderr);
    let again = toolwright(&["args", "--batch", "-"], lines.join("\n").as_bytes());
    assert_eq!(again.text(), ran.text(), "from stdin, and the same every time");
}

#[test]
fn files_from_other_systems_and_long_lines_are_read() {
    let tool = r#"{"name":"t","parameters":{"type":"object","required":["n"]}}"#;
    let line = |args: &str| format!(r#"{{"tool":{tool},"args":{args}}}"#);
    let long = line(&format!("\"{}\"", "x".repeat(17 << 20)));
    let lines = [line(r#"{"n":1}"#), long, line(r#"{"n":2}"#)];
    let batch = file("batch_marked.jsonl", &format!("\u{feff}{}\r\n", lines.join("\r\n")));
    let ran = toolwright(&["args", "--batch", &batch], b"");
    let results: Vec<Json> = ran.text().lines().map(|line| Json::parse(line).unwrap()).collect();
    let told = |at: usize| {
        let message = results[at].pointer("/errors/0/message").and_then(Json::as_str);
        (results[at].get("tool_args").unwrap().compact(), message.map(str::to_owned))
    };
    assert_eq!(results.len(), 3);
    assert_eq!(told(0), (r#"{"n":1}"#.into(), None));
    assert_eq!(told(1), ("null".into(), Some("longer than 16777216 bytes".into())));
    assert_eq!(told(2), (r#"{"n":2}"#.into(), None));

    let tool = file("marked_tool.json", &format!("\u{feff}{tool}\r\n"));
    let args = file("marked_args.json", "\u{feff}{\"n\": 3}\r\n");
    let ran = toolwright(&["args", "--tool", &tool, "--args", &format!("@{args}")], b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(output(&ran).get("changes").unwrap().compact(), "[]");
    let nothing = toolwright(&["args", "--batch", "-"], b"");
    assert_eq!((nothing.code, nothing.text().as_str()), (0, ""));
}

#[test]
fn opt_in_coercions_need_an_option_and_bad_defaults_are_reported() {
    let tool = file(
        "lenient.json",
        r#"{"name":"t","parameters":{"type":"object","properties":{"user_name":{"type":"string"},"n":{"type":"integer","default":"many"}},"required":["user_name"],"additionalProperties":false}}"#,
    );
    let arguments = ["args", "--tool", &tool, "--args", r#"{"userName":"x","n":"1,234"}"#];
    assert_eq!(toolwright(&arguments, b"").code, 1);
    let ran = toolwright(&[&arguments[..], &["--lenient"]].concat(), b"");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(output(&ran).get("tool_args").unwrap().compact(), r#"{"user_name":"x","n":1234}"#);
    assert!(
        ran.stderr.contains("warning: tool t: the default at /n is not valid"),
        "{}",
        ran.stderr
    );
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    assert_eq!(toolwright(&["args"], b"").code, 2);
    assert_eq!(toolwright(&["args", "--tool", "x.json"], b"").code, 2);
    assert_eq!(toolwright(&["args", "--batch", "b", "--tool", "x"], b"").code, 2);
    assert_eq!(toolwright(&["args", "--tool", "-", "--args", "@-"], b"{}").code, 2);
    assert_eq!(toolwright(&["args", "--tool", "no/such.json", "--args", "{}"], b"").code, 1);
    let tool =
        file("remote.json", r#"{"name":"t","parameters":{"$ref":"https://example.com/s.json"}}"#);
    let ran = toolwright(&["args", "--tool", &tool, "--args", "{}"], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("nothing is fetched"), "{}", ran.stderr);
    let help = toolwright(&["args", "--help"], b"");
    assert!(help.text().contains("--batch") && help.text().contains("@system"), "{}", help.text());
}

#[test]
fn a_schema_with_exponential_references_is_refused() {
    let definitions: Vec<String> = (0..20)
        .map(|at| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
            format!(r#""d{at}":{{"allOf":[{next},{next}]}}"#)
        })
        .collect();
    let tool = format!(
        r##"{{"name":"t","parameters":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d0"}}}},
            "$defs":{{{},"d20":{{"type":"integer"}}}}}}}}"##,
        definitions.join(",")
    );
    let ran = toolwright(&["args", "--tool", "-", "--args", r#"{"a":"x"}"#], tool.as_bytes());
    assert_ne!(ran.code, 0);
    assert!(
        ran.stderr.contains("/properties/a") && ran.stderr.contains("too large"),
        "{}",
        ran.stderr
    );
}
