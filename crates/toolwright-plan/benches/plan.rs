//! Measures what the local engine adds to the calls of a plan, with a tool that does nothing: start and check,
//! schedule, prepare, call through the toolbox, record. Each figure is a whole run; the items are its calls.
//!
//! At the end, eight calls of 100 ms are compared: as a plan, and by an agent.

#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout, reason = "the comparison is printed beside the figures")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tokio::runtime::{Builder, Runtime};
use toolwright_core::{Arguments, Call, Json, Part, Request, Response, Tool, object};
use toolwright_json::Object;
use toolwright_plan::journal::{MemoryPlanJournal, PlanJournal, SqlitePlanJournal};
use toolwright_plan::{Engine, LocalEngine, NewRun, Plan, RunStatus};
use toolwright_runtime::offline::estimate_usage;
use toolwright_runtime::{Agent, Effect, Handler, Output, ScriptedModel, Toolbox};

fn main() {
    divan::main();
    // A filter or a list of benchmarks asks for nothing else.
    if std::env::args().skip(1).all(|argument| argument == "--bench") {
        compare();
    }
}

fn schema() -> Json {
    Json::parse(
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#,
    )
    .unwrap()
}

fn toolbox() -> Toolbox {
    let tool = |name, effect| {
        Handler::new(Tool::function(name, schema()), |_, arguments| async move {
            Ok(Output::json(arguments))
        })
        .with_effect(effect)
    };
    Toolbox::new([tool("read", Effect::None), tool("once", Effect::Once)]).unwrap()
}

/// A plan of independent steps, or of steps that depend on the one before.
fn steps(tool: &str, count: usize, is_chain: bool) -> Plan {
    let mut steps = Object::new();
    for at in 0..count {
        let n = match at {
            0 => Json::from(1),
            at if is_chain => object! {"$from": format!("s{}/n", at - 1)}.into(),
            at => Json::from(at),
        };
        steps.push(format!("s{at}"), object! {"tool": tool, "args": object! {"n": n}});
    }
    parse(object! {"plan": "1", "steps": steps})
}

/// A plan of one step with many items.
fn fan_out(count: usize) -> Plan {
    let items: Vec<Json> = (0..count).map(Json::from).collect();
    let step =
        object! {"tool": "read", "each": items, "args": object! {"n": object! {"$from": "item"}}};
    parse(object! {"plan": "1", "steps": object! {"all": step}})
}

fn parse(document: Object) -> Plan {
    Plan::parse(&document.into()).unwrap()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

/// Runs a plan again and again, each time with another journal.
fn bench<J: PlanJournal>(
    bencher: Bencher<'_, '_>,
    calls: usize,
    plan: &Plan,
    journal: impl Fn() -> J,
) {
    let (runtime, toolbox) = (runtime(), toolbox());
    bencher
        .counter(ItemsCount::new(calls))
        .with_inputs(|| {
            let journal = Arc::new(journal());
            let engine =
                LocalEngine::new(toolbox.clone()).with_max_steps(10_000).with_journal(journal);
            (engine, plan.clone())
        })
        .bench_local_values(|(engine, plan)| {
            runtime.block_on(async {
                let run = engine.start(NewRun::new(plan, object! {})).await.unwrap();
                let report = engine.drive(&run, None).await.unwrap();
                assert_eq!(report.status(), RunStatus::Succeeded);
                black_box(report)
            })
        });
}

/// A journal in a new file.
fn sqlite(folder: &Path) -> SqlitePlanJournal {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    SqlitePlanJournal::open(folder.join(format!("{number}.sqlite"))).unwrap()
}

/// Independent steps in memory.
#[divan::bench(args = [100, 1_000, 10_000], max_time = 10)]
fn memory(bencher: Bencher<'_, '_>, count: usize) {
    bench(bencher, count, &steps("read", count, false), MemoryPlanJournal::new);
}

/// Steps that depend on the one before, in memory.
#[divan::bench(args = [100, 1_000, 10_000], max_time = 10)]
fn memory_chain(bencher: Bencher<'_, '_>, count: usize) {
    bench(bencher, count, &steps("read", count, true), MemoryPlanJournal::new);
}

/// Independent steps whose results are written to a file.
#[divan::bench(args = [100, 1_000, 10_000], max_time = 10)]
fn journaled(bencher: Bencher<'_, '_>, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    bench(bencher, count, &steps("read", count, false), || sqlite(folder.path()));
}

/// Steps that depend on the one before and may not be repeated: each waits for two writes to the disk.
#[divan::bench(args = [100], max_time = 10)]
fn journaled_chain_of_effects(bencher: Bencher<'_, '_>, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    bench(bencher, count, &steps("once", count, true), || sqlite(folder.path()));
}

/// The items of one step in memory.
#[divan::bench(args = [10_000], max_time = 10)]
fn items_in_memory(bencher: Bencher<'_, '_>, count: usize) {
    bench(bencher, count, &fan_out(count), MemoryPlanJournal::new);
}

/// The items of one step, whose results are written to a file.
#[divan::bench(args = [10_000], max_time = 10)]
fn items_journaled(bencher: Bencher<'_, '_>, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    bench(bencher, count, &fan_out(count), || sqlite(folder.path()));
}

const CITIES: [&str; 8] =
    ["Beijing", "Berlin", "Cairo", "Delhi", "Lima", "Nairobi", "Oslo", "Tokyo"];
const QUESTION: &str = "Compare the weather of this week in Beijing, Berlin, Cairo, Delhi, Lima, Nairobi, Oslo and Tokyo.";

/// Compares eight calls of 100 ms. The model answers at once, and its tokens are estimated: one for four ASCII
/// characters, one for every other character.
fn compare() {
    println!("\neight calls of 100 ms                 wall time    input tokens   output tokens");
    let runtime = runtime();
    let show = |name: &str, start: Instant, usage: &toolwright_core::Usage| {
        println!(
            "{name:<36} {:>7} ms {:>15} {:>15}",
            start.elapsed().as_millis(),
            usage.input.unwrap_or_default(),
            usage.output.unwrap_or_default()
        );
    };
    let calls: Vec<Call> = CITIES
        .iter()
        .enumerate()
        .map(|(at, city)| {
            let arguments = Json::from(object! {"city": *city, "days": 7});
            Call::new(format!("call_{at}"), "forecast", Arguments::from_json(&arguments))
        })
        .collect();
    for (name, turns) in [
        ("agent, one call per turn", calls.chunks(1).collect::<Vec<&[Call]>>()),
        ("agent, all calls in one turn", vec![&calls[..]]),
    ] {
        let mut script = ScriptedModel::new();
        let answers = turns.iter().map(|calls| calls.iter().cloned().map(Part::call).collect());
        for parts in
            answers.chain([vec![Part::text("It is warmest in Cairo, and it rains in Oslo.")]])
        {
            script = script.then_with(move |request| {
                let mut response = Response::new(parts);
                response.usage = Some(estimate_usage(request, &response));
                response
            });
        }
        let agent = Agent::new("weather").with_tools(slow()).with_model(script.model());
        let start = Instant::now();
        let answer = runtime.block_on(agent.run(QUESTION).finish()).unwrap();
        show(name, start, &answer.usage);
    }
    let mut steps = Object::new();
    for city in CITIES {
        steps.push(
            city.to_lowercase(),
            object! {"tool": "forecast", "args": object! {"city": city, "days": 7}},
        );
    }
    let document = object! {"plan": "1", "steps": steps};
    let engine = LocalEngine::new(slow());
    let start = Instant::now();
    runtime.block_on(async {
        let run = engine.start(NewRun::new(parse(document.clone()), object! {})).await.unwrap();
        let report = engine.drive(&run, None).await.unwrap();
        assert_eq!(report.status(), RunStatus::Succeeded);
    });
    show("plan", start, &toolwright_core::Usage::default());
    let written = Response::new(vec![Part::text(document.compact())]);
    let usage = estimate_usage(&Request::default(), &written);
    println!(
        "a model that writes the plan writes {} tokens, once",
        usage.output.unwrap_or_default()
    );
}

fn forecast() -> Tool {
    let schema = r#"{"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
        "city": {"type": "string", "description": "The name of the city"},
        "days": {"type": "integer", "description": "Number of days", "default": 3}}}"#;
    Tool::function("forecast", Json::parse(schema).unwrap())
        .with_description("Returns the weather of the next days.")
}

/// A tool that takes 100 ms.
fn slow() -> Toolbox {
    let handler = Handler::new(forecast(), |_, _| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let day = object! {"sky": "clear", "low": 11, "high": 23, "wind": "NW 3", "rain_mm": 0};
        Ok(Output::json(vec![day; 7]))
    })
    .with_effect(Effect::None);
    Toolbox::new([handler]).unwrap()
}
