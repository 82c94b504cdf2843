//! A model by its name: its vendor, the key that it needs, and its reply. The vendor here is a thread
//! with one reply, so that nothing leaves this machine.
//!
//! ```text
//! gpt-4o: openai
//! us.anthropic.claude-haiku-5-v1:0: bedrock
//! deepseek/deepseek-chat: deepseek
//! without a key: upstream `anthropic` needs a key: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN
//! claude-haiku-5 calls city_time with {"city":"北京"}
//! ```

#![allow(clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::TcpListener;

use toolwright::model::Model;
use toolwright::upstream::providers;
use toolwright::{Message, tool};

/// The time in a city.
#[tool(read_only)]
async fn city_time(city: String) -> String {
    format!("{city}: 09:30")
}

/// The vendor's reply to every request.
const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-5",
    "content":[{"type":"tool_use","id":"toolu_1","name":"city_time","input":{"city":"北京"}}],
    "stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":5}}"#;

/// Starts a vendor that answers one request, and returns its address.
fn vendor() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        // The request is small and arrives in a few pieces; it ends with its JSON.
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece)?;
            asked.extend_from_slice(&piece[..count]);
        }
        let length = ANSWER.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
        write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{ANSWER}")
    });
    Ok(url)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["gpt-4o", "us.anthropic.claude-haiku-5-v1:0", "deepseek/deepseek-chat"] {
        println!("{name}: {}", providers::resolve(name)?.0.id);
    }

    // `Model::new` reads variables of the process; here they are given.
    let nothing = |_: &str| None;
    if let Err(error) = Model::from_env("claude-haiku-5", &nothing) {
        println!("without a key: {error}");
    }

    let url = vendor()?;
    let variables = move |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("sk-example".to_owned()),
        "ANTHROPIC_BASE_URL" => Some(url.clone()),
        _ => None,
    };
    let model = Model::from_env("claude-haiku-5", &variables)?;
    let handler = city_time::handler();
    let asked = model.chat([Message::user("What time is it in Beijing?")]);
    let response = asked.with_tools([handler.tool().clone()]).send().await?;
    for call in response.calls() {
        println!("{} calls {} with {}", model.name(), call.name, call.arguments.as_str());
    }
    Ok(())
}
