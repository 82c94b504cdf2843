//! One conversation for every vendor: the history and tools of a run, encoded in the wire format of
//! each, with the losses.
//!
//! ```text
//! openai-chat: [{"role":"user","content":"What time is it in Beijing?"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"city_time","arguments":"{\"city\": \"北京\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"北京: 09:30"}]
//! anthropic: [{"role":"user","content":"What time is it in Beijing?"},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"city_time","input":{"city":"北京"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"北京: 09:30","is_error":false}]}]
//! bedrock: [{"role":"user","content":[{"text":"What time is it in Beijing?"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"call_1","name":"city_time","input":{"city":"北京"}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"text":"北京: 09:30"}],"status":"success"}}]}]
//! gemini: [{"parts":[{"text":"What time is it in Beijing?"}],"role":"user"},{"parts":[{"functionCall":{"id":"call_1","name":"city_time","args":{"city":"北京"}},"thoughtSignature":"skip_thought_signature_validator"}],"role":"model"},{"parts":[{"functionResponse":{"id":"call_1","name":"city_time","response":{"output":"北京: 09:30"}}}],"role":"user"}]
//! ```

#![allow(clippy::print_stdout)]

use toolwright::dialect::{self, Dialect};
use toolwright::fit::fit;
use toolwright::prelude::*;

/// The time in a city.
#[tool(read_only)]
async fn city_time(city: String) -> String {
    format!("{city}: 09:30")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = ScriptedModel::new()
        .then_call("call_1", "city_time", r#"{"city": "北京"}"#)
        .then_text("It is 09:30 in Beijing.");
    let toolbox = Toolbox::new([city_time::handler()])?;
    let agent = Agent::new("clock").with_tools(toolbox).with_model(script.model());
    agent.run("What time is it in Beijing?").finish().await?;

    // The last request to the model: the question, the call and its outcome.
    let requests = script.requests();
    let request = requests.last().ok_or("the model was not asked")?;
    for id in ["openai-chat", "anthropic", "bedrock", "gemini"] {
        let codec = dialect::lookup(id).ok_or("no such dialect")?;
        let profile = codec.profile(&dialect::Target::default());
        let fitted = fit(request.clone(), Dialect::OpenaiChat, &profile);
        let wire = codec.encode_request(fitted.request);
        let messages = wire.body.get("messages").or(wire.body.get("contents"));
        println!("{id}: {}", messages.map(Json::compact).unwrap_or_default());
    }
    Ok(())
}
