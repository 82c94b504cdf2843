//! The complete output of a call for the host, beside what the model receives.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use toolwright_core::{Arguments, Call, Json, object};
use toolwright_runtime::call::{CallResult, Completeness, ResultSource};
use toolwright_runtime::handle::{Limits, MemoryHandles};
use toolwright_runtime::output::{Blob, Content, Piece};
use toolwright_runtime::{Effect, Envelope, Handler, Output, Session, ToolError, Toolbox};
use toolwright_testing::tools::{
    CountingHandles, any, call, done, json, make, text, tool, toolbox,
};

/// Rows with ten megabytes of text.
fn rows() -> Json {
    let row = |number: usize| object! {"id": number, "name": "x".repeat(1000)};
    object! {"rows": (0..10_000).map(row).collect::<Vec<_>>()}.into()
}

fn producer(output: Output) -> Handler {
    Handler::new(any("load"), move |_, _| {
        let output = output.clone();
        async move { Ok(output) }
    })
}

fn store() -> Arc<MemoryHandles> {
    Arc::new(MemoryHandles::new(Limits::default()))
}

fn contents(result: &CallResult) -> Vec<Content> {
    let pieces = result.output().expect("an output");
    pieces.iter().map(|piece| piece.content.clone()).collect()
}

/// As a plan passes the output of a step to the next one, by JSON Pointer.
#[tokio::test]
async fn an_output_of_ten_megabytes_feeds_the_next_call() {
    let schema = r#"{"type": "object", "required": ["row"], "additionalProperties": false,
        "properties": {"row": {"type": "object", "required": ["id", "name"]}}}"#;
    let show = Handler::new(tool("show", schema), |_, arguments| async move {
        let row = Json::Object(arguments);
        Ok(Output::json(row.pointer("/row/id").cloned().unwrap_or_default()))
    });
    for handles in [None, Some(store())] {
        let mut toolbox = toolbox([producer(Output::json(rows())), show.clone()]);
        if let Some(handles) = handles {
            toolbox = toolbox.with_handles(handles);
        }
        let loaded = make(&toolbox, "load", "{}").await;
        assert!(text(&loaded).len() < 20_000, "the model sees a preview");
        let value = loaded.value().unwrap();
        assert!(matches!(value, Cow::Borrowed(_)), "nothing is copied");
        let row = value.pointer("/rows/9999").unwrap().clone();
        let arguments = Arguments::from_json(&object! {"row": row}.into());
        let next = Call::new("c2", "show", arguments);
        let shown = done(toolbox.call(&Session::new("run"), &next).await);
        assert_eq!(text(&shown), "9999");
    }
}

#[tokio::test]
async fn every_piece_is_in_the_output() {
    let (long, longer) = ("y".repeat(900), "z".repeat(2000));
    let blob = Blob { mime: "image/x-raw".to_owned(), bytes: vec![7; 50].into() };
    let output = Output::text("short")
        .with(Content::json(json(r#"{"n": [1]}"#)))
        .with(Content::text(longer.clone()))
        .with(Piece::hidden(Content::json(json("[1,2]")), "two numbers"))
        .with(Content::Bytes(blob.clone()))
        .with(Content::text(long.clone()))
        .with(Content::json(Json::from(long.as_str())));
    for envelope in [None, Some(Envelope::Data)] {
        for budget in [10, 1000, 100_000] {
            let mut load = producer(output.clone()).with_budget(budget);
            if let Some(envelope) = envelope {
                load = load.with_envelope(envelope);
            }
            let result = make(&toolbox([load]).with_handles(store()), "load", "{}").await;
            let expected = vec![
                Content::text("short"),
                Content::json(json(r#"{"n":[1]}"#)),
                Content::text(&longer),
                Content::json(json("[1,2]")),
                Content::Bytes(blob.clone()),
                Content::text(&long),
                Content::text(&long),
            ];
            assert_eq!(contents(&result), expected, "{envelope:?} {budget}");
            assert_eq!(result.value(), None, "bytes have no JSON form");
        }
    }
}

#[tokio::test]
async fn one_value_in_an_envelope_is_the_output() {
    let load = producer(Output::json(json(r#"{"a": 1}"#))).with_envelope(Envelope::Result);
    let result = make(&toolbox([load]), "load", "{}").await;
    assert_eq!(text(&result), r#"{"success":true,"result":{"a":1}}"#);
    assert_eq!(result.value().unwrap().compact(), r#"{"a":1}"#);
    let both = Output::text("a").with(Content::json(Json::Null));
    let result = make(&toolbox([producer(both)]), "load", "{}").await;
    assert_eq!(result.value().unwrap().compact(), r#"["a",null]"#);
}

#[tokio::test]
async fn a_failed_call_has_its_whole_message_and_no_output() {
    let long = "e".repeat(50_000);
    let message = long.clone();
    let fail = Handler::new(any("load"), move |_, _| {
        let error = ToolError::new(message.clone());
        async move { Err(error) }
    });
    let toolbox = toolbox([fail]);
    let result = make(&toolbox, "load", "{}").await;
    assert!(text(&result).len() < 20_000);
    assert!(result.error.as_ref().unwrap().text.contains(&long));
    assert_eq!((result.output(), result.value()), (None, None));
    assert_eq!(make(&toolbox, "unknown", "{}").await.output(), None);
}

#[tokio::test]
async fn a_cached_result_has_its_output() {
    let load = producer(Output::json(rows())).with_effect(Effect::None);
    let toolbox = toolbox([load.with_cache(Duration::from_mins(1))]);
    for source in [ResultSource::Executed, ResultSource::Cached] {
        let result = make(&toolbox, "load", "{}").await;
        assert_eq!(result.source, source);
        assert!(result.value().unwrap().pointer("/rows/9999/id").is_some());
    }
}

#[tokio::test]
async fn equal_calls_of_a_turn_have_the_same_output() {
    let toolbox = toolbox([producer(Output::text("paid"))]);
    let calls = [call("a", "load", "{}"), call("b", "load", "{}")];
    let results = toolbox.call_all(&Session::new("run"), &calls, Completeness::Unknown).await;
    for status in results {
        assert_eq!(contents(&done(status)), [Content::text("paid")]);
    }
}

/// The journal records what the model received; the handle store has the rest.
#[tokio::test]
async fn a_replay_has_the_output_that_the_handle_store_has() {
    let replay = async |toolbox: &Toolbox| {
        make(toolbox, "load", "{}").await;
        let again = make(toolbox, "load", "{}").await;
        assert_eq!(again.source, ResultSource::Journal);
        again
    };
    let small = replay(&toolbox([producer(Output::text("paid"))])).await;
    assert_eq!(contents(&small), [Content::text("paid")]);

    let large = || toolbox([producer(Output::text("head").with(Content::json(rows())))]);
    let kept = replay(&large().with_handles(store())).await;
    assert_eq!(kept.value().unwrap().pointer("/1/rows/9999/id").unwrap().as_u64(), Some(9999));
    assert_eq!(replay(&large()).await.output(), None, "nobody kept it");
    let limits = Limits { lifetime: Duration::ZERO, ..Limits::default() };
    let forgetful = large().with_handles(Arc::new(MemoryHandles::new(limits)));
    assert_eq!(replay(&forgetful).await.output(), None, "it has expired");
}

#[tokio::test]
async fn a_replay_reads_the_rest_once() {
    let pieces = (0..1000).map(|number| Content::text(format!("piece {number}")));
    let output = pieces.fold(Output::text("first"), Output::with);
    let handles = Arc::new(CountingHandles::default());
    let toolbox = toolbox([producer(output).with_budget(100)]).with_handles(handles.clone());
    make(&toolbox, "load", "{}").await;
    let again = make(&toolbox, "load", "{}").await;
    assert_eq!(again.source, ResultSource::Journal);
    assert_eq!(contents(&again)[1000], Content::text("piece 999"));
    assert_eq!(handles.reads.get(), 1);
}
