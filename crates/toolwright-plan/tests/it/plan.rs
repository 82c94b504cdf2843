//! Plans: the document, its errors, its order.

mod record;
mod view;
mod workflow;

use std::sync::Arc;

use toolwright_core::schema::Check;
use toolwright_core::{Json, Tool};
use toolwright_plan::{
    EdgeFit, Graph, Interpreter, MAX_STEPS, Plan, PlanErrorKind, PlanReport, PlanTool, PlanTools,
    Resource, ResourceUse, Step, StepState, StepStatus, check,
};

use toolwright_testing::growth::assert_not_quadratic;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn plan(text: &str) -> Plan {
    Plan::parse(&json(text)).unwrap()
}

fn tool(name: &str, parameters: &str, output: &str) -> PlanTool {
    let mut tool = Tool::function(name, json(parameters));
    tool.output = (!output.is_empty()).then(|| json(output));
    PlanTool::new(tool, Vec::new())
}

/// Tools for structures: `load` gives an object, `relax` takes one, `plot` takes a number.
fn tools() -> PlanTools {
    let mut relax = tool(
        "relax",
        r#"{"type":"object","required":["structure"],"properties":{
            "structure":{"type":"object"},"steps":{"type":"integer","minimum":1,"default":100},
            "mode":{"enum":["fast","exact"]},"executor":{"type":"object"},"tags":{"type":"array","items":{"type":"string"}}}}"#,
        r#"{"type":"object","properties":{"energy":{"type":"number"},"structure":{"type":"object"},"log":{"type":"string"},
            "frames":{"type":"array","items":{"type":"object","properties":{"t":{"type":"integer"}}}}}}"#,
    );
    relax.hidden = vec!["executor".to_owned()];
    relax.digest = Some("d1".to_owned());
    PlanTools::new([
        relax,
        tool(
            "load",
            r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}"#,
            "",
        ),
        tool(
            "plot",
            r#"{"type":"object","required":["energy"],"properties":{"energy":{"type":"number"}}}"#,
            r#"{"type":"string"}"#,
        ),
    ])
    .with_names(["plot_bands".to_owned()])
}

fn report(text: &str) -> PlanReport {
    check(&plan(text), &tools(), MAX_STEPS)
}

/// The kind, path and suggestion of each error.
fn errors(report: &PlanReport) -> Vec<(&str, &str, Option<&str>)> {
    let error = |error: &'_ toolwright_plan::PlanError| error.kind.as_str();
    report
        .errors
        .iter()
        .map(|own| (error(own), own.path.as_str(), own.suggestion.as_deref()))
        .collect()
}

const FULL: &str = r#"{"plan":"1","name":"Relax","description":"结构优化","inputs":{"type":"object","properties":{"cif":{"type":"string"}}},
    "steps":{
     "读取":{"tool":"load","args":{"path":{"$from":"inputs/cif"}},"retry":{"max":2,"backoff_ms":10},"timeout_ms":60000},
     "relax":{"tool":"relax","args":{"structure":{"$from":"读取/a~1b","$as":"handle","$default":{}},"tags":["x",{"$from":"inputs/cif"}],"mode":"fast"},
        "after":["读取"],"on_error":"continue","idempotent":true,"digest":"d1",
        "when":{"all":[{"value":{"$from":"读取/n"},"is":{"minimum":1}},{"not":{"any":[{"$from":"读取/done"},false]}}]}},
     "plots":{"tool":"plot","each":{"$from":"relax/frames"},"args":{"energy":{"$from":"item/t"}},"when":{"value":{"$from":"index"},"is":{"maximum":5}},"on_error":"skip"}},
    "outputs":{"e":{"$from":"relax/energy"},"fixed":{"$literal":{"$from":"no reference"}}},
    "limits":{"calls":50,"time_ms":1000,"parallel":4}}"#;

#[test]
fn a_plan_is_written_as_it_was_read() {
    let document = json(FULL);
    let plan = Plan::parse(&document).unwrap();
    assert!(Json::from(plan.to_json()).same(&document), "{}", Json::from(plan.to_json()));
    assert_eq!(Plan::parse(&plan.to_json().into()).unwrap(), plan);
    let report = check(&plan, &tools(), MAX_STEPS);
    assert_eq!(report.errors, []);
    let fits: Vec<_> = report.edges.iter().map(|edge| (edge.from.as_str(), edge.fit)).collect();
    assert!(fits.contains(&("inputs/cif", EdgeFit::Fits)), "{fits:?}");
    assert!(fits.contains(&("item/t", EdgeFit::Fits)), "{fits:?}");
    assert!(fits.contains(&("读取/a~1b", EdgeFit::Unknown)), "{fits:?}");
}

#[test]
fn the_published_schema_accepts_what_the_parser_accepts() {
    let schema = Check::compile(&Plan::schema()).unwrap();
    assert_eq!(schema.violations(&json(FULL)), []);
    let step = |fields: &str| format!(r#"{{"plan":"1","steps":{{"a":{{"tool":"t",{fields}}}}}}}"#);
    for wrong in [
        "[]".to_owned(),
        r#"{"plan":"2","steps":{"a":{"tool":"t"}}}"#.to_owned(),
        r#"{"plan":"1","steps":{}}"#.to_owned(),
        r#"{"plan":"1","steps":{"a b":{"tool":"t"}}}"#.to_owned(),
        r#"{"plan":"1","steps":{"item":{"tool":"t"}}}"#.to_owned(),
        r#"{"plan":"1","steps":{"a":{}}}"#.to_owned(),
        r#"{"plan":"1","steps":{"a":{"tool":"t"}},"outputs":{"$from":"a"}}"#.to_owned(),
        r#"{"plan":"1","steps":{"a":{"tool":"t"}},"limits":{"calls":0}}"#.to_owned(),
        step(r#""args":{"x":{"$from":1}}"#),
        step(r#""args":{"x":[{"$from":"b","$with":1}]}"#),
        step(r#""args":{"x":{"$from":"b","$as":"file"}}"#),
        step(r#""args":[]"#),
        step(r#""each":{"x":1}"#),
        step(r#""each":3"#),
        step(r#""when":{"some":[]}"#),
        step(r#""when":"a/ok""#),
        step(r#""retry":{}"#),
        step(r#""timeout_ms":0"#),
        step(r#""on_error":"ignore""#),
        step(r#""idempotent":"yes""#),
        step(r#""arguments":{}"#),
    ] {
        let document = json(&wrong);
        assert!(Plan::parse(&document).is_err(), "{wrong}");
        assert!(!schema.accepts(&document), "{wrong}");
    }
}

#[test]
fn all_errors_of_the_shape_are_found_at_once() {
    let document = json(
        r#"{"plan":"1","stepz":{},"steps":{
            "a/b":{"tool":"t"},"ok":{"tool":"","arg":{},"retry":{"max":-1}},"inputs":{"tool":"t"}},"name":3}"#,
    );
    let errors = Plan::parse(&document).unwrap_err();
    let paths: Vec<(&str, Option<&str>)> =
        errors.iter().map(|error| (error.path.as_str(), error.suggestion.as_deref())).collect();
    assert_eq!(
        paths,
        [
            ("/stepz", Some("steps")),
            ("/steps/a~1b", None),
            ("/steps/ok/tool", None),
            ("/steps/ok/arg", Some("args")),
            ("/steps/ok/retry/max", None),
            ("/steps/inputs", None),
            ("/name", None),
        ]
    );
    let repeated = r#"{"plan":"1","steps":{"a":{"tool":"t"},"a":{"tool":"u"}}}"#;
    assert_eq!(Plan::parse(&json(repeated)).unwrap_err()[0].kind, PlanErrorKind::Id);
}

#[test]
fn the_id_of_a_step_is_limited_as_the_schema_says() {
    let schema = Check::compile(&Plan::schema()).unwrap();
    let is_valid = |id: &str| {
        let document = json(&format!(r#"{{"plan":"1","steps":{{"{id}":{{"tool":"t"}}}}}}"#));
        let is_valid = Plan::parse(&document).is_ok();
        assert_eq!(schema.accepts(&document), is_valid, "{id}");
        is_valid
    };
    // With letters of every length, digits, and vowel signs.
    for letter in ["a", "é", "步", "𠮷", "7", "Ⅷ", "கி", "कि"] {
        let count = letter.chars().count();
        assert!(is_valid(&letter.repeat(64 / count)), "{letter}");
        assert!(!is_valid(&letter.repeat(64 / count + 1)), "{letter}");
    }
    for (id, wanted) in [("_", true), ("a.b-c", true), ("-a", false), ("", false), ("a b", false)] {
        assert_eq!(is_valid(id), wanted, "{id}");
    }
}

#[test]
fn all_errors_of_references_and_arguments_are_found_at_once() {
    let report = report(
        r#"{"plan":"1","steps":{
            "load":{"tool":"load","args":{"path":3}},
            "relax":{"tool":"relax","args":{"structure":{"$from":"laod/s"},"executor":{},"stepz":1,"steps":0,
                "tags":[1,{"$from":"load/tag"}]},"digest":"d0","after":["nothing"]},
            "draw":{"tool":"plot_band","args":{}},
            "plot":{"tool":"plot","args":{}},
            "late":{"tool":"load","args":{"path":{"$from":"last"}}},
            "last":{"tool":"load","args":{"path":{"$from":"item/x"}}},
            "in":{"tool":"load","args":{"path":{"$from":"inputs/x"}}}},
            "outputs":{"x":{"$from":"relaxed"}}}"#,
    );
    assert_eq!(
        errors(&report),
        [
            ("reference", "/steps/relax/args/structure", Some("load")),
            ("reference", "/steps/relax/after/0", None),
            ("reference", "/steps/last/args/path", None),
            ("reference", "/steps/in/args/path", None),
            ("reference", "/outputs/x", Some("relax")),
            ("reference", "/steps/late/args/path", None),
            ("tool_changed", "/steps/relax/digest", None),
            ("unknown_tool", "/steps/draw/tool", Some("plot_bands")),
            ("argument", "/steps/load/args/path", None),
            ("unknown_parameter", "/steps/relax/args/executor", None),
            ("unknown_parameter", "/steps/relax/args/stepz", Some("steps")),
            ("argument", "/steps/relax/args/steps", None),
            ("argument", "/steps/relax/args/tags/0", None),
            ("missing_parameter", "/steps/plot/args", None),
        ],
        "{:#?}",
        report.errors
    );
}

#[test]
fn a_cycle_is_reported_once_with_its_path() {
    let report = report(
        r#"{"plan":"1","steps":{
            "a":{"tool":"load","args":{"path":{"$from":"c/x"}}},
            "b":{"tool":"load","args":{"path":{"$from":"a/x"}}},
            "c":{"tool":"load","args":{"path":{"$from":"b/x"}},"after":["b"]},
            "own":{"tool":"load","args":{"path":{"$from":"own/x"}}}}}"#,
    );
    let messages: Vec<String> = report.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "/steps/a/args/path: the steps wait for each other: a → c → b → a",
            "/steps/own/args/path: the steps wait for each other: own → own",
        ]
    );
}

#[test]
fn types_along_edges_fit_are_coerced_or_clash() {
    let text = r#"{"plan":"1","inputs":{"type":"object","properties":{"n":{"type":"string"}}},"steps":{
            "r":{"tool":"relax","args":{"structure":{}}},
            "fits":{"tool":"plot","args":{"energy":{"$from":"r/energy"}}},
            "number":{"tool":"plot","args":{"energy":{"$from":"inputs/n"}}},
            "text":{"tool":"load","args":{"path":{"$from":"r/energy"}}},
            "clash":{"tool":"load","args":{"path":{"$from":"r/structure"}}},
            "none":{"tool":"load","args":{"path":{"$from":"r/lgo"}}},
            "default":{"tool":"load","args":{"path":{"$from":"r/lgo","$default":"x"}}},
            "open":{"tool":"load","args":{"path":{"$from":"r/structure/anything"}}},
            "each":{"tool":"load","each":{"$from":"r/log"},"args":{"path":"x"}},
            "when":{"tool":"load","when":{"$from":"r/energy"},"args":{"path":"x"}},
            "items":{"tool":"plot","each":{"$from":"r/frames"},"args":{"energy":{"$from":"item/tt"}}},
            "all":{"tool":"plot","args":{"energy":{"$from":"items"}}}}}"#;
    let report = report(text);
    let fit = |path: &str| report.edges.iter().find(|edge| edge.path == path).unwrap().fit;
    assert_eq!(fit("/steps/fits/args/energy"), EdgeFit::Fits);
    assert_eq!(fit("/steps/number/args/energy"), EdgeFit::Coerces);
    assert_eq!(fit("/steps/text/args/path"), EdgeFit::Coerces);
    assert_eq!(fit("/steps/open/args/path"), EdgeFit::Unknown);
    assert_eq!(
        errors(&report),
        [
            ("edge", "/steps/clash/args/path", None),
            ("reference", "/steps/none/args/path", Some("log")),
            ("edge", "/steps/each/each", None),
            ("edge", "/steps/when/when", None),
            ("reference", "/steps/items/args/energy", None),
            ("edge", "/steps/all/args/energy", None),
        ],
        "{:#?}",
        report.errors
    );
    let clash = &report.errors[0].message;
    assert_eq!(clash, "'r/structure' is of type object, and of type string is expected");
}

#[test]
fn references_to_a_large_schema_do_not_compile_it_each_time() {
    let properties: Vec<String> =
        (0..20_000).map(|at| format!(r#""p{at}":{{"type":"string"}}"#)).collect();
    let steps: Vec<String> = (0..100)
        .map(|at| {
            format!(r#""s{at}":{{"tool":"relax","args":{{"structure":{{"$from":"inputs"}}}}}}"#)
        })
        .collect();
    let report = report(&format!(
        r#"{{"plan":"1","inputs":{{"type":"object","properties":{{{}}}}},"steps":{{{}}}}}"#,
        properties.join(","),
        steps.join(",")
    ));
    assert_eq!(report.errors, []);
    assert_eq!(report.edges[0].fit, EdgeFit::Fits);
    let compared = report.edges.iter().filter(|edge| edge.fit == EdgeFit::Fits).count();
    assert!(compared < 50, "{compared} edges were compared");
}

#[test]
fn too_many_steps_and_large_arguments_are_refused() {
    let steps: Vec<String> = (0..=MAX_STEPS)
        .map(|at| format!(r#""s{at}":{{"tool":"load","args":{{"path":"x"}}}}"#))
        .collect();
    let text = format!(r#"{{"plan":"1","steps":{{{}}}}}"#, steps.join(","));
    assert_eq!(errors(&report(&text)), [("limit", "/steps", None)]);
    assert_eq!(check(&plan(&text), &tools(), 2000).errors, []);

    let references = vec![r#"{"$from":"a"}"#; 20_000].join(",");
    let text = format!(
        r#"{{"plan":"1","steps":{{"a":{{"tool":"load","args":{{"path":"x"}}}}}},"outputs":{{"x":1,"all":[{references}]}}}}"#
    );
    assert_eq!(errors(&report(&text)), [("limit", "", None)]);

    let large = "x".repeat(100_000_000);
    let text =
        format!(r#"{{"plan":"1","steps":{{"a":{{"tool":"load","args":{{"path":"{large}"}}}}}}}}"#);
    assert_eq!(errors(&report(&text)), [("limit", "/steps/a/args/path", None)]);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let text =
        format!(r#"{{"plan":"1","steps":{{"a":{{"tool":"load","args":{{"path":{deep}}}}}}}}}"#);
    // The JSON parser or the parser of plans refuses it, whichever comes first.
    assert!(Json::parse(&text).is_err() || Plan::parse(&json(&text)).is_err());
}

#[test]
fn the_order_follows_references_after_slots_and_shared_values() {
    let uses = |resource: Resource, writes| ResourceUse { resource, writes };
    let slot = || Resource::Slot("table".to_owned());
    let open = |name: &str, uses: Vec<ResourceUse>| {
        let mut own = tool(name, r#"{"type":"object","additionalProperties":true}"#, "");
        own.uses = uses;
        own
    };
    let tools = PlanTools::new([
        open("fill", vec![uses(slot(), true)]),
        open("read", vec![uses(slot(), false)]),
        open("change", vec![uses(slot(), true), uses(slot(), false)]),
        open("free", Vec::new()),
    ]);
    let plan = plan(
        r#"{"plan":"1","steps":{
            "a":{"tool":"fill"},"b":{"tool":"read"},"c":{"tool":"read"},"d":{"tool":"change"},"e":{"tool":"read"},
            "f":{"tool":"free","args":{"x":[{"$from":"b/y"}]},"after":["e"]},"g":{"tool":"free"}}}"#,
    );
    let graph = Graph::new(&plan, &tools);
    let before: Vec<&[usize]> = (0..plan.steps.len()).map(|at| graph.before(at)).collect();
    assert_eq!(before, [&[][..], &[0], &[0], &[0, 1, 2], &[3], &[1, 4], &[]]);
    assert_eq!(graph.levels(), [0, 1, 1, 2, 3, 4, 0]);
    assert_eq!(graph.dependents(1), [3, 4, 5]);
}

#[test]
fn the_status_of_a_step_comes_back_from_its_json() {
    for state in StepState::ALL {
        let status = StepStatus {
            started_ms: Some(5),
            ended_ms: Some(12),
            attempts: 2,
            items: Some((3, 4)),
            ..StepStatus::new(state)
        };
        assert_eq!(StepStatus::parse(&status.to_json().into()), Some(status));
        assert_eq!(status.duration_ms(), Some(7));
        let bare = StepStatus::new(state);
        assert_eq!(StepStatus::parse(&bare.to_json().into()), Some(bare));
    }
    assert_eq!(StepStatus::parse(&json(r#"{"state":"lost"}"#)), None);
}

#[test]
fn errors_of_shape_and_of_the_check_are_reported_together() {
    let document = json(
        r#"{"plan":"1","nmae":"x","steps":{
            "a":{"tool":"laod","args":{"path":7}},
            "b":5,
            "c":{"args":{"structure":{"$from":"b"}}},
            "d":{"tool":"relax","args":[]},
            "e":{"tool":"plot","args":{"energy":{"$from":"f"}},"retry":{"max":-1}}}}"#,
    );
    let (plan, shape) = Plan::parse_partly(&document);
    let report = check(&plan, &tools(), MAX_STEPS).with_shape_errors(shape);
    let places: Vec<&str> = report.errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        places,
        [
            "/nmae",
            "/steps/b",
            "/steps/c/tool",
            "/steps/d/args",
            "/steps/e/retry/max",
            "/steps/e/args/energy",
            "/steps/a/tool"
        ]
    );
}

#[test]
fn the_order_of_a_large_join_is_found_in_linear_time() {
    assert_not_quadratic(32_000, |count| {
        let mut plan = Plan::default();
        let step = |id: String, after| Step { id, after, ..Step::default() };
        let ids: Vec<String> = (0..count).map(|at| format!("s{at}")).collect();
        plan.steps = ids.iter().map(|id| step(id.clone(), Vec::new())).collect();
        plan.steps.push(step("join".to_owned(), ids));
        assert_eq!(Graph::new(&plan, &PlanTools::default()).before(count).len(), count);
    });
}

#[test]
fn items_that_a_condition_leaves_out_are_counted() {
    let plan = Arc::new(plan(
        r#"{"plan":"1","steps":{"a":{"tool":"t","each":[1,2,3],"args":{"x":{"$from":"item"}},
            "when":{"value":{"$from":"item"},"is":{"minimum":2}}}}}"#,
    ));
    let graph = Arc::new(Graph::new(&plan, &PlanTools::default()));
    let mut interpreter = Interpreter::new(plan, graph, Arc::new(Json::Null));
    let call = interpreter.next_call().unwrap();
    assert_eq!((call.item, interpreter.items(0)), (Some(1), Some((1, 3))));
    interpreter.succeed(0, call.item, Json::Null);
    let call = interpreter.next_call().unwrap();
    interpreter.succeed(0, call.item, Json::Null);
    assert_eq!(interpreter.items(0), Some((3, 3)));
}
