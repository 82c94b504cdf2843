//! Results and errors as a model sees them.

use std::sync::Arc;

use toolwright_core::Json;
use toolwright_runtime::handle::{Limits, MemoryHandles};
use toolwright_runtime::output::Content;
use toolwright_runtime::{Effect, Envelope, Handler, Output, ToolError};
use toolwright_testing::tools::{any, json, kind, make, text, toolbox};

fn giving(output: impl Fn() -> Output + Send + Sync + 'static) -> Handler {
    Handler::new(any("t"), move |_, _| {
        let output = output();
        async move { Ok(output) }
    })
}

fn failing() -> Handler {
    Handler::new(any("t"), |_, _| async {
        Err(ToolError::new("no such city").with_kind("NotFound"))
    })
}

#[tokio::test]
async fn the_envelope_of_a_success() {
    let two = || Output::text("a").with(Content::json(json("[1]")));
    for (handler, wanted) in [
        (
            giving(|| Output::json(json(r#"{"t":0.10}"#))).with_envelope(Envelope::Data),
            r#"{"success":true,"data":{"t":0.10}}"#,
        ),
        (
            giving(|| Output::text("sunny")).with_envelope(Envelope::Result),
            r#"{"success":true,"result":"sunny"}"#,
        ),
        (
            giving(|| Output::text("sunny")).with_envelope(Envelope::NamedResult),
            r#"{"success":true,"result":"sunny","tool_name":"t"}"#,
        ),
        (giving(Output::default).with_envelope(Envelope::Data), r#"{"success":true,"data":null}"#),
        (giving(two).with_envelope(Envelope::Data), r#"{"success":true,"data":["a",[1]]}"#),
    ] {
        assert_eq!(text(&make(&toolbox([handler]), "t", "{}").await), wanted);
    }
}

#[tokio::test]
async fn the_envelope_of_a_failure() {
    let handler = failing().with_envelope(Envelope::Data);
    let done = make(&toolbox([handler]), "t", "{}").await;
    let wanted =
        r#"{"success":false,"error":"no such city","error_type":"NotFound","tool_name":"t"}"#;
    assert_eq!(text(&done), wanted);
    assert_eq!(done.outcome.error, Some(true));

    let handler = failing().with_envelope(Envelope::NamedResult);
    let wanted = r#"{"success":false,"error":"no such city","tool_name":"t"}"#;
    assert_eq!(text(&make(&toolbox([handler]), "t", "{}").await), wanted);

    // A refusal before the tool runs has the same form.
    let handler = failing().with_envelope(Envelope::Result);
    let refused = json(&text(&make(&toolbox([handler]), "t", "[1]").await));
    assert_eq!(refused.get("success"), Some(&Json::Bool(false)));
    assert_eq!(refused.get("tool_name").and_then(Json::as_str), Some("t"));
}

#[tokio::test]
async fn an_error_has_the_tools_message_or_the_hosts() {
    let done = make(&toolbox([failing()]), "t", "{}").await;
    assert_eq!(text(&done), "t failed: no such city");
    let handler = failing().with_error_text(|error| format!("{} — try Berlin", error.message));
    let done = make(&toolbox([handler]), "t", "{}").await;
    assert_eq!(text(&done), "no such city — try Berlin");
    assert_eq!((kind(&done), done.outcome.error), (Some("failed"), Some(true)));
}

#[tokio::test]
async fn a_large_result_is_bounded() {
    let long = "界".repeat(200_000);
    let (text_of, json_of, error_of) = (long.clone(), long.clone(), long);
    let handlers = [
        giving(move || Output::text(text_of.clone())).with_name("text"),
        giving(move || Output::json(vec![json_of.as_str(); 3])).with_name("json"),
        Handler::new(any("error"), move |_, _| {
            let error = ToolError::new(error_of.clone());
            async move { Err(error) }
        }),
    ];
    for keeps in [false, true] {
        let mut toolbox = toolbox(handlers.clone());
        if keeps {
            toolbox = toolbox.with_handles(Arc::new(MemoryHandles::new(Limits::default())));
        }
        for name in ["text", "json", "error"] {
            let done = make(&toolbox, name, "{}").await;
            assert!(text(&done).len() < 18 * 1024, "{name} {}", text(&done).len());
            assert!(text(&done).len() > 100, "{name}");
            assert_eq!(text(&done).contains("tw:"), keeps && name != "error", "{name}");
        }
    }
}

#[tokio::test]
async fn bytes_are_never_text() {
    let bytes = || Output::bytes("application/x-thing", vec![0xff, 0xfe, 0x00, 0x80]);
    for keeps in [false, true] {
        let mut toolbox = toolbox([giving(bytes)]);
        if keeps {
            toolbox = toolbox.with_handles(Arc::new(MemoryHandles::new(Limits::default())));
        }
        let done = make(&toolbox, "t", "{}").await;
        assert_eq!(kind(&done), None);
        assert!(text(&done).contains("4 bytes of application/x-thing"), "{}", text(&done));
        assert!(!text(&done).contains('\u{fffd}'));
        assert_eq!(text(&done).contains("tw:"), keeps);
    }
}

#[tokio::test]
async fn host_only_errors_are_in_no_outcome() {
    let handler = giving(|| Output::text("loaded").with_host(vec![42_u8; 3]));
    let done = make(&toolbox([handler.with_effect(Effect::None)]), "t", "{}").await;
    assert_eq!(text(&done), "loaded");
    assert_eq!(done.host.unwrap().get::<Vec<u8>>(), Some(&vec![42, 42, 42]));
}
