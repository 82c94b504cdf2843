//! Slots: values that one tool stores and another one receives, without the model.

use std::sync::Arc;
use std::time::Duration;

use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::call::{CallStatus, Completeness, Policy, Rule, Verdict};
use toolwright_runtime::handle::{HandleStore, Limits, MemoryHandles};
use toolwright_runtime::{
    Caller, Effect, Fill, Handler, Output, Session, SlotFill, SlotOutput, ToolError, Toolbox,
    ValueForm,
};
use toolwright_testing::tools::{Counter, any, call, done, echo, json, kind, text, tool, toolbox};

const ROWS: &str = r#"[{"id": 1, "name": "S3CRET"}, {"id": 2, "name": null}]"#;

/// Reads the rows of a file, which go to the slot `table`.
fn read(reply: Option<&str>) -> Handler {
    let schema = r#"{"type": "object", "properties": {"path": {"type": "string"}, "key": {"type": "string"}}}"#;
    let slot = SlotOutput::new("table");
    let slot = match reply {
        Some(reply) => slot.with_reply(reply),
        None => slot,
    };
    Handler::new(tool("read", schema), |_, _| async { Ok(Output::json(json(ROWS))) })
        .with_effect(Effect::None)
        .with_fill("key", Fill::Secret("hunter2".into()))
        .with_slot(slot)
}

/// Returns the rows that it receives.
fn show(name: &str, form: ValueForm) -> Handler {
    let schema = r#"{"type": "object", "required": ["rows"], "additionalProperties": false,
        "properties": {"rows": {"type": "array"}}}"#;
    let fill = SlotFill::new("table").with_form(form).with_filled_by(["read", "not_here"]);
    Handler::new(tool(name, schema), |_, arguments: Object| async move {
        Ok(Output::json(arguments.get("rows").cloned().unwrap_or_default()))
    })
    .with_effect(Effect::None)
    .with_fill("rows", Fill::Slot(fill))
}

fn with_store(handlers: impl IntoIterator<Item = Handler>) -> Toolbox {
    toolbox(handlers).with_handles(Arc::new(MemoryHandles::default()))
}

fn session(tenant: &str, conversation: &str) -> Session {
    let caller = Caller::new("lin").with_tenant(tenant);
    Session::new("run").with_caller(caller).with_conversation(conversation)
}

#[tokio::test]
async fn a_tool_receives_what_another_one_stored_and_the_model_reads_neither() {
    let toolbox = with_store([
        read(Some("已从 {path} 读取数据 {key} {other")),
        show("show", ValueForm::Json),
    ]);
    let tools = toolbox.tools();
    let shown = tools.iter().find(|tool| tool.name == "show").unwrap();
    assert!(!shown.parameters().unwrap().compact().contains("rows"));
    let own = session("acme", "one");
    let stored = done(toolbox.call(&own, &call("1", "read", r#"{"path": "test.csv"}"#)).await);
    // A hidden value is no argument of the model.
    assert_eq!(text(&stored), "已从 test.csv 读取数据 {key} {other");
    // The host reads the complete output.
    assert!(stored.value().unwrap().same(&json(ROWS)));
    let received = done(toolbox.call(&own, &call("2", "show", "{}")).await);
    assert!(json(&text(&received)).same(&json(ROWS)), "{}", text(&received));
    // A value that the model supplies is dropped and reported.
    let supplied = call("3", "show", r#"{"rows": ["mine"]}"#);
    let received = done(toolbox.call(&own, &supplied).await);
    assert!(json(&text(&received)).same(&json(ROWS)), "{}", text(&received));
    let dropped = received.changes.iter().filter(|change| change.op.as_str() == "hide").count();
    assert_eq!(dropped, 1);
}

#[tokio::test]
async fn an_error_does_not_repeat_filled_values() {
    let schema = r#"{"type": "object", "properties": {"rows": {}, "key": {}, "column": {}}}"#;
    let refuse = Handler::new(tool("refuse", schema), |_, arguments: Object| async move {
        let column = arguments.get("column").and_then(Json::as_str).unwrap_or_default().to_owned();
        let message = match &*column {
            "" => format!("{} is not an object", Json::from(arguments).compact()),
            column => format!("there is no column {column} for the key hunter2"),
        };
        Err::<Output, _>(ToolError::new(message))
    })
    .with_fill("rows", Fill::Slot(SlotFill::new("table")))
    .with_fill("key", Fill::Secret("hunter2".into()));
    let toolbox = with_store([read(None), refuse]);
    let own = session("acme", "one");
    done(toolbox.call(&own, &call("1", "read", "{}")).await);
    let failed = done(toolbox.call(&own, &call("2", "refuse", "{}")).await);
    assert!(text(&failed).contains("the stored data"), "{}", text(&failed));
    assert!(!text(&failed).contains("S3CRET") && !text(&failed).contains("hunter2"));
    // Other messages are for the model.
    let failed = done(toolbox.call(&own, &call("3", "refuse", r#"{"column": "agee"}"#)).await);
    let expected = "refuse failed: there is no column agee for the key [redacted]";
    assert_eq!(text(&failed), expected);
}

#[tokio::test]
async fn a_slot_belongs_to_its_tenant_and_conversation() {
    let toolbox = with_store([read(None), show("show", ValueForm::Json)]);
    done(toolbox.call(&session("acme", "one"), &call("1", "read", "{}")).await);
    for stranger in [session("acme", "two"), session("other", "one"), Session::new("run")] {
        let refused = done(toolbox.call(&stranger, &call("2", "show", "{}")).await);
        assert_eq!(kind(&refused), Some("empty_slot"), "{}", text(&refused));
    }
    let unnamed = session("acme", "one").without_slots();
    for name in ["read", "show"] {
        let refused = done(toolbox.call(&unnamed, &call("3", name, "{}")).await);
        assert_eq!(kind(&refused), Some("missing_context"));
        assert!(text(&refused).contains("toolwright-conversation"), "{}", text(&refused));
        assert_eq!(refused.attempts, 0);
    }
}

#[tokio::test]
async fn an_empty_slot_names_the_tool_that_fills_it() {
    let toolbox = with_store([read(None), show("show", ValueForm::Json)]);
    let refused = done(toolbox.call(&session("acme", "one"), &call("1", "show", "{}")).await);
    assert_eq!(kind(&refused), Some("empty_slot"));
    assert!(text(&refused).contains("Call read first, and then show again."), "{}", text(&refused));
    assert_eq!(refused.attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn an_expired_slot_says_so() {
    let limits = Limits { lifetime: Duration::from_mins(1), ..Limits::default() };
    let handlers = [read(None), show("show", ValueForm::Json)];
    let toolbox: Toolbox = toolbox(handlers).with_handles(Arc::new(MemoryHandles::new(limits)));
    let own = session("acme", "one");
    done(toolbox.call(&own, &call("1", "read", "{}")).await);
    tokio::time::advance(Duration::from_mins(1)).await;
    let refused = done(toolbox.call(&own, &call("2", "show", "{}")).await);
    assert!(text(&refused).contains("no longer kept. Call read first"), "{}", text(&refused));
}

#[tokio::test]
async fn the_usual_reply_has_no_values() {
    let toolbox = with_store([read(None)]);
    let stored = done(toolbox.call(&session("acme", "one"), &call("1", "read", "{}")).await);
    let reply = text(&stored);
    assert!(reply.contains("array of 2 items with the keys id, name"), "{reply}");
    assert!(!reply.contains("S3CRET"), "{reply}");
}

#[tokio::test]
async fn a_reply_shows_a_handle_and_not_its_value() {
    let store = Arc::new(MemoryHandles::default());
    let toolbox: Toolbox = toolbox([read(Some("{path}"))]).with_handles(store.clone());
    let own = session("acme", "one");
    let value = toolwright_runtime::output::Content::json("S3CRET");
    let id = store.put(&own.owner(), value).await.unwrap().to_string();
    let arguments = format!(r#"{{"path": "{id}"}}"#);
    let stored = done(toolbox.call(&own, &call("1", "read", &arguments)).await);
    assert_eq!(text(&stored), id);
}

#[tokio::test]
async fn a_value_is_passed_in_the_form_that_the_parameter_has() {
    let bytes = Handler::new(any("bytes"), |_, _| async {
        Ok(Output::bytes("image/png", vec![0xff, 0, 1]))
    });
    let bytes = bytes.with_slot(SlotOutput::new("table"));
    let toolbox = with_store([
        read(None),
        bytes,
        show("json", ValueForm::Json),
        show("text", ValueForm::Text),
        show("base64", ValueForm::Base64),
    ]);
    let own = session("acme", "one");
    let get = async |name: &str| {
        let received = done(toolbox.call(&own, &call(name, name, "{}")).await);
        received.value().map(std::borrow::Cow::into_owned)
    };
    done(toolbox.call(&own, &call("1", "read", "{}")).await);
    let compact = json(ROWS).compact();
    assert_eq!(get("text").await, Some(Json::from(compact.as_str())));
    let encoded = get("base64").await.unwrap();
    assert!(encoded.as_str().is_some_and(|text| text.starts_with("W3siaWQiOjEs")), "{encoded:?}");
    let stored = done(toolbox.call(&own, &call("2", "bytes", "{}")).await);
    assert!(text(&stored).contains("3 bytes of image/png"), "{}", text(&stored));
    assert_eq!(get("json").await, Some(Json::from("/wAB")));
    assert_eq!(get("base64").await, Some(Json::from("/wAB")));
    assert_eq!(get("text").await, None);
}

#[tokio::test]
async fn calls_of_one_turn_see_a_slot_in_the_order_of_the_model() {
    let counter = Counter::default();
    let number = counter.clone();
    let schema = r#"{"type": "object", "properties": {"delay": {"type": "integer"}}}"#;
    let write = Handler::new(tool("write", schema), move |_, arguments: Object| {
        let number = number.hit();
        let delay = arguments.get("delay").and_then(Json::as_u64).unwrap_or_default();
        async move {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            Ok(Output::json(u64::from(number)))
        }
    });
    let write = write.with_slot(SlotOutput::new("table"));
    let toolbox = with_store([write, show("show", ValueForm::Json)]);
    let calls = [
        call("1", "write", r#"{"delay": 60}"#),
        call("2", "show", "{}"),
        call("3", "write", r#"{"delay": 30}"#),
        call("4", "show", "{}"),
    ];
    let results = toolbox.call_all(&session("acme", "one"), &calls, Completeness::Complete).await;
    let texts: Vec<String> = results.into_iter().map(|status| text(&done(status))).collect();
    assert_eq!([texts[1].as_str(), texts[3].as_str()], ["0", "1"], "{texts:?}");
}

#[tokio::test]
async fn a_call_that_shares_a_slot_with_an_earlier_one_that_waits_for_approval_does_not_run() {
    let rule = Rule::new(Verdict::Ask).with_tools(["read"]);
    let toolbox = with_store([read(None), show("show", ValueForm::Json), echo("other")])
        .with_policy(Policy::default().with_rule(rule));
    let calls = ["other", "show", "read", "show", "other"];
    let calls: Vec<_> =
        (0..).zip(calls).map(|(id, name)| call(&format!("{id}"), name, "{}")).collect();
    let own = session("acme", "one");
    let mut results = toolbox.call_all(&own, &calls, Completeness::Complete).await.into_iter();
    let mut next = || results.next().unwrap();
    assert_eq!(kind(&done(next())), None);
    // A call before the one that waits finds the slot as it was.
    let earlier = done(next());
    assert!(text(&earlier).contains("is not stored yet"), "{}", text(&earlier));
    assert!(matches!(next(), CallStatus::Waiting(_)));
    let refused = done(next());
    assert_eq!((kind(&refused), refused.attempts), (Some("empty_slot"), 0));
    assert!(text(&refused).contains("read, which waits for the approval"), "{}", text(&refused));
    assert_eq!(kind(&done(next())), None);
}

#[tokio::test]
async fn a_slot_with_another_value_is_not_answered_from_the_cache() {
    let counter = Counter::default();
    let number = counter.clone();
    let write = Handler::new(any("write"), move |_, _| {
        let number = number.hit();
        async move { Ok(Output::json(u64::from(number))) }
    });
    let write = write.with_slot(SlotOutput::new("table"));
    let cached = show("show", ValueForm::Json).with_cache(Duration::from_hours(1));
    let toolbox = with_store([write, cached]);
    let own = session("acme", "one");
    for (turn, expected) in ["0", "1"].into_iter().enumerate() {
        let id = turn.to_string();
        done(toolbox.call(&own, &call(&format!("w{id}"), "write", "{}")).await);
        let shown = done(toolbox.call(&own, &call(&format!("s{id}"), "show", "{}")).await);
        assert_eq!(text(&shown), expected);
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_slot_in_a_file_survives_a_restart() {
    use toolwright_runtime::handle::SqliteHandles;

    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let path = folder.path().join("handles.sqlite");
        let store = SqliteHandles::open(path, Limits::default()).unwrap();
        toolbox([read(None), show("show", ValueForm::Json)]).with_handles(Arc::new(store))
    };
    let own = session("acme", "one");
    done(open().call(&own, &call("1", "read", "{}")).await);
    let again = open();
    let received = done(again.call(&own, &call("2", "show", "{}")).await);
    assert!(json(&text(&received)).same(&json(ROWS)), "{}", text(&received));
    let stranger = session("other", "one");
    let refused = done(again.call(&stranger, &call("3", "show", "{}")).await);
    assert_eq!(kind(&refused), Some("empty_slot"));
}

#[tokio::test]
async fn a_handle_is_passed_in_the_form_that_the_parameter_has() {
    let store = Arc::new(MemoryHandles::default());
    let schema = r#"{"type": "object", "properties": {"data": {"type": "string"}, "note": {"type": "string"}}}"#;
    let handler = Handler::new(tool("crop", schema), |_, arguments: Object| async move {
        Ok(Output::json(arguments))
    });
    let handler = handler.with_form("data", ValueForm::Base64).with_form("note", ValueForm::Text);
    let toolbox: Toolbox = toolbox([handler]).with_handles(store.clone());
    let own = session("acme", "one");
    let blob = toolwright_runtime::output::Blob {
        mime: "image/png".to_owned(),
        bytes: [0xff, 0, 1].into(),
    };
    let bytes =
        store.put(&own.owner(), toolwright_runtime::output::Content::Bytes(blob)).await.unwrap();
    let rows = toolwright_runtime::output::Content::json(json(ROWS));
    let rows = store.put(&own.owner(), rows).await.unwrap();
    let arguments = format!(r#"{{"data": "{bytes}", "note": "{rows}#/0"}}"#);
    let passed = done(toolbox.call(&own, &call("1", "crop", &arguments)).await);
    let expected = json(r#"{"data": "/wAB", "note": "{\"id\":1,\"name\":\"S3CRET\"}"}"#);
    assert!(json(&text(&passed)).same(&expected), "{}", text(&passed));
    // Bytes that are not text cannot be passed as text.
    let arguments = format!(r#"{{"note": "{bytes}"}}"#);
    let refused = done(toolbox.call(&own, &call("2", "crop", &arguments)).await);
    assert_eq!(kind(&refused), Some("bad_handle"));
    assert!(text(&refused).contains("is not text"), "{}", text(&refused));
}
