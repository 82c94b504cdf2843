//! Workflows of other programs, which become plans without the plan that they came from.

use toolwright_core::{Json, object};
use toolwright_plan::{MAX_STEPS, Plan, PlanTool, PlanTools, check, import_workflow};
use toolwright_testing::seeds::{self, Dice};

use super::json;
use super::view::{OPTIMIZE, at, tool, tools, view};

/// The tool of the workflow format, and one that takes its output.
fn structures() -> PlanTools {
    let bands = r#"{"type":"object","required":["structure"],"properties":{"structure":{"type":"string"},
        "points":{"type":"integer"},"paths":{"type":"array"},"plot":{"type":"object","default":{"dpi":150}}}}"#;
    PlanTools::new([tool("optimize_structure", OPTIMIZE, "@system"), tool("bands", bands, "")])
}

fn imported(document: &Json, tools: &PlanTools) -> (Plan, bool) {
    let imported = import_workflow(document, tools).unwrap_or_else(|all| panic!("{all:?}"));
    let errors = check(&imported.0, tools, MAX_STEPS).errors;
    assert!(errors.is_empty(), "{errors:?}\n{document}");
    imported
}

fn errors(document: &str, tools: &PlanTools) -> Vec<String> {
    let errors = match import_workflow(&json(document), tools) {
        Ok((plan, _)) => check(&plan, tools, MAX_STEPS).errors,
        Err(errors) => errors,
    };
    errors.iter().map(ToString::to_string).collect()
}

/// A view by ids, so that orders do not count.
fn unordered(view: &Json) -> (Vec<(String, Json)>, Vec<String>) {
    let by_name = |list: &Json, key: &str| {
        let list = list.as_array().unwrap().iter();
        let mut list: Vec<(String, Json)> = list
            .map(|entry| (at(entry, key).as_str().unwrap().to_owned(), entry.clone()))
            .collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list
    };
    let mut nodes = by_name(at(view, "/nodes"), "/id");
    for (_, node) in &mut nodes {
        for list in ["missing_tool_args", "input_parameters"] {
            let Some(Json::Array(items)) = node.pointer_mut(&format!("/{list}")) else { continue };
            items.sort_by_key(Json::compact);
        }
    }
    let mut edges: Vec<String> =
        at(view, "/edges").as_array().unwrap().iter().map(Json::compact).collect();
    edges.sort();
    (nodes, edges)
}

/// Asserts that the view of the imported plan has everything that the workflow has.
fn assert_in_view(plan: &Plan, tools: &PlanTools, document: &Json) {
    let shown = view(plan, tools);
    let ((shown, shown_edges), (nodes, edges)) = (unordered(&shown), unordered(document));
    assert_eq!(shown_edges, edges);
    assert_eq!(shown.len(), nodes.len());
    for ((_, shown), (id, node)) in shown.iter().zip(&nodes) {
        for (name, value) in node.as_object().unwrap().iter() {
            assert!(at(shown, &format!("/{name}")).equals(value), "{id}/{name}: {shown}\n{node}");
        }
    }
}

fn without(document: &Json, members: &[&str]) -> Json {
    let mut document = document.clone();
    let Some(Json::Array(nodes)) = document.pointer_mut("/nodes") else { panic!("no nodes") };
    for node in nodes {
        for name in members {
            node.as_object_mut().unwrap().remove(name);
        }
    }
    document
}

/// Replaces the ends of edges by indices, as numbers or as texts.
fn by_index(document: &Json, as_text: bool) -> Json {
    let mut document = document.clone();
    let nodes = at(&document, "/nodes").as_array().unwrap().to_vec();
    let index = |id: &Json| {
        let node = nodes.iter().position(|node| at(node, "/id") == id)?;
        let given = nodes[node].get("step_index").and_then(Json::as_u64);
        let index = given.unwrap_or(node as u64);
        Some(if as_text { index.to_string().into() } else { index.into() })
    };
    let Some(Json::Array(edges)) = document.pointer_mut("/edges") else { panic!("no edges") };
    for edge in edges {
        for end in ["/source", "/target"] {
            let place: &mut Json = edge.pointer_mut(end).unwrap();
            *place = index(place).unwrap_or_else(|| place.clone());
        }
    }
    document
}

const EXAMPLE: &str = r#"{"nodes":[{"id":"relax","step_index":0,"tool_name":"optimize_structure",
    "tool_args":{"input_structure":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../Cu_bulk.cif",
        "model_path":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../dpa-2.4-7M.pt","relax_cell":false,
        "head":"Omat24","force_tolerance":0.01,"max_iterations":100},
    "missing_tool_args":[],
    "input_parameters":[
        {"name":"input_structure","type":"str","value":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../Cu_bulk.cif"},
        {"name":"model_path","type":"str","value":"https://bohrium.oss-cn-zhangjiakou.aliyuncs.com/.../dpa-2.4-7M.pt"},
        {"name":"head","type":"str","value":"Omat24"},{"name":"force_tolerance","type":"float","value":0.01},
        {"name":"max_iterations","type":"int","value":100},{"name":"relax_cell","type":"bool","value":false}]}],
    "edges":[]}"#;

/// Two nodes, the first of which takes the output of the second, in the whole of a parameter and in parts of others.
const SWAPPED: &str = r#"{"nodes":[
    {"id":"b","step_index":1,"tool_name":"bands","tool_args":{"points":0},"missing_tool_args":[],"input_parameters":[
        {"name":"structure","type":"str","value":""},{"name":"points","type":"int","value":0},
        {"name":"paths","type":"list","value":""},{"name":"plot","type":"dict","value":""}]},
    {"id":"a","step_index":0,"tool_name":"optimize_structure",
        "tool_args":{"model_path":"m.pt","head":"MP","force_tolerance":0.01,"max_iterations":100,"relax_cell":false},
        "missing_tool_args":[],"input_parameters":[
        {"name":"input_structure","type":"str","value":""},{"name":"model_path","type":"str","value":"m.pt"},
        {"name":"head","type":"str","value":"MP"},{"name":"force_tolerance","type":"float","value":0.01},
        {"name":"max_iterations","type":"int","value":100},{"name":"relax_cell","type":"bool","value":false}]}],
    "edges":[
        {"source":"a","source_output":"paths/1","target":"b","target_parameter":"paths","target_path":"/1/to"},
        {"source":"a","source_output":"paths/0","target":"b","target_parameter":"paths","target_path":"/0"},
        {"source":"a","source_output":"optimized","target":"b","target_parameter":"structure","target_path":""},
        {"source":"a","source_output":"title","target":"b","target_parameter":"plot","target_path":"/axes/x/标题"},
        {"source":"inputs","source_output":"cif","target":"a","target_parameter":"input_structure","target_path":""}]}"#;

#[test]
fn the_view_of_an_imported_workflow_is_the_workflow() {
    let tools = structures();
    for document in [EXAMPLE, SWAPPED] {
        let document = json(document);
        for absent in [
            &[][..],
            &["step_index"],
            &["tool_args"],
            &["missing_tool_args"],
            &["tool_args", "missing_tool_args", "step_index"],
            &["input_parameters"],
        ] {
            let document = without(&document, absent);
            let (plan, _) = imported(&document, &tools);
            assert_in_view(&plan, &tools, &document);
            for as_text in [false, true] {
                assert_eq!(imported(&by_index(&document, as_text), &tools).0, plan);
            }
        }
    }
    let (plan, is_reordered) = imported(&json(SWAPPED), &tools);
    assert!(is_reordered && !imported(&json(EXAMPLE), &tools).1);
    let expected = r#"{"plan":"1","inputs":{"type":"object","properties":{"cif":{}},"required":["cif"]},"steps":{
        "a":{"tool":"optimize_structure","args":{"input_structure":{"$from":"inputs/cif"},"model_path":"m.pt","head":"MP"}},
        "b":{"tool":"bands","args":{"structure":{"$from":"a/optimized"},"points":0,
            "paths":[{"$from":"a/paths/0"},{"to":{"$from":"a/paths/1"}}],
            "plot":{"axes":{"x":{"标题":{"$from":"a/title"}}}}}}},
        "outputs":{"b":{"$from":"b"}}}"#;
    assert_eq!(Json::from(plan.to_json()), json(expected));
}

#[test]
fn defaults_and_zeros_are_no_arguments_and_a_required_zero_is_missing() {
    let parameters = |structure: &str| {
        format!(
            r#"[{{"name":"structure","type":"str","value":"{structure}"}},{{"name":"points","type":"int","value":0}},
                {{"name":"paths","type":"list","value":[]}},{{"name":"plot","type":"dict","value":{{"dpi":150.0}}}}]"#
        )
    };
    let document = |structure: &str, more: &str| {
        let parameters = parameters(structure);
        format!(
            r#"{{"nodes":[{{"id":"b","tool_name":"bands","input_parameters":{parameters}{more}}}]}}"#
        )
    };
    for more in ["", r#","tool_args":{"structure":"x"}"#, r#","tool_args":null"#] {
        let (plan, _) = imported(&json(&document("x", more)), &structures());
        assert_eq!(
            Json::from(plan.steps[0].to_json()).get("args"),
            Some(&json(r#"{"structure":"x"}"#))
        );
    }
    let required = ["/steps/b/args: the tool 'bands' requires 'structure'"];
    assert_eq!(errors(&document("", ""), &structures()), required);
    assert_eq!(
        errors(&document("", r#","missing_tool_args":["structure","points"]"#), &structures()),
        required
    );
    // What an edge feeds has no other value, whatever the arguments say.
    let fed = r#"{"nodes":[{"tool_name":"bands","tool_args":{"structure":"a","paths":["p",null]},
        "input_parameters":[{"name":"structure","value":""},{"name":"paths","value":""}]}],"edges":[
        {"source":"inputs","source_output":"s","target":0,"target_parameter":"structure"},
        {"source":"inputs","target":"0","target_parameter":"paths","target_path":"/1"}]}"#;
    let (plan, _) = imported(&json(fed), &structures());
    let args = r#"{"structure":{"$from":"inputs/s"},"paths":["p",{"$from":"inputs"}]}"#;
    assert_eq!(Json::from(plan.steps[0].to_json()).get("args"), Some(&json(args)));
}

#[test]
fn every_problem_of_a_workflow_is_reported() {
    let cycle = r#"{"nodes":[{"id":"a","tool_name":"bands"},{"id":"b","tool_name":"bands"},{"id":"c","tool_name":"bands"}],
        "edges":[{"source":"c","target":"a","target_parameter":"structure"},
        {"source":0,"target":1,"target_parameter":"structure"},{"source":1,"target":2,"target_parameter":"structure"}]}"#;
    assert_eq!(
        errors(cycle, &structures()),
        ["/steps/a/args/structure: the steps wait for each other: a → c → b → a"]
    );
    let unknown = r#"{"nodes":[{"tool_name":"band"},{"tool_name":"optimise_structure"},{"tool_name":"bands"}],
        "edges":[{"source":7,"target":2,"target_parameter":"structure"},{"source":0,"target":"bnads","target_parameter":"x"}]}"#;
    assert_eq!(
        errors(unknown, &structures()),
        [
            "/edges/1/target: there is no node 'bnads'; did you mean 'bands'?",
            "/nodes/0/tool_name: there is no tool 'band'; did you mean 'bands'?",
            "/nodes/1/tool_name: there is no tool 'optimise_structure'; did you mean 'optimize_structure'?",
            "/edges/0/source: there is no node '7'",
        ]
    );
    let twice = r#"{"nodes":[{"tool_name":"bands","step_index":1},{"tool_name":"bands"}]}"#;
    assert_eq!(
        errors(twice, &structures()),
        ["/nodes/1/step_index: there are two nodes with the index 1"]
    );
    assert_eq!(
        errors("{\"nodes\":[]}", &structures()),
        ["/nodes: 'nodes' is a list with at least one node"]
    );
}

/// Tools with parameters of all kinds. They share no slots, whose meaning depends on the order of the nodes.
fn unrelated() -> PlanTools {
    PlanTools::new(tools().iter().map(|tool| PlanTool { uses: Vec::new(), ..tool.clone() }))
}

/// A workflow of a few nodes in any order, as a view of them would show it.
fn generated(dice: &mut Dice, tools: &PlanTools) -> Json {
    let count = 1 + dice.roll(5);
    let mut steps = Vec::new();
    for at in 0..count {
        let source = |dice: &mut Dice| {
            let output = dice.pick(&["", "/a", "/a~1b/0", "//x"]);
            let step = format!(r#"{{"$from":"s{}{output}"}}"#, dice.roll(at.max(1)));
            if at == 0 || dice.roll(4) == 0 { r#"{"$from":"inputs/x"}"#.to_owned() } else { step }
        };
        let mut args = Vec::new();
        for name in ["path", "rows", "strict", "columns", "options", "scale", "label"] {
            let of_load = ["path", "rows", "strict"].contains(&name);
            if of_load != (at % 2 == 0) {
                continue;
            }
            let value = match dice.roll(6) {
                0 => source(dice),
                1 if name == "columns" => format!("[{},{}]", source(dice), source(dice)),
                1 if name == "options" => format!(r#"{{"k/0":{{"列":{}}}}}"#, source(dice)),
                2 | 3 => match name {
                    "path" | "label" => r#""文""#,
                    "rows" => dice.pick(&["0", "10", "7"]),
                    "strict" => dice.pick(&["false", "true"]),
                    "columns" => dice.pick(&["[]", "[1]"]),
                    "options" => dice.pick(&["{}", r#"{"round":2}"#]),
                    _ => dice.pick(&["0", "2.5"]),
                }
                .to_owned(),
                _ if name == "path" => r#""a.csv""#.to_owned(),
                _ => continue,
            };
            args.push(format!(r#""{name}":{value}"#));
        }
        let tool = if at % 2 == 0 { "load" } else { "sum" };
        steps.push(format!(r#""s{at}":{{"tool":"{tool}","args":{{{}}}}}"#, args.join(",")));
    }
    let plan =
        format!(r#"{{"plan":"1","inputs":{{"type":"object"}},"steps":{{{}}}}}"#, steps.join(","));
    let mut document = view(&super::plan(&plan), tools);
    for list in ["/nodes", "/edges"] {
        let Some(Json::Array(items)) = document.pointer_mut(list) else { panic!("no {list}") };
        for at in (1..items.len()).rev() {
            items.swap(at, dice.roll(at + 1));
        }
    }
    document
}

#[test]
fn generated_workflows_are_imported_as_they_are() {
    let tools = unrelated();
    seeds::check(|seed| {
        for round in 0..100 {
            let dice = &mut Dice::new(seed.wrapping_add(round));
            let mut document = generated(dice, &tools);
            let optional = ["tool_args", "missing_tool_args", "step_index", "description"];
            let absent: Vec<&str> = optional.into_iter().filter(|_| dice.roll(3) == 0).collect();
            document = without(&document, &absent);
            let given = match dice.roll(3) {
                0 => document.clone(),
                as_text => by_index(&document, as_text == 1),
            };
            let (plan, is_reordered) = imported(&given, &tools);
            assert_in_view(&plan, &tools, &document);
            let nodes = at(&document, "/nodes").as_array().unwrap().iter();
            let ids = nodes.map(|node| at(node, "/id").as_str().unwrap());
            assert_eq!(is_reordered, !ids.eq(plan.steps.iter().map(|step| step.id.as_str())));
        }
    });
}

#[test]
fn a_long_workflow_in_reverse_is_sorted() {
    let mut nodes: Vec<Json> = Vec::new();
    let mut edges: Vec<Json> = Vec::new();
    for at in (0..900_u64).rev() {
        nodes.push(object! {"id": format!("s{at}"), "tool_name": "bands", "tool_args": object! {"structure": "x"}}.into());
        if at > 0 {
            edges.push(object! {"source": format!("s{}", at - 1), "target": format!("s{at}"), "target_parameter": "structure"}.into());
        }
    }
    let (plan, is_reordered) =
        imported(&object! {"nodes": nodes, "edges": edges}.into(), &structures());
    assert!(is_reordered);
    assert!(plan.steps.iter().enumerate().all(|(at, step)| step.id == format!("s{at}")));
}
