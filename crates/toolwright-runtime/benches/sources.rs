//! Measures a toolbox over three sources with 100,000 tools beside a toolbox with handlers alone: listing,
//! filtering, resolving, an unknown name, and cloning. No tool is compiled unless it is called.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use divan::{Bencher, black_box};
use tokio::runtime::{Builder, Runtime};
use toolwright_core::{Arguments, Call, Json, Tool};
use toolwright_runtime::toolbox::{SourceError, SourceFuture, ToolPage, ToolSource};
use toolwright_runtime::{Caller, Effect, Handler, Output, Session, Toolbox};

fn main() {
    divan::main();
}

/// Number of tools of each source.
const EACH: [usize; 3] = [90_000, 9_000, 1_000];

/// Number of tools of a toolbox without sources.
const FIXED: usize = 100;

/// Number of tools on a page.
const PAGE: usize = 1_000;

const SCHEMA: &str = r#"{"type": "object", "required": ["city"], "additionalProperties": false,
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}}}"#;

fn tool(source: usize, number: usize) -> Tool {
    Tool::function(format!("tool_{source}_{number}"), Json::parse(SCHEMA).unwrap())
}

fn handler(tool: Tool) -> Handler {
    Handler::new(tool, |_, _| async { Ok(Output::text("sunny")) }).with_effect(Effect::None)
}

/// A source that has its definitions in memory.
struct Source {
    number: usize,
    tools: Vec<Arc<Tool>>,
}

impl ToolSource for Source {
    fn name(&self) -> &'static str {
        "bench"
    }

    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        let start: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let end = self.tools.len().min(start + PAGE);
        let page = ToolPage::new(self.tools[start..end].iter().cloned());
        let more = end < self.tools.len();
        let page = if more { page.with_next(end.to_string()) } else { page };
        Box::pin(async { Ok(page) })
    }

    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        let number = name.strip_prefix(&format!("tool_{}_", self.number));
        let number = number.and_then(|number| number.parse::<usize>().ok());
        let found = number.and_then(|number| self.tools.get(number));
        Box::pin(async move { Ok(found.map(|tool| handler((**tool).clone()))) })
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn over_sources() -> (Toolbox, Runtime) {
    let source = |(number, count): (usize, usize)| {
        let tools = (0..count).map(|at| Arc::new(tool(number, at))).collect();
        Arc::new(Source { number, tools }) as Arc<dyn ToolSource>
    };
    let toolbox = Toolbox::default().with_sources(EACH.into_iter().enumerate().map(source));
    let runtime = runtime();
    runtime.block_on(toolbox.refresh());
    (toolbox, runtime)
}

fn fixed() -> Toolbox {
    Toolbox::new((0..FIXED).map(|number| handler(tool(0, number)))).unwrap()
}

fn compiled(toolbox: &Toolbox) -> usize {
    toolbox.source_reports().iter().map(|report| report.compiled).sum()
}

/// Lists all sources and replaces the snapshot.
#[divan::bench(sample_count = 10)]
fn refresh(bencher: Bencher<'_, '_>) {
    let (toolbox, runtime) = over_sources();
    bencher.bench_local(|| runtime.block_on(toolbox.refresh()));
    assert_eq!(compiled(&toolbox), 0);
}

#[divan::bench]
fn clone_over_sources(bencher: Bencher<'_, '_>) {
    let (toolbox, _) = over_sources();
    bencher.bench_local(|| black_box(toolbox.clone()));
}

#[divan::bench]
fn clone_fixed(bencher: Bencher<'_, '_>) {
    let toolbox = fixed();
    bencher.bench_local(|| black_box(toolbox.clone()));
}

/// A toolbox with ten of the tools, and their definitions for a caller.
#[divan::bench]
fn filter_over_sources(bencher: Bencher<'_, '_>) {
    let (toolbox, _) = over_sources();
    filter(bencher, &toolbox);
    assert_eq!(compiled(&toolbox), 0);
}

#[divan::bench]
fn filter_fixed(bencher: Bencher<'_, '_>) {
    filter(bencher, &fixed());
}

fn filter(bencher: Bencher<'_, '_>, toolbox: &Toolbox) {
    let names: Vec<String> = (0..10).map(|number| format!("tool_0_{}", number * 7)).collect();
    let caller = Caller::default();
    bencher.bench_local(|| {
        let tools = toolbox.only(names.iter().map(String::as_str)).tools_for(&caller);
        assert_eq!(tools.len(), names.len());
        black_box(tools)
    });
}

/// A call of a tool that was called before.
#[divan::bench]
fn call_over_sources(bencher: Bencher<'_, '_>) {
    let (toolbox, runtime) = over_sources();
    call(bencher, &toolbox, &runtime);
    assert_eq!(compiled(&toolbox), 1);
}

#[divan::bench]
fn call_fixed(bencher: Bencher<'_, '_>) {
    call(bencher, &fixed(), &runtime());
}

fn call(bencher: Bencher<'_, '_>, toolbox: &Toolbox, runtime: &Runtime) {
    let session = Session::new("run");
    let arguments = Arguments::from_text(r#"{"city": "Berlin", "days": 5}"#);
    let call = Call::new("call_1", "tool_0_42", arguments);
    bencher.bench_local(|| black_box(runtime.block_on(toolbox.call(&session, &call))));
}

/// The first resolution of a tool, which compiles its schema.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn resolve_first(bencher: Bencher<'_, '_>) {
    let (toolbox, runtime) = over_sources();
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        black_box(runtime.block_on(toolbox.resolve(&format!("tool_0_{number}"))).unwrap())
    });
    assert_eq!(compiled(&toolbox), number);
}

/// A call of a tool that does not exist: similar names are searched.
#[divan::bench(sample_count = 20)]
fn unknown_over_sources(bencher: Bencher<'_, '_>) {
    let (toolbox, runtime) = over_sources();
    let (session, call) = (Session::new("run"), Call::new("c", "took_1_42", Arguments::none()));
    bencher.bench_local(|| black_box(runtime.block_on(toolbox.call(&session, &call))));
    assert_eq!(compiled(&toolbox), 0);
}
