//! Read a table, then drop incomplete rows: the complete run, message by message, without a cell in
//! any message.

use std::fmt::Write;
use std::sync::Arc;

use toolwright_core::{Arguments, Call, Json, Message, Part, Request, Response};
use toolwright_runtime::Context;
use toolwright_runtime::builtin::{Root, Table, data};
use toolwright_runtime::handle::MemoryHandles;
use toolwright_runtime::ledger::{Entry, Ledger};
use toolwright_runtime::model::ScriptedModel;
use toolwright_runtime::run::{Agent, RunResult};
use toolwright_runtime::toolbox::Toolbox;

use super::{handle_in, words};

const FILE: &str = "姓名,电话,海拔\n张三丰,13800138000,8848.86\n李寻欢,,3776.12\n\
                    王重阳,13900139000,NA\n令狐冲,13700137000,5895.03\n";
const CELLS: [&str; 11] = [
    "张三丰",
    "李寻欢",
    "王重阳",
    "令狐冲",
    "13800138000",
    "13900139000",
    "13700137000",
    "8848.86",
    "3776.12",
    "5895.03",
    "NA\"",
];
const LEFT: &str = r#"[["张三丰",13800138000,8848.86],["令狐冲",13700137000,5895.03]]"#;

/// A ledger that stores all entries.
#[derive(Default)]
struct Everything(std::sync::Mutex<String>);

impl Ledger for Everything {
    fn record(&self, entry: Entry) {
        write!(self.0.lock().unwrap(), "{entry:?}").unwrap();
    }
}

fn folder() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("test.csv"), FILE).unwrap();
    let root = Root::open(dir.path()).unwrap();
    (dir, root)
}

/// Asserts that no cell appears in a request in any dialect, in a message of the conversation, or
/// in the ledger.
fn assert_nothing_shows(script: &ScriptedModel, finished: &RunResult, ledger: &Everything) {
    let mut said = vec![format!("{:?}", finished.messages), ledger.0.lock().unwrap().clone()];
    for request in script.requests() {
        said.push(format!("{request:?}"));
    }
    assert_eq!(script.left(), 0);
    assert!(said.iter().any(|text| text.contains("4 rows, 3 columns (姓名, 电话, 海拔)")));
    assert!(said.iter().any(|text| text.contains("Left: 2 rows")));
    for text in &said {
        for cell in CELLS {
            assert!(!text.contains(cell), "{cell} in {text}");
        }
    }
}

#[tokio::test]
async fn a_table_in_the_context_is_in_no_message() {
    let (_dir, root) = folder();
    let ledger = Arc::new(Everything::default());
    let toolbox = Toolbox::new(data::in_context(&root)).unwrap().with_ledger(ledger.clone());
    let script = ScriptedModel::new()
        .then_call("call_1", "read_csv", r#"{"path":"test.csv"}"#)
        .then_call("call_2", "drop_missing", "{}")
        .then_text("完成");
    let agent = Agent::new("cleaner").with_tools(toolbox).with_model(script.model());
    // Without the table's type in its context the run does not start.
    assert!(agent.run("读取").build().is_err());
    let context = Context::new().with(Table::default());
    let run = agent.run("读取test.csv，删除缺失数据").with_context(context.clone());
    let finished = run.finish().await.unwrap();
    assert_nothing_shows(&script, &finished, &ledger);
    let table = context.read::<Table>().await.unwrap();
    assert_eq!(Json::from(table.rows.clone()).compact(), LEFT);
}

/// Calls a tool with the handle of the last outcome.
fn pass_on(tool: &'static str, arguments: &'static str) -> impl FnOnce(&Request) -> Response {
    move |request| {
        let last = request.messages.iter().flat_map(Message::outcomes).last();
        let text = words(&last.unwrap().content);
        let arguments = arguments.replace("HANDLE", handle_in(&text));
        let call = Call::new(format!("call_{tool}"), tool, Arguments::from_text(arguments));
        Response::new(vec![Part::call(call)])
    }
}

#[tokio::test]
async fn a_table_behind_a_handle_is_in_no_message() {
    let (dir, root) = folder();
    let ledger = Arc::new(Everything::default());
    let toolbox = Toolbox::new(toolwright_runtime::builtin::handlers(root))
        .unwrap()
        .with_ledger(ledger.clone())
        .with_handles(Arc::new(MemoryHandles::default()));
    let script = ScriptedModel::new()
        .then_call("call_1", "read_csv", r#"{"path":"test.csv"}"#)
        .then_with(pass_on("drop_missing", r#"{"table":"HANDLE"}"#))
        .then_with(pass_on("write_file", r#"{"path":"out.json","content":"HANDLE#/rows"}"#))
        .then_text("完成");
    let agent = Agent::new("cleaner").with_tools(toolbox).with_model(script.model());
    let finished = agent.run("读取test.csv，删除缺失数据").finish().await.unwrap();
    assert_nothing_shows(&script, &finished, &ledger);
    assert_eq!(std::fs::read_to_string(dir.path().join("out.json")).unwrap(), LEFT);
    // The schema for the model says that the table's parameter takes a handle.
    let tool = script.requests()[0].tools.iter().find(|tool| tool.name == "drop_missing").cloned();
    let schema = tool.unwrap().parameters().unwrap().compact();
    assert!(schema.contains("Or a handle from an earlier result"), "{schema}");
}
