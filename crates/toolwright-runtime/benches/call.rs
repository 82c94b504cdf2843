//! Measures one call from the model's text to the outcome, with a tool that does nothing: resolve,
//! apply the policy, journal, run in its own task, record in the ledger.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use divan::{Bencher, black_box};
use tokio::runtime::{Builder, Runtime};
use toolwright_core::{Arguments, Call, Json, Tool};
use toolwright_runtime::call::Completeness;
use toolwright_runtime::ledger::MemoryLedger;
use toolwright_runtime::{Effect, Handler, Output, Session, Toolbox};

fn main() {
    divan::main();
}

const SCHEMA: &str = r#"{"type": "object", "required": ["city"], "additionalProperties": false,
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3},
    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}}"#;

fn toolbox(effect: Effect) -> Toolbox {
    let tool = Tool::function("forecast", Json::parse(SCHEMA).unwrap());
    let handler = Handler::new(tool, |_, _| async { Ok(Output::text("sunny")) });
    Toolbox::new([handler.with_effect(effect)])
        .unwrap()
        .with_ledger(Arc::new(MemoryLedger::new().with_limit(1000)))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn arguments() -> Arguments {
    Arguments::from_text(r#"{"city": "Berlin", "days": 5, "unit": "celsius"}"#)
}

/// One call. The journal is used only for tools with effects.
#[divan::bench(args = [Effect::None, Effect::Once])]
fn one_call(bencher: Bencher<'_, '_>, effect: Effect) {
    let (toolbox, runtime, session) = (toolbox(effect), runtime(), Session::new("run"));
    let mut count = 0_u64;
    bencher
        .with_inputs(|| {
            count += 1;
            Call::new(format!("call_{count}"), "forecast", arguments())
        })
        .bench_local_values(|call| {
            black_box(runtime.block_on(toolbox.call_with(&session, &call, Completeness::Complete)))
        });
}

/// The steps before the tool: a call that is refused because of its arguments.
#[divan::bench]
fn refused(bencher: Bencher<'_, '_>) {
    let (toolbox, runtime, session) = (toolbox(Effect::None), runtime(), Session::new("run"));
    let call = Call::new("call_1", "forecast", Arguments::from_text(r#"{"days": 5}"#));
    bencher.bench_local(|| {
        black_box(runtime.block_on(toolbox.call_with(&session, &call, Completeness::Complete)))
    });
}
