//! `#[tool]` and `#[data]`: how a model sees a function, and how the function is called.

mod bind;
mod clean;
mod returned;
mod schema;

use std::time::Duration;

use tokio::time::Instant;
use toolwright_core::Json;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::Piece;
use toolwright_runtime::{Context, Handler, Scope, Session};

/// A call with a context.
fn scope(context: Context) -> Scope {
    let deadline = Instant::now() + Duration::from_mins(1);
    Scope::new(Session::new("run").with_context(context), "tool", "call_1", "key", deadline)
}

/// Runs a tool directly, with arguments that count as validated.
async fn run_in(handler: &Handler, context: &Context, arguments: &str) -> ToolResult {
    let Ok(Json::Object(arguments)) = Json::parse(arguments) else {
        panic!("{arguments} is no object");
    };
    handler.run(scope(context.clone()), arguments).await
}

async fn run(handler: Handler, arguments: &str) -> ToolResult {
    run_in(&handler, &Context::new(), arguments).await
}

/// The only part of a result, as text.
fn shown(ended: ToolResult) -> String {
    let output = ended.expect("a result");
    let [Piece { content, .. }] = &*output.pieces else { panic!("{output:?}") };
    content.as_text().map_or_else(|| content.clone().into_json().compact(), str::to_owned)
}

/// The schema of a tool's arguments.
fn parameters(handler: &Handler) -> Json {
    handler.tool().parameters().cloned().expect("a schema")
}
