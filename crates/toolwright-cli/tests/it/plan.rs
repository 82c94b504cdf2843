//! `toolwright plan`: the schema, the check, the view and the import of an edited view, pictures, Arazzo.

mod make;
mod nested;
mod record;
mod run;

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use toolwright_core::Json;

use crate::run::{Ran, fixture, toolwright_in};

/// The tool of the workflow format, in OpenAI's shape.
const TOOLS: &str = r#"[{"type":"function","function":{"name":"optimize_structure","description":"Perform geometry optimization...",
    "parameters":{"type":"object","required":["input_structure","model_path"],"properties":{
        "input_structure":{"type":"string","description":"Input structure file URL or path"},
        "model_path":{"type":"string","description":"Path to the DPA model file"},
        "head":{"type":"string","description":"Model head type","default":"Omat24"},
        "force_tolerance":{"type":"number","description":"Force convergence tolerance","default":0.01},
        "max_iterations":{"type":"integer","description":"Maximum optimization iterations","default":100},
        "relax_cell":{"type":"boolean","description":"Whether to relax cell parameters","default":false},
        "executor":{"type":"object","description":"Executor configuration"},
        "storage":{"type":"object","description":"Storage configuration"}}}}},
    {"name":"band_structure","description":"Computes bands","inputSchema":{"type":"object","required":["structure"],
        "properties":{"structure":{"type":"string"},"points":{"type":"integer"}}}}]"#;

const PLAN: &str = r#"{"plan":"1","steps":{
    "relax":{"tool":"optimize_structure","args":{"input_structure":"https://example.com/Cu_bulk.cif",
        "model_path":"https://example.com/dpa-2.4-7M.pt","relax_cell":false},"retry":{"max":2}},
    "bands":{"tool":"band_structure","args":{"structure":{"$from":"relax/optimized"}}}}}"#;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn plan(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    toolwright_in(folder, &[&["plan"], arguments].concat(), input.as_bytes())
}

fn json(ran: &Ran) -> Json {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Json::parse(&ran.text()).unwrap()
}

#[test]
fn the_schema_of_plans_is_printed() {
    let schema = json(&plan(Path::new("."), &["schema"], ""));
    assert_eq!(schema.get("title").and_then(Json::as_str), Some("Toolwright plan"));
}

#[test]
fn a_plan_is_checked_and_every_error_has_a_line() {
    let folder = folder(&[("tools.json", TOOLS), ("plan.json", PLAN)]);
    let tools = ["--tools", "tools.json", "--hide", "@system"];
    let check = |file: &str, more: &[&str], input: &str| {
        plan(folder.path(), &[&["check", file], &tools[..], more].concat(), input)
    };
    let ran = check("plan.json", &[], "");
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (0, "plan is valid: 2 steps, 1 edge\n"),
        "{}",
        ran.stderr
    );
    let report = json(&check("-", &["--json"], PLAN));
    let expected = r#"{"valid":true,"errors":[],"edges":[{"path":"/steps/bands/args/structure","from":"relax/optimized","fit":"unknown"}]}"#;
    assert_eq!(report.compact(), expected);

    let wrong = PLAN
        .replace("band_structure", "band_structures")
        .replace("relax/optimized", "relaxed")
        .replace("model_path", "storage");
    let ran = check("-", &[], &wrong);
    assert_eq!((ran.code, ran.text().as_str()), (1, ""));
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "/steps/bands/args/structure: there is no step 'relaxed'; did you mean 'relax'?",
            "/steps/bands/tool: there is no tool 'band_structures'; did you mean 'band_structure'?",
            "/steps/relax/args/storage: the parameter 'storage' of 'optimize_structure' is hidden: the host fills it",
            "/steps/relax/args: the tool 'optimize_structure' requires 'model_path'",
            "error: stdin: 4 errors",
        ]
    );
    let ran = check("-", &["--json"], &wrong);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: stdin: 4 errors\n"));
    let report = Json::parse(&ran.text()).unwrap();
    let kind = |at: usize| report.pointer(&format!("/errors/{at}/kind")).and_then(Json::as_str);
    assert_eq!([kind(0), kind(1)], [Some("reference"), Some("unknown_tool")]);

    let ran = check("-", &[], r#"{"plan":"1","step":{},"name":3}"#);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with(
            "/step: there is no such member; accepted: plan, name, description, inputs, steps, "
        ),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("error: stdin: 3 errors\n"), "{}", ran.stderr);
    let ran = check("-", &["--json"], "[]");
    assert_eq!(ran.code, 1);
    assert!(ran.text().contains("\"shape\""), "{}", ran.text());
    assert_eq!(check("none.json", &[], "").code, 1);
    let twice = plan(folder.path(), &["check", "-", "--tools", "-"], PLAN);
    assert_eq!(twice.code, 2, "{}", twice.stderr);
}

#[test]
fn a_view_has_the_workflow_format_and_an_edited_one_patches_the_plan() {
    let folder = folder(&[("tools.json", TOOLS), ("plan.json", PLAN)]);
    let tools = ["--tools", "tools.json", "--hide", "executor,storage"];
    let view = plan(folder.path(), &[&["view", "plan.json"], &tools[..]].concat(), "");
    let mut edited = json(&view);
    let parameters = edited.pointer("/nodes/0/input_parameters").unwrap();
    let expected = r#"[{"name":"input_structure","type":"str","value":"https://example.com/Cu_bulk.cif"},
        {"name":"model_path","type":"str","value":"https://example.com/dpa-2.4-7M.pt"},
        {"name":"head","type":"str","value":"Omat24"},{"name":"force_tolerance","type":"float","value":0.01},
        {"name":"max_iterations","type":"int","value":100},{"name":"relax_cell","type":"bool","value":false}]"#;
    assert_eq!(parameters, &Json::parse(expected).unwrap());
    assert_eq!(edited.pointer("/nodes/0/missing_tool_args").unwrap().compact(), "[]");
    assert_eq!(edited.pointer("/nodes/1/missing_tool_args").unwrap().compact(), r#"["points"]"#);
    assert_eq!(edited.pointer("/nodes/1/input_parameters/0/value").unwrap().compact(), "\"\"");

    let import = |view: &str| {
        fs::write(folder.path().join("view.json"), view).unwrap();
        let files = ["import", "--view", "view.json", "--base", "plan.json"];
        plan(folder.path(), &[&files, &tools[..]].concat(), "")
    };
    let same = json(&import(&view.text()));
    assert!(same.same(&Json::parse(PLAN).unwrap()), "{same}");

    *edited.pointer_mut("/nodes/0/input_parameters/4/value").unwrap() = 500_u64.into();
    *edited.pointer_mut("/nodes/1/missing_tool_args").unwrap() = Json::Array(Vec::new());
    let patched = json(&import(&edited.compact()));
    let args = patched.pointer("/steps/relax/args/max_iterations").map(Json::compact);
    assert_eq!(args.as_deref(), Some("500"));
    assert_eq!(
        patched.pointer("/steps/bands/args").unwrap().compact(),
        r#"{"structure":{"$from":"relax/optimized"},"points":0}"#
    );
    assert_eq!(patched.pointer("/steps/relax/retry/max").map(Json::compact).as_deref(), Some("2"));

    // What is imported is checked.
    edited.pointer_mut("/nodes/1/input_parameters/1/value").unwrap().clone_from(&"many".into());
    let ran = import(&edited.compact());
    assert_eq!((ran.code, ran.text().as_str()), (1, ""));
    assert!(ran.stderr.starts_with("/steps/bands/args/points: "), "{}", ran.stderr);

    let ran = import(r#"{"nodes":[{"id":"relax","tool_args":{"heed":"x"}}],"edges":[]}"#);
    assert_eq!((ran.code, ran.text().as_str()), (1, ""));
    assert_eq!(
        ran.stderr,
        "/nodes/0/tool_args/heed: the tool 'optimize_structure' has no parameter 'heed'; did you mean 'head'?\n\
         error: view.json: 1 error\n"
    );
}

#[test]
fn tools_come_from_a_live_mcp_server() {
    let script = fixture("mcp/servers/stdio.py");
    let config = format!(
        "[mcp.rows]\ncommand = [\"python3\", \"{script}\", \"rows\"]\n\
         [mcp.rows.hide.count_rows]\nexecutor = {{ const = \"local\" }}\n"
    );
    let document = r#"{"plan":"1","steps":{"read":{"tool":"rows_read_rows"},
        "count":{"tool":"rows_count_rows","args":{"rows":{"$from":"read"}}},
        "note":{"tool":"read_file","args":{"path":"x.txt"}}}}"#;
    let folder = folder(&[("toolwright.toml", &config), ("plan.json", document)]);
    let view = json(&plan(folder.path(), &["view", "plan.json"], ""));
    let node =
        |at: usize, member: &str| view.pointer(&format!("/nodes/{at}/{member}")).unwrap().compact();
    assert_eq!(node(0, "input_parameters"), r#"[{"name":"count","type":"int","value":0}]"#);
    assert_eq!(node(0, "missing_tool_args"), r#"["count"]"#);
    assert_eq!(node(0, "description"), "\"Does read_rows.\"");
    // The hidden parameter is left out.
    assert_eq!(node(1, "input_parameters"), r#"[{"name":"rows","type":"list","value":""}]"#);
    let ran = plan(folder.path(), &["check", "plan.json"], "");
    assert_eq!(ran.text(), "plan is valid: 3 steps, 1 edge\n", "{}", ran.stderr);
    let ran = plan(
        folder.path(),
        &["check", "-"],
        &document.replace("rows_count_rows", "rows_count_row"),
    );
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("did you mean 'rows_count_rows'?"), "{}", ran.stderr);
}

#[test]
fn tools_are_functions_of_the_catalog() {
    let document = r#"{"plan":"1","steps":{"parse":{"tool":"file-processing-prefab/parse_file"}}}"#;
    let folder = folder(&[("plan.json", document)]);
    let added = toolwright_in(
        folder.path(),
        &["catalog", "add", &fixture("catalog/file-processing-prefab")],
        b"",
    );
    assert_eq!(added.code, 0, "{}", added.stderr);
    let view = json(&plan(folder.path(), &["view", "plan.json"], ""));
    let node = view.pointer("/nodes/0").unwrap();
    assert_eq!(
        node.get("tool_name").and_then(Json::as_str),
        Some("file-processing-prefab/parse_file")
    );
    let names: Vec<&str> = node
        .get("input_parameters")
        .and_then(Json::as_array)
        .unwrap()
        .iter()
        .filter_map(|own| own.get("name")?.as_str())
        .collect();
    assert_eq!(names, ["files"]);
    let ran = plan(folder.path(), &["check", "-"], &document.replace("parse_file", "parse_fil"));
    assert_eq!(
        ran.stderr.lines().next(),
        Some(
            "/steps/parse/tool: there is no tool 'file-processing-prefab/parse_fil'; did you mean \
             'file-processing-prefab/parse_file'?"
        )
    );
}

#[test]
fn a_plan_is_drawn() {
    let folder = folder(&[("tools.json", TOOLS), ("plan.json", PLAN)]);
    let tools = ["--tools", "tools.json"];
    let draw = |more: &[&str]| {
        plan(folder.path(), &[&["draw", "plan.json"], &tools[..], more].concat(), "")
    };
    let ran = draw(&["-o", "plan.svg"]);
    assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{}", ran.stderr);
    let svg = fs::read_to_string(folder.path().join("plan.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains(">bands</text>"), "{svg}");
    assert_eq!(draw(&[]).text().trim_end(), svg.trim_end());
    let mermaid = draw(&["--format", "mermaid"]).text();
    assert!(mermaid.contains("n0 -->|\"optimized\"| n1"), "{mermaid}");
    assert_eq!(draw(&["--format", "png"]).code, 2);
}

#[test]
fn a_plan_is_exported_to_arazzo_and_imported_again() {
    let folder = folder(&[("tools.json", TOOLS), ("plan.json", PLAN)]);
    let export = ["export", "plan.json", "--arazzo", "out/new", "--tools", "tools.json"];
    let ran = plan(folder.path(), &[&export[..], &["--hide", "@system"]].concat(), "");
    assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{}", ran.stderr);
    let openapi = fs::read_to_string(folder.path().join("out/new/openapi.json")).unwrap();
    assert!(
        openapi.contains("\"input_structure\"") && !openapi.contains("\"executor\""),
        "{openapi}"
    );
    let imported = json(&plan(folder.path(), &["import", "out/new/arazzo.json"], ""));
    assert_eq!(imported, Json::parse(PLAN).unwrap());

    let several = r#"{"arazzo":"1.0.1","info":{},"sourceDescriptions":[],"workflows":[
        {"workflowId":"a","steps":[{"stepId":"s","operationId":"t"}]},
        {"workflowId":"b","steps":[{"stepId":"s","operationId":"t","onSuccess":[]}]}]}"#;
    let import = |more: &[&str]| plan(folder.path(), &[&["import", "-"], more].concat(), several);
    let ran = import(&[]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("the document has 2: a, b"), "{}", ran.stderr);
    json(&import(&["--workflow", "a"]));
    let ran = import(&["--workflow", "b"]);
    assert!(ran.stderr.starts_with("/workflows/1/steps/0/onSuccess: "), "{}", ran.stderr);
    assert_eq!(plan(folder.path(), &["import", "--view", "plan.json"], "").code, 2);
}

/// A workflow that another program wrote: unsorted, with edges by index and without what is optional.
const WORKFLOW: &str = r#"{"nodes":[
    {"step_index":1,"tool_name":"band_structure","input_parameters":[
        {"name":"structure","type":"str","value":""},{"name":"points","type":"int","value":0}]},
    {"step_index":0,"tool_name":"optimize_structure","tool_args":{"input_structure":"https://example.com/Cu_bulk.cif",
        "model_path":"https://example.com/dpa-2.4-7M.pt","relax_cell":false},"missing_tool_args":[],"input_parameters":[
        {"name":"input_structure","type":"str","value":"https://example.com/Cu_bulk.cif"},
        {"name":"model_path","type":"str","value":"https://example.com/dpa-2.4-7M.pt"},
        {"name":"head","type":"str","value":"Omat24"},{"name":"force_tolerance","type":"float","value":0.01},
        {"name":"max_iterations","type":"int","value":100},{"name":"relax_cell","type":"bool","value":false}]}],
    "edges":[{"source":0,"source_output":"optimized","target":"1","target_parameter":"structure","target_path":""}]}"#;

#[test]
fn a_workflow_of_another_program_is_imported_without_a_plan() {
    let folder = folder(&[("tools.json", TOOLS), ("workflow.json", WORKFLOW)]);
    let import = |file: &str, input: &str| {
        let tools = ["--tools", "tools.json", "--hide", "@system"];
        plan(folder.path(), &[&["import", file], &tools[..]].concat(), input)
    };
    let ran = import("workflow.json", "");
    let expected = r#"{"plan":"1","steps":{
        "optimize_structure":{"tool":"optimize_structure","args":{"input_structure":"https://example.com/Cu_bulk.cif",
            "model_path":"https://example.com/dpa-2.4-7M.pt"}},
        "band_structure":{"tool":"band_structure","args":{"structure":{"$from":"optimize_structure/optimized"}}}},
        "outputs":{"band_structure":{"$from":"band_structure"}}}"#;
    assert_eq!(json(&ran), Json::parse(expected).unwrap());
    assert_eq!(
        ran.stderr,
        "warning: the nodes are not in the order of their edges; sorted: optimize_structure, band_structure\n"
    );

    // A zero that nobody gave is no argument.
    let missing = WORKFLOW.replace(r#""model_path":"https://example.com/dpa-2.4-7M.pt","#, "");
    let missing = import("-", &missing.replace("https://example.com/dpa-2.4-7M.pt", ""));
    assert_eq!((missing.code, missing.text().as_str()), (1, ""));
    assert!(
        missing.stderr.contains("the tool 'optimize_structure' requires 'model_path'"),
        "{}",
        missing.stderr
    );
    let unknown =
        WORKFLOW.replace("band_structure", "band_structures").replace("optimize", "optimise");
    let unknown = import("-", &unknown);
    assert_eq!(
        unknown.stderr,
        "/nodes/0/tool_name: there is no tool 'band_structures'; did you mean 'band_structure'?\n\
         /nodes/1/tool_name: there is no tool 'optimise_structure'; did you mean 'optimize_structure'?\n\
         error: stdin: 2 errors\n"
    );
    let back = r#""edges":[{"source":1,"target":0,"target_parameter":"head"},"#;
    let cycle = import("-", &WORKFLOW.replace(r#""edges":["#, back));
    assert_eq!(
        cycle.stderr,
        "/steps/optimize_structure/args/head: the steps wait for each other: \
         optimize_structure → band_structure → optimize_structure\nerror: stdin: 1 error\n"
    );

    // The tools may be those of the configuration.
    let document = r#"{"nodes":[{"id":"读","tool_name":"read_file","input_parameters":[{"name":"path","value":"a.txt"}]}]}"#;
    std::fs::write(folder.path().join("a.txt"), "α").unwrap();
    let imported = plan(folder.path(), &["import", "-"], document);
    let ran = plan(folder.path(), &["run", "-"], &imported.text());
    assert_eq!(json(&ran).compact(), r#"{"读":"α"}"#);
}
