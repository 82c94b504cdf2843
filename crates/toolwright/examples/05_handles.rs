//! Handles: a result stays with the tools, and the model passes a reference to it. Unlike a context,
//! this works for tools in other processes, and for several tables at once.
//!
//! ```text
//! read_csv: Read test.csv: 3 rows, 2 columns (姓名, 年龄); missing cells: 年龄 1.
//! To use it, pass "tw:…" as the argument.
//! drop_missing: Removed 1 row. Left: 2 rows, 2 columns (姓名, 年龄); no cell is missing.
//! To use it, pass "tw:…" as the argument.
//! write_file: Wrote 68 bytes to clean.json.
//! clean.json: {"columns":["姓名","年龄"],"rows":[["张三",34],["王五",28]]}
//! ```

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use toolwright::builtin::{self, Root};
use toolwright::handle::MemoryHandles;
use toolwright::prelude::*;
use toolwright::{Outcome, Part, Request, Response};

/// Returns the handle in the text of an outcome.
fn handle_in(words: &str) -> &str {
    words.split('"').find(|word| word.starts_with("tw:")).unwrap_or_default()
}

/// Uses a handle as a model does: takes it from the last outcome and passes it on.
fn pass_on(tool: &'static str, arguments: &'static str) -> impl FnOnce(&Request) -> Response {
    move |request| {
        let outcomes = request.messages.iter().flat_map(Message::outcomes);
        let words = outcomes.last().map(Outcome::words).unwrap_or_default();
        let arguments = Arguments::from_text(arguments.replace("HANDLE", handle_in(&words)));
        Response::new(vec![Part::call(Call::new(format!("call_{tool}"), tool, arguments))])
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("test.csv"), "姓名,年龄\n张三,34\n李四,\n王五,28\n")?;

    // Values are stored in memory, for their run, for an hour.
    let toolbox = Toolbox::new(builtin::handlers(Root::open(folder.path())?))?
        .with_handles(Arc::new(MemoryHandles::default()));
    // A script stands in for the model, so that this runs without a key.
    let script = ScriptedModel::new()
        .then_call("call_read_csv", "read_csv", r#"{"path": "test.csv"}"#)
        .then_with(pass_on("drop_missing", r#"{"table": "HANDLE"}"#))
        .then_with(pass_on("write_file", r#"{"path": "clean.json", "content": "HANDLE"}"#))
        .then_text("The table without missing cells is in clean.json.");
    let agent = Agent::new("cleaner").with_tools(toolbox).with_model(script.model());
    let finished = agent.run("Drop the rows of test.csv with missing cells").finish().await?;

    for outcome in finished.messages.iter().flat_map(Message::outcomes) {
        // The handle differs in each run.
        let words = outcome.words();
        let shown =
            if words.contains("tw:") { words.replace(handle_in(&words), "tw:…") } else { words };
        println!("{}: {shown}", outcome.name.as_deref().unwrap_or_default());
    }
    println!("clean.json: {}", std::fs::read_to_string(folder.path().join("clean.json"))?);
    Ok(())
}
