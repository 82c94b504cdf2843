//! The workflow view of a plan, and the way back from an edited one.

use std::fmt::Write;

use toolwright_core::args::hidden_names;
use toolwright_core::{Json, Tool};
use toolwright_plan::{Plan, PlanTool, PlanTools, Resource, ResourceUse, View, import_view};
use toolwright_testing::seeds::{self, Dice};

use super::{json, plan};

pub(super) const OPTIMIZE: &str = r#"{"type":"object","required":["input_structure","model_path"],"properties":{
    "input_structure":{"type":"string","description":"Input structure file URL or path"},
    "model_path":{"type":"string","description":"Path to the DPA model file"},
    "head":{"type":"string","description":"Model head type","default":"Omat24"},
    "force_tolerance":{"type":"number","description":"Force convergence tolerance","default":0.01},
    "max_iterations":{"type":"integer","description":"Maximum optimization iterations","default":100},
    "relax_cell":{"type":"boolean","description":"Whether to relax cell parameters","default":false},
    "executor":{"type":"object","description":"Executor configuration"},
    "storage":{"type":"object","description":"Storage configuration"}}}"#;

pub(super) fn tool(name: &str, schema: &str, hidden: &str) -> PlanTool {
    let mut tool = Tool::function(name, json(schema));
    tool.description = Some(format!("The tool {name}"));
    PlanTool::new(tool, hidden_names(hidden))
}

pub(super) fn view(plan: &Plan, tools: &PlanTools) -> Json {
    View::new(plan, tools).unwrap().to_json().into()
}

/// The parameters of a node, as `name type value`.
fn parameters(view: &Json, node: usize) -> Vec<String> {
    let list = view.pointer(&format!("/nodes/{node}/input_parameters")).unwrap();
    let text = |own: &Json, name: &str| own.get(name).unwrap().compact().replace('"', "");
    let parameter = |own: &Json| {
        let value = own.get("value").unwrap().compact();
        format!("{} {} {value}", text(own, "name"), text(own, "type"))
    };
    list.as_array().unwrap().iter().map(parameter).collect()
}

pub(super) fn at<'j>(view: &'j Json, pointer: &str) -> &'j Json {
    view.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {view}"))
}

fn set(view: &mut Json, pointer: &str, value: &str) {
    *view.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = json(value);
}

#[test]
fn the_view_has_every_parameter_by_the_rules_of_the_workflow_format() {
    let tools = PlanTools::new([tool("optimize_structure", OPTIMIZE, "@system")]);
    let plan = plan(
        r#"{"plan":"1","steps":{"relax":{"tool":"optimize_structure","args":{
            "input_structure":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../Cu_bulk.cif",
            "model_path":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../dpa-2.4-7M.pt",
            "relax_cell":false}}}}"#,
    );
    let expected = json(
        r#"{"nodes":[{
            "id":"relax","step_index":0,"tool_name":"optimize_structure","description":"The tool optimize_structure",
            "tool_args":{
                "input_structure":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../Cu_bulk.cif",
                "model_path":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../dpa-2.4-7M.pt",
                "relax_cell":false,"head":"Omat24","force_tolerance":0.01,"max_iterations":100},
            "missing_tool_args":[],
            "input_parameters":[
                {"name":"input_structure","type":"str","value":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../Cu_bulk.cif"},
                {"name":"model_path","type":"str","value":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../dpa-2.4-7M.pt"},
                {"name":"head","type":"str","value":"Omat24"},
                {"name":"force_tolerance","type":"float","value":0.01},
                {"name":"max_iterations","type":"int","value":100},
                {"name":"relax_cell","type":"bool","value":false}]}],
          "edges":[]}"#,
    );
    // The order of the members counts as well.
    assert_eq!(view(&plan, &tools).compact(), expected.compact());
}

#[test]
fn a_parameter_that_a_tool_has_gained_is_in_the_view_of_an_older_plan() {
    let plan = plan(
        r#"{"plan":"1","steps":{"a":{"tool":"optimize_structure","args":{"input_structure":"x","model_path":"y"}}}}"#,
    );
    let old = PlanTools::new([tool("optimize_structure", OPTIMIZE, "@system")]);
    assert_eq!(parameters(&view(&plan, &old), 0).len(), 6);
    let schema = OPTIMIZE.replace(
        r#""head":"#,
        r#""pressure":{"type":"number"},"optimizer":{"type":"string","default":"BFGS"},"head":"#,
    );
    let new = view(&plan, &PlanTools::new([tool("optimize_structure", &schema, "@system")]));
    assert_eq!(parameters(&new, 0)[2..4], ["pressure float 0.0", r#"optimizer str "BFGS""#]);
    assert_eq!(at(&new, "/nodes/0/missing_tool_args"), &json(r#"["pressure"]"#));
}

#[test]
fn types_come_from_unions_and_references_and_absent_values_are_zeros() {
    let schema = r##"{"$defs":{"size":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/whole"}]},"whole":{"type":"integer"},
            "loop":{"$ref":"#/$defs/loop"},"base":{"properties":{"inherited":{"type":"array"}},"required":["inherited"]}},
        "type":"object","allOf":[{"$ref":"#/$defs/base"}],"properties":{
            "text":{"type":"string"},"whole":{"type":"integer"},"number":{"type":"number"},"flag":{"type":"boolean"},
            "list":{"type":"array"},"dict":{"type":"object"},
            "nullable":{"type":["null","number","string"]},"union":{"anyOf":[{"type":"null"},{"type":"boolean"},{"type":"string"}]},
            "nested":{"anyOf":[{"$ref":"#/$defs/size"},{"type":"string"}]},"one":{"oneOf":[{"type":"array"},{"type":"object"}]},
            "all":{"allOf":[{"description":"x"},{"$ref":"#/$defs/whole"}]},"null":{"type":"null"},"any":{},"loop":{"$ref":"#/$defs/loop"},
            "values":{"enum":[null,2,"x"]},"constant":{"const":true},"members":{"properties":{}},"items":{"items":{}},
            "none":{"type":["string","null"],"default":null},"half":{"type":"number","default":1},
            "invalid":{"type":"integer","default":"many"}},
        "required":["text","unnamed"]}"##;
    let tools = PlanTools::new([tool("t", schema, "")]);
    let view = view(&plan(r#"{"plan":"1","steps":{"a":{"tool":"t"}}}"#), &tools);
    assert_eq!(
        parameters(&view, 0),
        [
            r#"text str """#,
            "whole int 0",
            "number float 0.0",
            "flag bool false",
            "list list []",
            "dict dict {}",
            "nullable float 0.0",
            "union bool false",
            "nested int 0",
            "one list []",
            "all int 0",
            r#"null str """#,
            r#"any str """#,
            r#"loop str """#,
            "values int 0",
            "constant bool false",
            "members dict {}",
            "items list []",
            r#"none str """#,
            "half float 1",
            "invalid int 0",
            "inherited list []",
            r#"unnamed str """#,
        ]
    );
    // A default that is null or invalid is ignored.
    assert_eq!(at(&view, "/nodes/0/tool_args"), &json(r#"{"half":1}"#));
    let missing = at(&view, "/nodes/0/missing_tool_args").as_array().unwrap();
    assert_eq!(missing.len(), parameters(&view, 0).len() - 1);
    assert!(missing.contains(&"none".into()) && missing.contains(&"invalid".into()));
}

/// Tools with parameters of all kinds.
pub(super) fn tools() -> PlanTools {
    let uses = |writes| vec![ResourceUse { resource: Resource::Slot("table".to_owned()), writes }];
    let mut load = tool(
        "load",
        r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"rows":{"type":"integer","default":10},
            "strict":{"type":"boolean"},"secret":{"type":"string"}}}"#,
        "secret",
    );
    load.uses = uses(true);
    let mut sum = tool(
        "sum",
        r#"{"type":"object","properties":{"columns":{"type":"array"},"options":{"type":"object","default":{"round":2}},
            "scale":{"type":"number"},"label":{"type":"string"}}}"#,
        "",
    );
    sum.uses = uses(false);
    PlanTools::new([
        load,
        sum,
        tool("open", r#"{"type":"object","additionalProperties":true}"#, ""),
    ])
}

const LINKED: &str = r#"{"plan":"1","name":"Sums","inputs":{"type":"object"},"steps":{
    "load":{"tool":"load","args":{"path":{"$from":"inputs/path"},"strict":true},"retry":{"max":2}},
    "sums":{"tool":"sum","args":{"label":{"$from":"item/na~1me"},"scale":{"$from":"index"},
        "columns":["x",{"$from":"load","$as":"handle"},{"$from":"load/tables/0","$default":[]}],
        "options":{"deep":{"a":{"$from":"item"}},"b":1}},"each":{"$from":"load/tables/all"},"on_error":"skip"},
    "show":{"tool":"open","args":{"value":{"$from":"item"},"title":"总和","note":{"$literal":{"$from":"x"}}},
        "after":["load","sums"],"each":[1,2],"when":{"$from":"load/ok"},"digest":"d"}},
    "outputs":{"all":{"$from":"show"}}}"#;

#[test]
fn edges_name_steps_outputs_parameters_and_paths() {
    let view = view(&plan(LINKED), &tools());
    let edges = at(&view, "/edges").as_array().unwrap();
    let expected = [
        r#"{"source":"inputs","source_output":"path","target":"load","target_parameter":"path","target_path":""}"#,
        r#"{"source":"load","source_output":"tables/all","target":"sums","target_parameter":"label","target_path":"","each":"item/na~1me"}"#,
        r#"{"source":"load","source_output":"tables/all","target":"sums","target_parameter":"scale","target_path":"","each":"index"}"#,
        r#"{"source":"load","source_output":"","target":"sums","target_parameter":"columns","target_path":"/1"}"#,
        r#"{"source":"load","source_output":"tables/0","target":"sums","target_parameter":"columns","target_path":"/2"}"#,
        r#"{"source":"load","source_output":"tables/all","target":"sums","target_parameter":"options","target_path":"/deep/a","each":"item"}"#,
        r#"{"source":"item","source_output":"","target":"show","target_parameter":"value","target_path":""}"#,
        r#"{"source":"load","source_output":"","target":"sums","target_parameter":null,"target_path":"","slot":"table"}"#,
    ];
    assert_eq!(edges.iter().map(Json::compact).collect::<Vec<_>>(), expected);
    // A parameter with a reference inside shows no value, and hidden ones are not shown.
    assert_eq!(parameters(&view, 0), [r#"path str """#, "rows int 10", "strict bool true"]);
    assert_eq!(
        parameters(&view, 1),
        [r#"columns list """#, r#"options dict """#, r#"scale float """#, r#"label str """#]
    );
    assert_eq!(at(&view, "/nodes/1/tool_args"), &json("{}"));
    // Arguments that an open tool does not name follow.
    assert_eq!(
        parameters(&view, 2),
        [r#"value str """#, r#"title str "总和""#, r#"note dict {"$from":"x"}"#]
    );
    assert_eq!(at(&view, "/nodes/2/after"), &json(r#"["load","sums"]"#));
    assert_eq!(at(&view, "/nodes/2/step_index"), &json("2"));
}

#[test]
fn every_unknown_tool_is_an_error_of_the_view() {
    let plan =
        plan(r#"{"plan":"1","steps":{"a":{"tool":"laod"},"b":{"tool":"sum"},"c":{"tool":"x"}}}"#);
    let errors = View::new(&plan, &tools()).unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "/steps/a/tool: there is no tool 'laod'; did you mean 'load'?",
            "/steps/c/tool: there is no tool 'x'",
        ]
    );
}

/// Edits the view of a plan and returns the patched steps.
fn edited(edit: impl FnOnce(&mut Json)) -> Json {
    let base = plan(LINKED);
    let mut view = view(&base, &tools());
    edit(&mut view);
    let patched = import_view(&view, &base, &tools()).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!((&patched.outputs, &patched.name), (&base.outputs, &base.name));
    patched.to_json().get("steps").unwrap().clone()
}

fn step(id: &str) -> Json {
    at(&json(LINKED), &format!("/steps/{id}")).clone()
}

#[test]
fn a_changed_value_is_set_and_nothing_else() {
    let steps = edited(|view| {
        set(view, "/nodes/0/input_parameters/1/value", "20");
        // The same numbers in another notation are no change.
        set(view, "/nodes/0/tool_args/rows", "10.0");
        set(view, "/nodes/2/tool_args/title", r#""合计""#);
    });
    let mut load = step("load");
    load.pointer_mut("/args").unwrap().as_object_mut().unwrap().insert("rows", 20_u64);
    assert_eq!(at(&steps, "/load").compact(), load.compact());
    assert_eq!(at(&steps, "/sums"), &step("sums"));
    let mut show = step("show");
    set(&mut show, "/args/title", r#""合计""#);
    assert_eq!(at(&steps, "/show"), &show);
}

#[test]
fn a_zero_counts_once_its_name_has_left_the_missing_ones() {
    let base = plan(r#"{"plan":"1","steps":{"a":{"tool":"sum"}}}"#);
    let args = |edit: &dyn Fn(&mut Json)| {
        let mut view = view(&base, &tools());
        edit(&mut view);
        let plan = import_view(&view, &base, &tools()).unwrap();
        Json::from(plan.to_json()).pointer("/steps/a/args").map(Json::compact)
    };
    assert_eq!(args(&|_| {}), None);
    let confirm = |view: &mut Json| set(view, "/nodes/0/missing_tool_args", r#"["columns"]"#);
    assert_eq!(args(&confirm).as_deref(), Some(r#"{"scale":0.0,"label":""}"#));
    // A name that was added becomes absent.
    let base = plan(r#"{"plan":"1","steps":{"a":{"tool":"sum","args":{"scale":2,"label":"x"}}}}"#);
    let mut view = view(&base, &tools());
    set(&mut view, "/nodes/0/missing_tool_args", r#"["columns","scale"]"#);
    let patched = import_view(&view, &base, &tools()).unwrap().to_json();
    assert_eq!(at(&patched.into(), "/steps/a/args"), &json(r#"{"label":"x"}"#));
}

#[test]
fn edges_are_removed_added_and_replaced() {
    let steps = edited(|view| {
        let edges = at(view, "/edges").as_array().unwrap().to_vec();
        let mut kept: Vec<Json> = edges
            .into_iter()
            .filter(|edge| {
                let text = edge.compact();
                !text.contains("inputs") && !text.contains(r#""/1""#) && !text.contains("scale")
            })
            .collect();
        for edge in [
            r#"{"source":"inputs","source_output":"rows","target":"load","target_parameter":"rows"}"#,
            r#"{"source":"load","source_output":"tables/all","target":"sums","target_parameter":"options","target_path":"/deep/i","each":"index"}"#,
            r#"{"source":"sums","source_output":"0","target":"show","target_parameter":"more","target_path":"/0/x"}"#,
            r#"{"source":"sums","source_output":"","target":"show","target_parameter":"title","target_path":""}"#,
        ] {
            kept.push(json(edge));
        }
        *view.pointer_mut("/edges").unwrap() = Json::Array(kept);
        set(view, "/nodes/0/input_parameters/0/value", r#""local.csv""#);
    });
    assert_eq!(
        at(&steps, "/load/args"),
        &json(r#"{"path":"local.csv","strict":true,"rows":{"$from":"inputs/rows"}}"#)
    );
    assert_eq!(
        at(&steps, "/sums/args"),
        &json(
            r#"{"label":{"$from":"item/na~1me"},"columns":["x",{"$from":"load/tables/0","$default":[]}],
                "options":{"deep":{"a":{"$from":"item"},"i":{"$from":"index"}},"b":1}}"#
        )
    );
    assert_eq!(
        at(&steps, "/show/args"),
        &json(
            r#"{"value":{"$from":"item"},"title":{"$from":"sums"},"note":{"$literal":{"$from":"x"}},
                "more":[{"x":{"$from":"sums/0"}}]}"#
        )
    );
}

#[test]
fn a_value_with_references_can_be_replaced_around_them() {
    let steps = edited(|view| {
        set(view, "/nodes/1/input_parameters/0/value", r#"["a",null,null,"b"]"#);
        // Another source of the same place.
        set(view, "/edges/4/source_output", r#""tables/1""#);
    });
    assert_eq!(
        at(&steps, "/sums/args/columns"),
        &json(r#"["a",{"$from":"load","$as":"handle"},{"$from":"load/tables/1"},"b"]"#)
    );
}

#[test]
fn nodes_are_removed_added_reordered_and_get_other_tools() {
    let steps = edited(|view| {
        let nodes = at(view, "/nodes").as_array().unwrap().to_vec();
        let added = json(
            r#"{"id":"新","tool_name":"sum","input_parameters":[{"name":"label","value":"x"},{"name":"scale","value":0.0}]}"#,
        );
        let mut load = nodes[0].clone();
        set(&mut load, "/tool_name", r#""sum""#);
        *view.pointer_mut("/nodes").unwrap() = Json::Array(vec![nodes[2].clone(), load, added]);
        set(
            view,
            "/edges",
            r#"[{"source":"item","source_output":"","target":"show","target_parameter":"value","target_path":""}]"#,
        );
    });
    let mut show = step("show");
    set(&mut show, "/after", r#"["load"]"#);
    let expected = format!(
        r#"{{"show":{show},"load":{{"tool":"sum","retry":{{"max":2}}}},"新":{{"tool":"sum","args":{{"label":"x"}}}}}}"#
    );
    assert_eq!(steps.compact(), json(&expected).compact());
}

#[test]
fn all_errors_of_a_view_are_found_at_once() {
    let base = plan(LINKED);
    let errors = |text: &str| -> Vec<String> {
        let errors = import_view(&json(text), &base, &tools()).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    };
    assert_eq!(errors("[]"), ["the plan: this must be an object, not an array"]);
    assert_eq!(errors("{}"), ["/nodes: 'nodes' is a list with at least one node"]);
    let found = errors(
        r#"{"nodes":[
            {"id":"load","tool_name":"laod"},
            {"id":"sums","input_parameters":[{"name":"lable","value":"x"},{"name":3},{"name":"scale"},7],
                "tool_args":{"colums":1},"missing_tool_args":"all","after":["lod"]},
            {"id":"show","tool_name":3,"input_parameters":{}},
            {"id":"show"},{"id":"a b","tool_name":"sum"},{"id":"new"},{"tool_name":"sum"},
            {"id":"secret","tool_name":"load","tool_args":{"secret":"x","rows":1},"input_parameters":[{"name":"rows","value":2}]}],
          "edges":[
            {"source":"loda","target":"sums","target_parameter":"label","source_output":""},
            {"source":"load","target":"sum","target_parameter":"label"},
            {"source":"load","target":"sums","target_parameter":"labels"},
            {"source":"load","target":"sums"},{"source":"load","target":"sums","target_parameter":null},
            {"source":"load","target":"sums","target_parameter":"scale","target_path":"x"},
            {"source":"load","target":"sums","target_parameter":"columns","target_path":"/9"},
            {"source":"load","target":"sums","target_parameter":"options"},
            {"source":"load","target":"sums","target_parameter":"options","target_path":"/a"},
            {"source":"load","target":"sums","target_parameter":"scale","each":"load/x"},3]}"#,
    );
    let expected = [
        "/nodes/1/input_parameters/1/name: this must be a string, not a number",
        "/nodes/1/input_parameters/1/value: this member is required",
        "/nodes/1/input_parameters/2/value: this member is required",
        "/nodes/1/input_parameters/3: this must be an object, not a number",
        "/nodes/1/missing_tool_args: this must be an array, not a string",
        "/nodes/2/input_parameters: this must be an array, not an object",
        "/nodes/2/tool_name: this must be a string, not a number",
        "/nodes/3/id: there are two nodes with the id 'show'",
        "/nodes/4/id: the id of a step has 1 to 64 letters, digits and the characters '_', '-' and '.', and begins \
         with a letter, a digit or '_'",
        "/nodes/6/id: this member is required",
        "/edges/3/target_parameter: this member is required",
        "/edges/4/target_parameter: this must be a string, not null",
        "/edges/5/target_path: 'target_path' is a JSON Pointer: it is empty or begins with '/'",
        "/edges/10: this must be an object, not a number",
        "/edges/1/target: there is no node 'sum'; did you mean 'sums'?",
        "/nodes/0/tool_name: there is no tool 'laod'; did you mean 'load'?",
        "/nodes/1/input_parameters/0/name: the tool 'sum' has no parameter 'lable'; did you mean 'label'?",
        "/nodes/1/tool_args/colums: the tool 'sum' has no parameter 'colums'; did you mean 'columns'?",
        "/edges/2/target_parameter: the tool 'sum' has no parameter 'labels'; did you mean 'label'?",
        "/edges/0/source: there is no node 'loda'; did you mean 'load'?",
        "/edges/9/each: 'each' is a reference to an item of 'each': 'item', 'item/…' or 'index'",
        "/edges/6/target_path: the path leads to no place in the argument",
        "/edges/8/target_path: another edge feeds the whole parameter",
        "/nodes/1/after/0: there is no node 'lod'; did you mean 'load'?",
        "/nodes/5/tool_name: 'tool_name' is the name of the tool of a new node",
        "/nodes/7/tool_args/secret: the parameter 'secret' of 'load' is hidden: the host fills it",
        "/nodes/7/tool_args/rows: 'rows' has another value in 'input_parameters': change one of them, or make them equal",
    ];
    let mut text = String::new();
    for line in found.iter().filter(|line| !expected.contains(&line.as_str())) {
        writeln!(text, "unexpected {line}").unwrap();
    }
    for line in expected.iter().filter(|line| !found.iter().any(|own| own == *line)) {
        writeln!(text, "missing {line}").unwrap();
    }
    assert!(text.is_empty(), "{text}");
    let without_load = r#"{"nodes":[{"id":"sums"},{"id":"show"}],"edges":[
        {"source":"load","source_output":"","target":"sums","target_parameter":"columns","target_path":"/1"}]}"#;
    assert_eq!(errors(without_load), ["/edges/0/source: there is no node 'load'"]);
}

/// A value with references to earlier steps here and there.
fn generated_value(dice: &mut Dice, steps: usize, depth: usize) -> String {
    match dice.roll(if depth > 2 { 9 } else { 12 }) {
        0 => "\"\"".to_owned(),
        1 => dice.pick(&["0", "10", "0.0", "-1.5e3"]).to_owned(),
        2 => dice.pick(&["null", "false", "true", "[]", "{}"]).to_owned(),
        3 => r#"{"round":2}"#.to_owned(),
        4 => r#"{"$literal":{"$from":"nothing"}}"#.to_owned(),
        5 | 6 if steps > 0 => {
            let more = dice.pick(&["", r#","$as":"handle""#, r#","$default":null"#]);
            let pointer = dice.pick(&["", "/a", "/a~1b/0", "//x"]);
            format!(r#"{{"$from":"s{}{pointer}"{more}}}"#, dice.roll(steps))
        }
        7 => format!(r#"{{"$from":"{}"}}"#, dice.pick(&["inputs/x", "item", "index", "item/名"])),
        9 => {
            let items: Vec<String> =
                (0..dice.roll(4)).map(|_| generated_value(dice, steps, depth + 1)).collect();
            format!("[{}]", items.join(","))
        }
        10 | 11 => {
            let members: Vec<String> = (0..dice.roll(4))
                .map(|at| format!(r#""k/{at}":{}"#, generated_value(dice, steps, depth + 1)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        _ => "\"text\"".to_owned(),
    }
}

fn generated_plan(seed: u64) -> Plan {
    let dice = &mut Dice::new(seed);
    let mut steps = Vec::new();
    for at in 0..=dice.roll(5) {
        let tool = dice.pick(&["load", "sum", "open"]);
        let names =
            ["path", "rows", "strict", "columns", "options", "scale", "label", "secret", "other"];
        let mut args = Vec::new();
        for name in names {
            if dice.roll(3) == 0 {
                args.push(format!(r#""{name}":{}"#, generated_value(dice, at, 0)));
            }
        }
        let each = match dice.roll(4) {
            0 => r#","each":[1,2]"#.to_owned(),
            1 if at > 0 => format!(r#","each":{{"$from":"s{}/all"}}"#, dice.roll(at)),
            _ => String::new(),
        };
        let more =
            dice.pick(&["", r#","retry":{"max":1}"#, r#","after":["s0"]"#, r#","digest":"d""#]);
        steps.push(format!(
            r#""s{at}":{{"tool":"{tool}","args":{{{}}}{each}{more}}}"#,
            args.join(",")
        ));
    }
    plan(&format!(r#"{{"plan":"1","inputs":true,"steps":{{{}}}}}"#, steps.join(",")))
}

#[test]
fn an_unedited_view_changes_nothing() {
    seeds::check(|seed| {
        for round in 0..150 {
            let base = generated_plan(seed.wrapping_add(round));
            let text = view(&base, &tools()).compact();
            let same = import_view(&json(&text), &base, &tools())
                .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
            assert_eq!(same, base, "{text}");
        }
    });
}

#[test]
fn an_edited_value_is_in_the_view_of_the_patched_plan() {
    seeds::check(|seed| {
        for round in 0..150 {
            let dice = &mut Dice::new(seed.wrapping_add(round));
            let base = generated_plan(seed.wrapping_add(round));
            let mut edited = view(&base, &tools());
            let nodes = at(&edited, "/nodes").as_array().unwrap();
            let node = dice.roll(nodes.len());
            let list = at(&nodes[node], "/input_parameters").as_array().unwrap();
            if list.is_empty() {
                continue;
            }
            let parameter = dice.roll(list.len());
            let name = at(&list[parameter], "/name").as_str().unwrap().to_owned();
            let id = at(&nodes[node], "/id").as_str().unwrap().to_owned();
            let edges = at(&edited, "/edges").as_array().unwrap().iter();
            let kept = edges.filter(|edge| {
                at(edge, "/target").as_str() != Some(&id)
                    || at(edge, "/target_parameter").as_str() != Some(&name)
            });
            let kept = Json::Array(kept.cloned().collect());
            *edited.pointer_mut("/edges").unwrap() = kept.clone();
            let pointer = format!("/nodes/{node}/input_parameters/{parameter}/value");
            set(&mut edited, &pointer, r#""edited""#);
            let patched = import_view(&edited, &base, &tools()).unwrap();
            let after = view(&patched, &tools());
            assert_eq!(at(&after, &pointer), &json(r#""edited""#));
            assert!(at(&after, "/edges").same(&kept), "{after}\n{kept}");
            let others = |plan: &Plan| -> Vec<Json> {
                let mut plan = plan.clone();
                plan.steps[node].args.retain(|(own, _)| *own != name);
                plan.steps.iter().map(|step| step.to_json().into()).collect()
            };
            assert_eq!(others(&patched), others(&base));
        }
    });
}
