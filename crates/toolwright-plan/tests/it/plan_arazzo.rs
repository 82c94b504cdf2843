//! Arazzo documents of plans: what is exported is imported again, and other documents are imported or
//! refused, with nothing lost.

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use toolwright_core::json::Object;
use toolwright_core::{Json, Tool, object};
use toolwright_plan::{Plan, PlanErrorKind, PlanTool, PlanTools, arazzo};

use toolwright_testing::golden;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/plans")
}

fn fixture(name: &str) -> Json {
    json(&std::fs::read_to_string(folder().join(name)).unwrap())
}

/// The tools of the plan `report`.
fn tools() -> PlanTools {
    let tool = |definition: &Json| {
        let text = |name: &str| definition.get(name).and_then(Json::as_str);
        let mut tool =
            Tool::function(text("name").unwrap(), definition.get("parameters").cloned().unwrap());
        tool.description = text("description").map(str::to_owned);
        tool.output = definition.get("output").cloned();
        PlanTool::new(tool, vec!["executor".to_owned()])
    };
    PlanTools::new(fixture("report.tools.json").as_array().unwrap().iter().map(tool))
}

#[test]
fn an_exported_plan_is_written_as_its_files() {
    for name in ["report", "structures", "tables"] {
        let plan = Plan::parse(&fixture(&format!("{name}.json"))).unwrap();
        let export = arazzo::export(&plan, &tools());
        for (kind, document) in [("arazzo", export.arazzo), ("openapi", export.openapi)] {
            let path = folder().join(name).join(format!("{kind}.json"));
            golden::compare(&path, (Json::from(document).pretty() + "\n").as_bytes());
        }
        let written = fixture(&format!("{name}/arazzo.json"));
        assert_eq!(arazzo::import(&written, None), Ok(plan));
    }
}

/// A name that Arazzo can use or not, and a value with references that it can express or not.
fn any_name() -> impl Strategy<Value = String> {
    let names =
        ["a", "b-1", "x.y", "名", "c_", "context", "selector", "type", "$from", "{", "q/~", ""];
    select(names.to_vec()).prop_map(str::to_owned)
}

fn any_pointer() -> impl Strategy<Value = String> {
    let words = select(&["a", "0", "x.y", "~1", "{b}", "~", "名", "a b", ""][..]);
    vec(words, 0..3).prop_map(|words| words.iter().flat_map(|word| ["/", word]).collect())
}

fn any_text() -> impl Strategy<Value = Json> {
    let texts = [
        "plain",
        "",
        "$inputs.a",
        "$steps.s0.outputs.a",
        "a {$inputs.b} c",
        "$5",
        "$response.body",
        "#/a",
        "$self",
    ];
    select(texts.to_vec()).prop_map(Json::from)
}

/// A reference to the inputs, to an earlier step or to the item.
fn any_reference(step: usize, has_item: bool) -> impl Strategy<Value = Json> {
    let known = ["inputs", "item", "index"];
    let sources = if has_item { known.len() } else { 1 };
    (any::<Index>(), any_pointer(), any::<bool>(), proptest::option::of(any_text())).prop_map(
        move |(source, pointer, is_handle, default)| {
            let at = source.index(step + sources);
            let (source, pointer) = match known[..sources].get(at) {
                Some(&"index") => ("index".to_owned(), String::new()),
                Some(name) => ((*name).to_owned(), pointer),
                None => (id(at - sources), pointer),
            };
            let pointer = if pointer == "/" { String::new() } else { pointer };
            let mut out = object! {"$from": format!("{source}{pointer}")};
            if is_handle && default.is_some() {
                out.insert("$as", "handle");
            }
            out.insert_some("$default", default);
            out.into()
        },
    )
}

/// The ids of steps, of which some are not names in Arazzo.
fn id(step: usize) -> String {
    match step % 4 {
        0 => format!("s{step}"),
        1 => format!("步{step}"),
        2 => format!("step-{}", step + 1),
        _ => format!("a.b{step}"),
    }
}

fn any_value(step: usize, has_item: bool) -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        3 => any_reference(step, has_item),
        2 => any_text(),
        1 => any::<i64>().prop_map(Json::from),
        1 => Just(Json::Null),
        1 => any_text().prop_map(|text| object! {"$literal": object! {"$from": text}}.into()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let name = any_name().prop_filter("only references have it", |name| name != "$from");
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::Array),
            vec((name, inner), 0..4).prop_map(|members| {
                let mut out = Object::new();
                for (name, value) in members {
                    out.insert(name, value);
                }
                out.into()
            }),
        ]
    })
}

fn any_args(step: usize, has_item: bool) -> impl Strategy<Value = Object> {
    let name = any_name().prop_filter("only references have it", |name| name != "$from");
    vec((name, any_value(step, has_item)), 0..4).prop_map(|args| {
        let mut out = Object::new();
        for (name, value) in args {
            out.insert(name, value);
        }
        out
    })
}

fn any_step(step: usize) -> impl Strategy<Value = Json> {
    let tools = select(&["load", "plot.bands", "工具", "a/b c"][..]);
    let condition = any_value(step, false)
        .prop_map(|value| Json::from(object! {"value": value, "is": object! {"type": "string"}}));
    let extras = (
        proptest::option::of((0_u64..4, proptest::option::of(0_u64..100_000))),
        proptest::option::of(1_u64..100_000),
        select(&["fail", "skip", "continue"][..]),
        proptest::option::of(any::<bool>()),
        proptest::option::of("[a-z]{4}"),
    );
    let after = vec(any::<Index>(), 0..3);
    let each = proptest::option::of(any_reference(step, false));
    (
        any_args(step, true),
        any_args(step, false),
        each,
        proptest::option::of(condition),
        tools,
        extras,
        after,
    )
        .prop_map(move |(item_args, args, each, when, tool, extras, after)| {
            let (retry, timeout, on_error, idempotent, digest) = extras;
            let mut out = object! {"tool": tool, "on_error": on_error};
            out.insert("args", if each.is_some() { item_args } else { args });
            if step > 0 {
                let after: Vec<String> = after.iter().map(|at| id(at.index(step))).collect();
                out.insert("after", after);
            }
            out.insert_some("each", each);
            out.insert_some("when", when);
            out.insert_some(
                "retry",
                retry.map(|(max, backoff)| {
                    let mut out = object! {"max": max};
                    out.insert_some("backoff_ms", backoff);
                    out
                }),
            );
            out.insert_some("timeout_ms", timeout);
            out.insert_some("idempotent", idempotent);
            out.insert_some("digest", digest);
            out.into()
        })
}

fn any_plan() -> impl Strategy<Value = Json> {
    let inputs = [
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/text"},"x.y":{}},"$defs":{"text":{"type":"string"}}}"##,
        r#"{"type":"object","properties":{"x":{"type":"object"}}}"#,
        "true",
    ];
    let about = (
        proptest::option::of(select(vec!["plan-1", "计划", ""])),
        proptest::option::of(Just("text")),
        select(inputs.to_vec()),
        proptest::option::of(1_u64..9),
    );
    let steps = (1_usize..=6).prop_flat_map(|count| {
        let steps: Vec<BoxedStrategy<Json>> = (0..count).map(|at| any_step(at).boxed()).collect();
        (steps, any_args(count, false))
    });
    (about, steps).prop_map(|((name, description, inputs, calls), (steps, outputs))| {
        let mut out = object! {"plan": "1", "inputs": json(inputs)};
        out.insert_some("name", name);
        out.insert_some("description", description);
        let mut all = Object::new();
        for (at, step) in steps.into_iter().enumerate() {
            all.insert(id(at), step);
        }
        out.insert("steps", all);
        out.insert("outputs", outputs);
        out.insert_some("limits", calls.map(|calls| object! {"calls": calls}));
        out.into()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn importing_an_exported_plan_gives_the_plan(document in any_plan()) {
        let plan = Plan::parse(&document).unwrap();
        let export = arazzo::export(&plan, &PlanTools::default());
        let written = json(&export.arazzo.compact());
        prop_assert_eq!(arazzo::import(&written, None), Ok(plan), "{}", written.pretty());
    }
}

const PETS: &str = r##"{
    "arazzo": "1.0.1",
    "info": {"title": "Pets", "version": "1.0.0", "description": "Orders pets."},
    "sourceDescriptions": [{"name": "store", "url": "./store.yaml", "type": "openapi"}],
    "workflows": [
        {"workflowId": "order", "summary": "Order a pet",
         "inputs": {"$ref": "#/components/inputs/order"},
         "parameters": [{"name": "tenant", "in": "header", "value": "acme"}],
         "steps": [
            {"stepId": "find", "operationId": "findPets", "description": "Finds a pet",
             "parameters": [{"name": "tag", "in": "query", "value": "$inputs.filter.tag"},
                            {"reference": "$components.parameters.limit", "value": 5}],
             "successCriteria": [{"condition": "$statusCode == 200"}],
             "onFailure": [{"name": "again", "type": "retry", "retryAfter": 0.5, "retryLimit": 3},
                           {"name": "stop", "type": "end"}],
             "outputs": {"pets": "$response.body", "id": "$response.body#/0/id"}},
            {"stepId": "buy", "operationId": "$sourceDescriptions.store.placeOrder", "dependsOn": ["find"],
             "requestBody": {"contentType": "application/json",
                "payload": {"pet": "$steps.find.outputs.id", "seller": "$steps.find.outputs.pets#/0/seller",
                            "color": {"context": "$steps.find.outputs.pets", "selector": "/0/color", "type": "jsonpointer"},
                            "express": false}},
             "outputs": {"order": "$response.body#/id"}}],
         "outputs": {"order": "$steps.buy.outputs.order"}},
        {"workflowId": "other", "steps": [{"stepId": "a", "operationId": "noop"}]}],
    "components": {
        "inputs": {"order": {"type": "object", "properties": {"filter": {"$ref": "#/components/inputs/filter"}}},
                   "filter": {"type": "object", "properties": {"tag": {"type": "string"}}}},
        "parameters": {"limit": {"name": "limit", "in": "query", "value": 100}}}
}"##;

#[test]
fn a_document_of_another_tool_is_imported() {
    let document = json(PETS);
    let errors = arazzo::import(&document, None).unwrap_err();
    assert_eq!(errors[0].path, "/workflows");
    let plan = arazzo::import(&document, Some("order")).unwrap();
    let expected = r##"{"plan":"1","name":"Order a pet","description":"Orders pets.",
        "inputs":{"$ref":"#/$defs/order","$defs":{
            "order":{"type":"object","properties":{"filter":{"$ref":"#/$defs/filter"}}},
            "filter":{"type":"object","properties":{"tag":{"type":"string"}}}}},
        "steps":{
            "find":{"tool":"findPets","description":"Finds a pet","args":{
                "tag":{"$from":"inputs/filter/tag"},"limit":5,"tenant":"acme"},"retry":{"max":3,"backoff_ms":500}},
            "buy":{"tool":"placeOrder","after":["find"],"args":{"tenant":"acme","pet":{"$from":"find/0/id"},
                "seller":{"$from":"find/0/seller"},"color":{"$from":"find/0/color"},"express":false}}},
        "outputs":{"order":{"$from":"buy/id"}}}"##;
    assert_eq!(plan, Plan::parse(&json(expected)).unwrap());
}

#[test]
fn what_a_plan_cannot_express_is_refused_with_its_path() {
    let document = json(
        r#"{"arazzo":"1.1.0","info":{"title":"t","version":"1"},"x-other":1,
            "sourceDescriptions":[{"name":"a","url":"a","type":"asyncapi"}],
            "workflows":[{"workflowId":"w","successActions":[],"steps":[
                {"stepId":"a","operationId":"$sourceDescriptions.a.get","onSuccess":[],
                 "successCriteria":[{"condition":"$response.body#/ok == true"}],
                 "outputs":{"h":"$response.header.X","i":{"context":"$response.body","selector":"a","type":"jsonpointer"}},
                 "requestBody":{"payload":{"t":"a {$inputs.b}","u":"$url","s":{"context":"$inputs.b","selector":"$.a","type":"jsonpath"},
                    "v":{"context":"$inputs.b","selector":"a/b","type":"jsonpointer"}}}},
                {"stepId":"b","workflowId":"w"},
                {"stepId":"c","operationId":"$sourceDescriptions.b.get","requestBody":{"payload":"$inputs.all","replacements":[]},
                 "onFailure":[{"name":"g","type":"goto","stepId":"a"}],
                 "parameters":[{"name":"p","in":"query","value":"$steps.a.outputs.none"}]},
                {"stepId":"d","operationId":"get2","dependsOn":["$workflows.x.steps.y"],"timeout":0}]}]}"#,
    );
    let errors = arazzo::import(&document, None).unwrap_err();
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/x-other",
            "/sourceDescriptions/0/type",
            "/workflows/0/successActions",
            "/workflows/0/steps/0/onSuccess",
            "/workflows/0/steps/0/successCriteria/0",
            "/workflows/0/steps/0/outputs/h",
            "/workflows/0/steps/0/outputs/i",
            "/workflows/0/steps/0/requestBody/payload/t",
            "/workflows/0/steps/0/requestBody/payload/u",
            "/workflows/0/steps/0/requestBody/payload/s/type",
            "/workflows/0/steps/0/requestBody/payload/v/selector",
            "/workflows/0/steps/1/workflowId",
            "/workflows/0/steps/1/operationId",
            "/workflows/0/steps/2/operationId",
            "/workflows/0/steps/2/requestBody/payload",
            "/workflows/0/steps/2/requestBody/replacements",
            "/workflows/0/steps/2/onFailure/0",
            "/workflows/0/steps/2/onFailure/0/stepId",
            "/workflows/0/steps/2/parameters/0/value",
            "/workflows/0/steps/3/dependsOn/0",
        ],
        "{errors:#?}"
    );
    assert_eq!(errors[0].kind, PlanErrorKind::Unsupported);

    // Errors of the plan itself are at their places in the document.
    let document = r#"{"arazzo":"1.1.0","info":{},"sourceDescriptions":[],"workflows":[{"workflowId":"w","steps":[
        {"stepId":"a b","operationId":"t","timeout":0,"x-toolwright-each":5}]}]}"#;
    let errors = arazzo::import(&json(document), None).unwrap_err();
    let mut paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    paths.sort_unstable();
    let step = "/workflows/0/steps/0";
    assert_eq!(
        paths,
        [step.to_owned(), format!("{step}/timeout"), format!("{step}/x-toolwright-each")]
    );
}

#[test]
fn an_edit_that_our_field_contradicts_is_found() {
    let plan = json(
        r#"{"plan":"1","inputs":{},"steps":{"a":{"tool":"t","args":{"x":{"$from":"inputs/x","$default":1},"y":2}}}}"#,
    );
    let plan = Plan::parse(&plan).unwrap();
    let mut document = Json::from(arazzo::export(&plan, &PlanTools::default()).arazzo);
    let payload = "/workflows/0/steps/0/requestBody/payload";
    *document.pointer_mut(&format!("{payload}/y")).unwrap() = 3_u64.into();
    let errors = arazzo::import(&document, None).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), [payload]);
}
