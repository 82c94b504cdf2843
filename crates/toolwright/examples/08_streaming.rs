//! A run as a stream of events: text and arguments while they arrive, calls as they start and end.
//! The arguments of a call can be shown before they are complete, without partial numbers.
//!
//! ```text
//! turn 1
//!   {}
//!   {"label":"上海"}
//!   {"label":"上海"}
//!   {"label":"上海","length":12}
//!   calling draw_bar
//!   上海 ############
//! turn 2
//!   "Here it i"
//!   "s."
//! ```

#![allow(clippy::print_stdout)]

use std::collections::HashMap;

use toolwright::Event;
use toolwright::args::growing::Growing;
use toolwright::event::Delta;
use toolwright::prelude::*;
use toolwright::run::RunEvent;

/// Draw a bar.
#[tool(read_only)]
async fn draw_bar(label: String, length: u32) -> String {
    format!("{label} {}", "#".repeat(length as usize))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = ScriptedModel::new()
        .then_call("call_1", "draw_bar", r#"{"label": "上海", "length": 12}"#)
        .then_text("Here it is.")
        .with_chunks(9);
    let toolbox = Toolbox::new([draw_bar::handler()])?;
    let agent = Agent::new("artist").with_tools(toolbox).with_model(script.model());

    let mut run = agent.run("A bar for 上海").build()?;
    let mut views: HashMap<usize, Growing> = HashMap::new();
    while let Some(event) = run.next().await? {
        match event {
            RunEvent::TurnStarted { turn } => println!("turn {turn}"),
            RunEvent::Model(Event::PartDelta { index, delta: Delta::Arguments(text) }) => {
                let view = views.entry(index).or_default();
                view.push(&text);
                println!("  {}", view.view().map(Json::compact).unwrap_or_default());
            }
            RunEvent::Model(Event::PartDelta { delta: Delta::Text(text), .. }) => {
                println!("  {text:?}");
            }
            RunEvent::CallStarted(call) => println!("  calling {}", call.name),
            RunEvent::CallDone(done) => println!("  {}", done.outcome.words()),
            _ => {}
        }
    }
    Ok(())
}
