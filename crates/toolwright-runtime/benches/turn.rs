//! Measures the overhead of an agent around its model and its tool: the model answers at once, the
//! tool does nothing. Ledger and journal are in memory.
//!
//! `one_call` is a complete run: two requests are built, one call is resolved, authorized,
//! journaled, run and recorded, and the answer is returned. `ten_turns` is a run of ten such turns,
//! in a growing conversation.

#![allow(clippy::unwrap_used)]

use std::future::{Future, ready};
use std::sync::Arc;

use divan::{Bencher, black_box};
use tokio::runtime::{Builder, Runtime};
use toolwright_core::{Arguments, Call, Fault, Json, Message, Part, Request, Response, Tool};
use toolwright_runtime::ledger::MemoryLedger;
use toolwright_runtime::model::Upstream;
use toolwright_runtime::{Agent, Effect, Handler, Model, Output, Toolbox};

fn main() {
    divan::main();
}

const SCHEMA: &str = r#"{"type": "object", "required": ["city"], "additionalProperties": false,
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3},
    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}}"#;

/// A model that makes some calls, one per turn, and then finishes.
struct Eager(usize);

impl Upstream for Eager {
    fn respond(&self, request: Request) -> impl Future<Output = Result<Response, Fault>> + Send {
        let made = request.messages.iter().flat_map(Message::calls).count();
        let part = if made < self.0 {
            let text = r#"{"city": "Berlin", "days": 5, "unit": "celsius"}"#;
            Part::call(Call::new(format!("call_{made}"), "forecast", Arguments::from_text(text)))
        } else {
            Part::text("It will be sunny.")
        };
        ready(Ok(Response::new(vec![part])))
    }
}

fn agent(effect: Effect, calls: usize) -> Agent {
    let tool = Tool::function("forecast", Json::parse(SCHEMA).unwrap());
    let handler = Handler::new(tool, |_, _| async { Ok(Output::text("sunny")) });
    let toolbox = Toolbox::new([handler.with_effect(effect)])
        .unwrap()
        .with_ledger(Arc::new(MemoryLedger::new().with_limit(1000)));
    Agent::new("forecaster")
        .with_instructions("You tell the weather.")
        .with_tools(toolbox)
        .with_model(Model::with_upstream(Eager(calls), "eager"))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// A run with one call. The journal is used only for tools with effects.
#[divan::bench(args = [Effect::None, Effect::Once])]
fn one_call(bencher: Bencher<'_, '_>, effect: Effect) {
    let (agent, runtime) = (agent(effect, 1), runtime());
    bencher.bench_local(|| black_box(runtime.block_on(agent.run("Berlin?").finish()).unwrap()));
}

/// The same, event by event.
#[divan::bench]
fn one_call_followed(bencher: Bencher<'_, '_>) {
    let (agent, runtime) = (agent(Effect::Once, 1), runtime());
    bencher.bench_local(|| {
        runtime.block_on(async {
            let mut run = agent.run("Berlin?").build().unwrap();
            while let Some(event) = run.next().await.unwrap() {
                black_box(event);
            }
        });
    });
}

/// A run of ten turns; a tenth of it is the cost of a turn.
#[divan::bench(counters = [divan::counter::ItemsCount::new(10_usize)])]
fn ten_turns(bencher: Bencher<'_, '_>) {
    let (agent, runtime) = (agent(Effect::Once, 10), runtime());
    bencher.bench_local(|| black_box(runtime.block_on(agent.run("Berlin?").finish()).unwrap()));
}
