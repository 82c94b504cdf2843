//! Exchanges in the ledger, in one chain with calls.

use std::time::Duration;

use toolwright_core::Json;
use toolwright_core::loss::{Loss, Severity, Site};
use toolwright_core::origin::Origin;
use toolwright_core::{Dialect, FaultClass, StopReason, Usage, object};
use toolwright_runtime::CallErrorKind;
use toolwright_runtime::ledger::{
    ApprovalEntry, Entry, ExchangeEntry, Kind, Ledger, MemoryLedger, Query, Tried,
};

use super::{call, entry, sequences, shown};

/// An exchange with every field set, including secrets.
fn exchange(number: u64) -> ExchangeEntry {
    let loss = |path: &str| {
        let site = Site::of(&Origin::NONE).below(path);
        Loss::new(Severity::Major, site, "dropped", "the target has none")
    };
    let call = call(number);
    ExchangeEntry {
        time: call.time,
        run: format!("req_{number}").into(),
        caller: call.caller,
        conversation: Some("conv_1".into()),
        dialect: Dialect::OpenaiChat,
        endpoint: "chat".into(),
        model: Some("fast".into()),
        upstream: Some("claude".into()),
        upstream_dialect: Some(Dialect::Anthropic),
        answered: Some("claude-haiku-5".to_owned()),
        answer_id: Some("msg_1".to_owned()),
        stream: true,
        untouched: false,
        status: 200,
        error: Some(FaultClass::Overloaded),
        left: true,
        attempts: vec![
            Tried {
                name: "openai".into(),
                error: Some(FaultClass::RateLimited),
                duration: Duration::from_micros(7),
            },
            Tried { name: "claude".into(), error: None, duration: Duration::from_micros(8) },
        ],
        duration: Duration::from_micros(900),
        first_byte: Some(Duration::from_micros(300)),
        added: Duration::from_micros(60),
        usage: Some(Usage {
            input: Some(10),
            cache_read: Some(0),
            output: Some(5),
            ..Usage::default()
        }),
        stop: Some(StopReason::ToolUse),
        calls: vec!["read_csv".to_owned()],
        ran: vec![Tried {
            name: "git_status".into(),
            error: Some(CallErrorKind::TimedOut),
            duration: Duration::from_micros(9),
        }],
        bytes_in: 1_000,
        bytes_out: 2_000,
        losses: vec![loss("/tools/0/strict")],
        response_losses: vec![loss("/id")],
        more_losses: 3,
        count: 1,
        data: Some(Json::from(object! {
            "request": object! {"messages": "hello", "api_key": "hunter2"},
            "response": "data: {\"token\": \"hunter2\"}",
        })),
    }
}

#[test]
fn an_exchange_is_a_document_with_known_names() {
    let document = Entry::from(exchange(1)).to_json().compact();
    let expected = concat!(
        r#"{"kind":"exchange","time":"2026-11-15T05:15:00.250001Z","run":"req_1","#,
        r#""caller":"user 1","tenant":"acme","conversation":"conv_1","dialect":"openai-chat","endpoint":"chat","#,
        r#""model":"fast","upstream":"claude","upstream_dialect":"anthropic","#,
        r#""answered":"claude-haiku-5","answer_id":"msg_1","stream":true,"untouched":false,"#,
        r#""status":200,"error":"overloaded","left":true,"#,
        r#""attempts":[{"upstream":"openai","error":"rate_limited","duration_us":7},"#,
        r#"{"upstream":"claude","duration_us":8}],"#,
        r#""duration_us":900,"first_byte_us":300,"added_us":60,"#,
        r#""usage":{"input":10,"cache_read":0,"output":5},"stop":"tool_calls","#,
        r#""calls":["read_csv"],"#,
        r#""ran":[{"tool":"git_status","error":"timed_out","duration_us":9}],"#,
        r#""bytes_in":1000,"bytes_out":2000,"#,
        r#""losses":[{"path":"/tools/0/strict","what":"dropped","why":"the target has none","severity":"major"}],"#,
        r#""response_losses":[{"path":"/id","what":"dropped","why":"the target has none","severity":"major"}],"#,
        r#""more_losses":3,"#,
        r#""data":{"request":{"messages":"hello","api_key":"hunter2"},"#,
        r#""response":"data: {\"token\": \"hunter2\"}"}}"#,
    );
    assert_eq!(document, expected);
}

#[test]
fn an_exchange_is_read_back_from_its_document() {
    let mut least = exchange(2);
    (least.model, least.upstream, least.upstream_dialect) = (None, None, None);
    least.conversation = None;
    (least.answered, least.answer_id, least.error) = (None, None, None);
    (least.attempts, least.ran, least.calls) = (Vec::new(), Vec::new(), Vec::new());
    (least.first_byte, least.usage, least.stop, least.data) = (None, None, None, None);
    (least.losses, least.response_losses, least.more_losses) = (Vec::new(), Vec::new(), 0);
    let mut entries = vec![exchange(1), least];
    for class in FaultClass::ALL {
        entries.push(ExchangeEntry { error: Some(class), ..exchange(3) });
    }
    for dialect in Dialect::ALL {
        entries.push(ExchangeEntry { dialect, ..exchange(4) });
    }
    for entry in entries {
        let document = Json::Object(Entry::from(entry.clone()).to_json());
        assert_eq!(Entry::from_json(&document), Ok(entry.into()));
    }
}

#[test]
fn the_answer_to_an_approval_is_read_back_from_its_document() {
    for conversation in [None, Some("conv_1".into())] {
        let answer = ApprovalEntry {
            time: call(1).time,
            run: "req_1".into(),
            caller: call(1).caller,
            approval: "apr_1".into(),
            tool: "write_file".into(),
            conversation,
            approved: true,
        };
        let entry = Entry::from(answer.clone());
        let document = Json::Object(entry.to_json());
        assert_eq!(document.get("kind").and_then(Json::as_str), Some("approval"));
        assert_eq!(Entry::from_json(&document).as_ref(), Ok(&entry));
        assert_eq!((entry.as_approval(), entry.run()), (Some(&answer), "req_1"));
        let ledger = MemoryLedger::new();
        ledger.record(entry);
        assert_eq!(ledger.entries(&Query::new().with_kind(Kind::Approval)).len(), 1);
        ledger.verify().unwrap();
    }
}

#[test]
fn a_malformed_exchange_is_refused_with_the_field() {
    let whole = Entry::from(exchange(1)).to_json();
    for (field, wrong) in [
        ("kind", Json::from("visit")),
        ("time", Json::from("yesterday")),
        ("dialect", Json::from("latin")),
        ("endpoint", Json::Null),
        ("model", Json::from(1_u64)),
        ("upstream_dialect", Json::from("latin")),
        ("stream", Json::Null),
        ("status", Json::from(70_000_u64)),
        ("error", Json::from("unheard_of")),
        ("left", Json::from("no")),
        ("attempts", Json::parse(r#"[{"upstream":"a"}]"#).unwrap()),
        ("first_byte_us", Json::from("1")),
        ("usage", Json::from(1_u64)),
        ("usage", Json::parse(r#"{"input":"1"}"#).unwrap()),
        ("stop", Json::from("bored")),
        ("calls", Json::parse("[1]").unwrap()),
        ("ran", Json::parse(r#"[{"tool":"a","error":"b","duration_us":1}]"#).unwrap()),
        ("bytes_in", Json::Null),
        ("response_losses", Json::from(1_u64)),
    ] {
        let mut changed = whole.clone();
        changed.insert(field, wrong);
        let error = Entry::from_json(&Json::Object(changed)).unwrap_err();
        assert!(error.to_string().contains(field), "{field}: {error}");
    }
}

#[test]
fn bodies_are_in_a_ledger_only_if_enabled_and_without_secrets() {
    for (ledger, has) in [(MemoryLedger::new(), false), (MemoryLedger::new().with_data(), true)] {
        ledger.record(exchange(1).into());
        let text = shown(&ledger.entries(&Query::new())[0].entry);
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(text.contains("hello"), has, "{text}");
    }
}

/// Calls and exchanges in one ledger.
fn mixed(ledger: &impl Ledger) {
    for number in 0..4 {
        ledger.record(entry(number));
        ledger.record(exchange(number).into());
    }
}

/// Queries on them, and the positions of the results.
fn mixed_questions() -> Vec<(Query, Vec<u64>)> {
    vec![
        (Query::new(), (1..=8).collect()),
        (Query::new().with_kind(Kind::Call), vec![1, 3, 5, 7]),
        (Query::new().with_kind(Kind::Exchange).newest_first(), vec![8, 6, 4, 2]),
        (Query::new().with_run("req_2"), vec![6]),
        (Query::new().with_tool("tool_1"), vec![3]),
        (Query::new().with_tool(""), vec![]),
        (Query::new().with_tool("tool_1").with_kind(Kind::Exchange), vec![]),
        (Query::new().with_caller("user 0"), vec![1, 2, 7, 8]),
    ]
}

#[test]
fn memory_has_calls_and_exchanges_in_one_chain() {
    let ledger = MemoryLedger::new();
    mixed(&ledger);
    for (query, expected) in mixed_questions() {
        assert_eq!(sequences(&ledger.entries(&query)), expected, "{query:?}");
    }
    assert_eq!(ledger.verify().unwrap().entries, 8);
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use rusqlite::Connection;
    use toolwright_runtime::ledger::{
        Broken, Damage, LedgerError, MemoryLedger, Query, SqliteLedger,
    };

    use super::super::sequences;
    use super::super::sqlite::{found, place, written};
    use super::{mixed, mixed_questions};

    #[tokio::test]
    async fn a_file_has_calls_and_exchanges_in_one_chain() {
        let (_folder, path) = place();
        let (file, memory) = (SqliteLedger::open(&path).unwrap(), MemoryLedger::new());
        mixed(&file);
        mixed(&memory);
        assert_eq!(file.head().await.unwrap(), memory.head());
        for (query, expected) in mixed_questions() {
            assert_eq!(sequences(&file.entries(&query).await.unwrap()), expected, "{query:?}");
        }
        assert_eq!(file.verify().await.unwrap().entries, 8);
        let misfiled = "UPDATE entry SET kind = 'call' WHERE sequence = 6";
        let broken = Broken { sequence: 6, why: Damage::Misfiled };
        assert_eq!(found(&path, misfiled).await, Err(LedgerError::Broken(broken)));
    }

    /// The tables of a file in the format of the first version.
    const FIRST: &str = "
        DROP INDEX entry_tool;
        ALTER TABLE entry DROP COLUMN kind;
        CREATE INDEX entry_tool ON entry (tool);
        DROP TABLE session;
        DROP INDEX entry_time;
        DROP TABLE body;
        DROP TABLE checkpoint;
        PRAGMA user_version = 1;";

    #[tokio::test]
    async fn a_file_of_the_first_version_is_read_and_continued() {
        let (_folder, path) = place();
        let head = written(&path, 4).await;
        Connection::open(&path).unwrap().execute_batch(FIRST).unwrap();
        let ledger = SqliteLedger::open(&path).unwrap();
        assert_eq!(ledger.verify_against(&head).await.unwrap().entries, 4);
        assert_eq!(sequences(&ledger.entries(&Query::new()).await.unwrap()), [1, 2, 3, 4]);
        mixed(&ledger);
        assert_eq!(ledger.verify_against(&head).await.unwrap().entries, 12);
    }
}
