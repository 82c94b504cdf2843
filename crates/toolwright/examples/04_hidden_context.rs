//! Data that the model never sees: two tools share a table in the context of the run. The model knows
//! the path, that the file was read, and that rows were removed; no message contains a cell.
//!
//! ```text
//! {"content":"读取test.csv，然后删除缺失数据","role":"user","tool_id":null}
//! {"content":{"text":null,"reasoning":null},"tool_desc":[{"id":"call_1","type":"function","name":"extract_data","arguments":"{\"file_path\": \"test.csv\"}"}],"finish_reason":null}
//! {"content":"已从test.csv读取数据","role":"tool","tool_id":"call_1"}
//! {"content":{"text":null,"reasoning":null},"tool_desc":[{"id":"call_2","type":"function","name":"drop_missing","arguments":"{}"}],"finish_reason":null}
//! {"content":"已删除1行","role":"tool","tool_id":"call_2"}
//! {"content":"已读取test.csv，并删除了1行缺失数据。","role":"assistant"}
//! the host has: [["张三",34],["王五",28]]
//! ```

#![allow(clippy::print_stdout)]

use toolwright::builtin::{Root, Table, csv};
use toolwright::chat;
use toolwright::prelude::*;

/// The state that the tools share.
struct Data {
    root: Root,
    table: Option<Table>,
}

/// 读取指定路径的数据
#[tool]
fn extract_data(
    #[context] data: &mut Data,
    /// 文件路径
    file_path: String,
) -> Result<String, ToolError> {
    data.table = Some(csv::read(&data.root, &file_path)?);
    Ok(format!("已从{file_path}读取数据"))
}

/// 删除含有缺失值的行
#[tool]
fn drop_missing(#[context] data: &mut Data) -> Result<String, ToolError> {
    let table = data.table.as_mut().ok_or_else(|| ToolError::new("请先调用extract_data"))?;
    let rows = table.drop_missing(&[])?;
    Ok(format!("已删除{rows}行"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("test.csv"), "姓名,年龄\n张三,34\n李四,\n王五,28\n")?;

    // A script stands in for the model, so that this runs without a key.
    let script = ScriptedModel::new()
        .then_call("call_1", "extract_data", r#"{"file_path": "test.csv"}"#)
        .then_call("call_2", "drop_missing", "{}")
        .then_text("已读取test.csv，并删除了1行缺失数据。");
    let agent = Agent::new("Extractor")
        .with_instructions("根据用户需求，从指定路径或数据库提取数据")
        .with_tools(Toolbox::new([extract_data::handler(), drop_missing::handler()])?)
        .with_model(script.model());

    // Without `Data` in its context the run would not start.
    let context = Context::new().with(Data { root: Root::open(folder.path())?, table: None });
    let finished =
        agent.run("读取test.csv，然后删除缺失数据").with_context(context.clone()).finish().await?;

    for message in finished.messages.iter().flat_map(chat::message::write) {
        println!("{}", message.compact());
    }
    let data = context.read::<Data>().await?;
    let rows = data.table.as_ref().map(|table| table.rows.clone()).unwrap_or_default();
    println!("the host has: {}", Json::from(rows).compact());
    Ok(())
}
