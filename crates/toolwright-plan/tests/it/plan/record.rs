//! Calls that were made, as a plan.

use toolwright_core::{Json, Tool, object};
use toolwright_plan::{
    Graph, MAX_STEPS, PlanTool, PlanTools, RecordNoteKind, RecordedCall, RecordedHandle,
    RecordedResult, Recording, ReferenceForm, Resource, ResourceUse, check, record,
};

use super::json;

fn call(turn: usize, tool: &str, arguments: &str, output: &str) -> RecordedCall {
    let result = match output {
        "" => RecordedResult::Unknown,
        "failed" => RecordedResult::Failed,
        output => RecordedResult::Output(json(output)),
    };
    let arguments = json(arguments);
    RecordedCall { tool: tool.to_owned(), arguments, turn, result, handles: Vec::new() }
}

fn handle(path: &str, source: Option<(usize, &str)>) -> RecordedHandle {
    let source = source.map(|(call, pointer)| (call, pointer.to_owned()));
    RecordedHandle { path: path.to_owned(), source, form: ReferenceForm::Value }
}

/// Tools that only read and take any arguments, and `save`, which changes something.
fn tools() -> PlanTools {
    let open = r#"{"type":"object","additionalProperties":true}"#;
    let tool = |name: &str, schema: &str, is_read_only| PlanTool {
        is_read_only,
        ..PlanTool::new(Tool::function(name, json(schema)), Vec::new())
    };
    let mut fill = tool("fill", open, true);
    fill.uses = vec![ResourceUse { resource: Resource::Slot("table".to_owned()), writes: true }];
    let mut take = tool("take", open, true);
    take.uses = vec![ResourceUse { resource: Resource::Slot("table".to_owned()), writes: false }];
    let typed = r#"{"type":"object","properties":{"count":{"type":"integer"},"names":{"type":"array",
        "items":{"type":"string"}},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer","default":3}}}"#;
    PlanTools::new([
        tool("read", open, true),
        tool("other", open, true),
        tool("save", open, false),
        tool("typed", typed, true),
        tool("prefab/shop.find", open, true),
        fill,
        take,
    ])
}

/// Records calls, and asserts that the plan is valid.
fn recorded(calls: &[RecordedCall], prompt: &str) -> Recording {
    let recording = record(calls, prompt, &tools());
    let report = check(&recording.plan, &tools(), MAX_STEPS);
    assert!(report.is_valid(), "{:?}", report.errors);
    recording
}

fn args(recording: &Recording, id: &str) -> String {
    let document = Json::Object(recording.plan.to_json());
    document.pointer(&format!("/steps/{id}/args")).map(Json::compact).unwrap_or_default()
}

fn after<'r>(recording: &'r Recording, id: &str) -> &'r [String] {
    &recording.plan.steps[recording.plan.position(id).unwrap()].after
}

#[test]
fn values_of_earlier_results_become_edges_whole_and_in_part() {
    let recording = recorded(
        &[
            call(
                0,
                "read",
                r#"{"path":"a.csv"}"#,
                r#"{"rows":[["x",1],["y",2],["z",3]],"id":"r-1029","at":20240117}"#,
            ),
            call(
                1,
                "other",
                r#"{"table":[["x",1],["y",2],["z",3]],"list":["r-1029",{"when":20240117}]}"#,
                r#""{\"key\":\"k-77\"}""#,
            ),
            // A number that the model wrote as text, and a part of a text that is JSON.
            call(2, "other", r#"{"when":"20240117","key":"k-77","all":"{\"key\":\"k-77\"}"}"#, ""),
        ],
        "Read a.csv",
    );
    assert_eq!(args(&recording, "read"), r#"{"path":"a.csv"}"#);
    assert_eq!(
        args(&recording, "other"),
        r#"{"table":{"$from":"read/rows"},"list":[{"$from":"read/id"},{"when":{"$from":"read/at"}}]}"#
    );
    assert_eq!(
        args(&recording, "other_2"),
        r#"{"when":{"$from":"read/at"},"key":{"$from":"other/key"},"all":{"$from":"other"}}"#
    );
    assert!(recording.notes.is_empty(), "{:?}", recording.notes);
    let outputs: Vec<&str> = recording.plan.outputs.iter().map(|(name, _)| &**name).collect();
    assert_eq!(outputs, ["other_2"]);
}

#[test]
fn handles_are_used_before_values_and_an_unknown_one_is_reported() {
    let mut second =
        call(1, "other", r#"{"a":"tw:1","b":{"c":["tw:1#/x"]},"d":"tw:9","e":"same text"}"#, "");
    second.handles =
        vec![handle("/a", Some((1, ""))), handle("/b/c/0", Some((1, "/x"))), handle("/d", None)];
    let both = r#"{"x":"same text"}"#;
    let mut calls = [call(0, "read", "{}", both), call(0, "read", "{}", both), second];
    let recording = recorded(&calls, "");
    assert_eq!(
        args(&recording, "other"),
        r#"{"a":{"$from":"read_2"},"b":{"c":[{"$from":"read_2/x"}]},"d":"tw:9","e":"same text"}"#
    );
    let notes: Vec<_> = recording.notes.iter().map(|note| (note.kind, &*note.path)).collect();
    assert_eq!(
        notes,
        [
            (RecordNoteKind::UnknownHandle, "/steps/other/args/d"),
            (RecordNoteKind::Ambiguous, "/steps/other/args/e"),
        ]
    );
    assert_eq!(recording.notes[1].candidates, ["read/x", "read_2/x"]);
    // The handle itself, for a tool that asks for it.
    calls[2].handles[0].form = ReferenceForm::Handle;
    let recording = recorded(&calls, "");
    assert!(args(&recording, "other").starts_with(r#"{"a":{"$from":"read_2","$as":"handle"}"#));
}

#[test]
fn short_values_those_of_the_user_and_those_of_the_schema_are_not_guessed() {
    let output = r#"{"n":7,"yes":true,"no":null,"s":"abc","empty":[],"city":"北京","word":"celsius","path":"a.csv","long":"北京市"}"#;
    let arguments = r#"{"n":7,"yes":true,"no":null,"s":"abc","empty":[],"path":"a.csv","city":"北京","long":"北京市"}"#;
    let calls = [
        call(0, "read", "{}", output),
        call(1, "other", arguments, ""),
        call(1, "typed", r#"{"unit":"celsius"}"#, ""),
    ];
    let recording = recorded(&calls, "北京的 a.csv");
    let expected = arguments.replace(r#""北京市""#, r#"{"$from":"read/long"}"#);
    assert_eq!(args(&recording, "other"), expected);
    assert_eq!(args(&recording, "typed"), r#"{"unit":"celsius"}"#);
    assert!(recording.notes.is_empty(), "{:?}", recording.notes);
}

#[test]
fn a_result_that_repeats_its_arguments_is_not_their_source() {
    let calls = [
        call(0, "read", "{}", r#"{"id":"r-1029"}"#),
        call(1, "other", r#"{"id":"r-1029","name":"mine"}"#, r#"{"id":"r-1029","name":"mine"}"#),
        call(2, "other", r#"{"id":"r-1029","name":"mine"}"#, ""),
    ];
    let recording = recorded(&calls, "");
    for id in ["other", "other_2"] {
        assert_eq!(args(&recording, id), r#"{"id":{"$from":"read/id"},"name":"mine"}"#);
    }
}

#[test]
fn a_part_of_a_text_stays_and_is_reported() {
    let calls = [
        call(0, "read", "{}", r#"{"log":["started","the id is r-1029-x."]}"#),
        call(1, "other", r#"{"id":"r-1029-x"}"#, ""),
    ];
    let recording = recorded(&calls, "");
    assert_eq!(args(&recording, "other"), r#"{"id":"r-1029-x"}"#);
    assert_eq!(recording.notes[0].kind, RecordNoteKind::PartOfText);
    assert_eq!(recording.notes[0].candidates, ["read/log/1"]);
}

#[test]
fn calls_of_one_turn_run_at_the_same_time_and_effects_keep_their_order() {
    // The second call has the value of the first one's result by chance.
    let calls = [
        call(0, "save", r#"{"city":"北京"}"#, r#"{"date":"2025-07-01"}"#),
        call(0, "save", r#"{"date":"2025-07-01"}"#, r#""ok, done""#),
        call(1, "read", "{}", r#""what was saved""#),
        call(1, "other", "{}", ""),
        call(2, "read", "{}", ""),
        call(3, "save", "{}", ""),
    ];
    let recording = recorded(&calls, "");
    assert_eq!(args(&recording, "save_2"), r#"{"date":"2025-07-01"}"#);
    assert_eq!(after(&recording, "save_2"), [""; 0]);
    // A call that reads waits for those that changed something before, and not for others that read.
    for id in ["read", "other", "read_2"] {
        assert_eq!(after(&recording, id), ["save", "save_2"]);
    }
    assert_eq!(after(&recording, "save_3"), ["read", "other", "read_2"]);
}

#[test]
fn a_slot_orders_steps_without_a_reference() {
    let calls = [call(0, "fill", "{}", ""), call(1, "take", "{}", ""), call(2, "save", "{}", "")];
    let recording = recorded(&calls, "");
    assert_eq!(after(&recording, "take"), [""; 0]);
    assert_eq!(after(&recording, "save"), ["take"]);
    let graph = Graph::new(&recording.plan, &tools());
    assert_eq!(graph.before(1), [0]);
    let outputs: Vec<&str> = recording.plan.outputs.iter().map(|(name, _)| &**name).collect();
    assert_eq!(outputs, ["take", "save"]);
}

#[test]
fn failed_calls_are_left_out_and_reported() {
    let calls = [
        call(0, "read", r#"{"path":"wrong"}"#, "failed"),
        call(1, "read", r#"{"path":"right"}"#, r#""the text""#),
        call(2, "other", "{}", "failed"),
        call(3, "save", r#"{"content":"the text"}"#, ""),
        call(3, "save", r#""no object""#, ""),
    ];
    let recording = recorded(&calls, "");
    let ids: Vec<&str> = recording.plan.steps.iter().map(|step| &*step.id).collect();
    assert_eq!(ids, ["read", "save"]);
    assert_eq!(args(&recording, "save"), r#"{"content":{"$from":"read"}}"#);
    let notes: Vec<String> = recording.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "call 1 of 'read' is left out: it failed, and a later call of the tool succeeded",
            "call 3 of 'other' is left out: it failed",
            "call 5 of 'save' is left out: it has arguments that could not be read",
        ]
    );
}

#[test]
fn arguments_have_the_types_of_the_schema_without_its_defaults() {
    let calls = [
        call(0, "read", "{}", r#"{"name":"r-1029","total":"many words"}"#),
        call(1, "typed", r#"{"count":"12","names":"r-1029","unit":"Celsius"}"#, ""),
        call(1, "prefab/shop.find", r#"{"name":"r-1029"}"#, ""),
    ];
    let recording = recorded(&calls, "");
    assert_eq!(
        args(&recording, "typed"),
        r#"{"count":12,"names":[{"$from":"read/name"}],"unit":"celsius"}"#
    );
    assert_eq!(args(&recording, "shop.find"), r#"{"name":{"$from":"read/name"}}"#);
}

#[test]
fn an_edge_that_the_check_refuses_is_undone() {
    let schema = |name: &str, schema: &str, output: Option<&str>| {
        let mut tool = Tool::function(name, json(schema));
        tool.output = output.map(json);
        PlanTool::new(tool, Vec::new())
    };
    let output = r#"{"type":"object","properties":{"id":{"type":"object"}}}"#;
    let taking = r#"{"type":"object","properties":{"count":{"type":"integer"}}}"#;
    let tools = PlanTools::new([schema("give", "{}", Some(output)), schema("take", taking, None)]);
    // The output is not what the tool declares, so that the check finds the edge wrong.
    let calls =
        [call(0, "give", "{}", r#"{"id":20240117}"#), call(1, "take", r#"{"count":20240117}"#, "")];
    let recording = record(&calls, "", &tools);
    assert!(check(&recording.plan, &tools, MAX_STEPS).is_valid());
    assert_eq!(args(&recording, "take"), r#"{"count":20240117}"#);
    assert_eq!(recording.notes[0].kind, RecordNoteKind::Refused);
}

#[test]
fn the_search_in_large_texts_ends() {
    // Each of a thousand values would be looked for in 16 MB.
    let mut calls = vec![call(0, "read", "{}", "")];
    calls[0].result = RecordedResult::Output("x".repeat(16 << 20).into());
    let arguments = |at: usize| object! {"name": format!("the name {at}")}.compact();
    calls.extend((1..1000).map(|at| call(at, "write", &arguments(at), "")));
    calls.insert(1, call(1, "write", &object! {"name": "x".repeat(20)}.compact(), ""));
    let recording = record(&calls, "", &PlanTools::default());
    let kinds: Vec<RecordNoteKind> = recording.notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [RecordNoteKind::PartOfText, RecordNoteKind::NotSearched]);
    assert_eq!(args(&recording, "write_1000"), r#"{"name":"the name 999"}"#);
}

#[test]
fn a_value_that_a_large_prompt_may_have_stays() {
    let calls = [
        call(0, "give", "{}", r#"{"id":"PEK-1029"}"#),
        call(1, "take", r#"{"id":"PEK-1029"}"#, ""),
    ];
    let recording = record(&calls, &"x".repeat(1 << 20), &PlanTools::default());
    assert_eq!(args(&recording, "take"), r#"{"id":{"$from":"give/id"}}"#);
    let recording = record(&calls, &"x".repeat(257 << 20), &PlanTools::default());
    assert_eq!(args(&recording, "take"), r#"{"id":"PEK-1029"}"#);
    assert_eq!(recording.notes[0].kind, RecordNoteKind::NotSearched);
}
