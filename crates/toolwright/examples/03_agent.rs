//! An agent: a model, tools and instructions. The model makes a mistake, reads the error, and calls
//! again; two calls of one turn run concurrently, and their outcomes keep the order of the calls.
//!
//! ```text
//! {"content":"我想从北京飞往上海，明天出发，帮我查一下明天上海的天气和可用的航班","role":"user","tool_id":null}
//! {"content":{"text":null,"reasoning":null},"tool_desc":[{"id":"call_1","type":"function","name":"get_wether","arguments":"{\"location\": \"上海\"}"},{"id":"call_2","type":"function","name":"search_flights","arguments":"{\"origin\": \"北京\"}"}],"finish_reason":null}
//! {"content":"There is no tool named `get_wether`, so nothing was done. Did you mean `get_weather`?","role":"tool","tool_id":"call_1"}
//! {"content":"The arguments for tool search_flights were not accepted.\n- the arguments (required): 'date' is missing\n- the arguments (required): 'destination' is missing\nMissing, required: destination, date.\nCall the tool again. Correct only what is named here and keep the other arguments as they were.","role":"tool","tool_id":"call_2"}
//! {"content":{"text":null,"reasoning":null},"tool_desc":[{"id":"call_3","type":"function","name":"get_weather","arguments":"{\"location\": \"上海\"}"},{"id":"call_4","type":"function","name":"search_flights","arguments":"{\"origin\": \"北京\", \"destination\": \"上海\", \"date\": \"2026-12-24\"}"}],"finish_reason":null}
//! {"content":"晴，22 度","role":"tool","tool_id":"call_3"}
//! {"content":"[\"北京 → 上海 2026-12-24 09:05\",\"北京 → 上海 2026-12-24 18:40\"]","role":"tool","tool_id":"call_4"}
//! {"content":"明天上海晴，22 度；有两个航班：09:05 和 18:40。","role":"assistant"}
//! 3 turns, 4 calls
//! ```

#![allow(clippy::print_stdout)]

use toolwright::chat;
use toolwright::prelude::*;
use toolwright::run::Limits;

/// Flights from one city to another.
#[tool(read_only)]
async fn search_flights(
    origin: String,
    destination: String,
    /// Such as 2026-12-24
    date: String,
) -> Vec<String> {
    vec![
        format!("{origin} → {destination} {date} 09:05"),
        format!("{origin} → {destination} {date} 18:40"),
    ]
}

/// 获取天气信息
#[tool(read_only)]
async fn get_weather(
    /// 地点
    location: String,
) -> Result<String, ToolError> {
    match location.as_str() {
        "上海" => Ok("晴，22 度".to_owned()),
        other => Err(ToolError::new(format!("没有{other}的天气"))),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flights = r#"{"origin": "北京", "destination": "上海", "date": "2026-12-24"}"#;
    // A script stands in for the model, so that this runs without a key.
    let script = ScriptedModel::new()
        .then_calls([
            Call::new("call_1", "get_wether", Arguments::from_text(r#"{"location": "上海"}"#)),
            Call::new("call_2", "search_flights", Arguments::from_text(r#"{"origin": "北京"}"#)),
        ])
        .then_calls([
            Call::new("call_3", "get_weather", Arguments::from_text(r#"{"location": "上海"}"#)),
            Call::new("call_4", "search_flights", Arguments::from_text(flights)),
        ])
        .then_text("明天上海晴，22 度；有两个航班：09:05 和 18:40。");
    let agent = Agent::new("旅行助手")
        .with_instructions("你是一个旅行助手，可以查询天气和航班信息")
        .with_tools(Toolbox::new([search_flights::handler(), get_weather::handler()])?)
        .with_model(script.model());

    let question = "我想从北京飞往上海，明天出发，帮我查一下明天上海的天气和可用的航班";
    let finished = agent.run(question).with_limits(Limits::turns(5)).finish().await?;

    for message in finished.messages.iter().flat_map(chat::message::write) {
        println!("{}", message.compact());
    }
    println!("{} turns, {} calls", finished.turns, finished.calls().count());
    Ok(())
}
