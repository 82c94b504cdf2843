//! Tools and calls that several tests use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolwright_core::{Arguments, Call, Json, Tool};
use toolwright_json::Object;
use toolwright_runtime::call::{CallResult, CallStatus};
use toolwright_runtime::handle::{
    HandleError, HandleFuture, HandleId, HandleStore, HandleStoreError, MemoryHandles, Owner,
};
use toolwright_runtime::output::Content;
use toolwright_runtime::{Effect, Handler, Output, Session, Toolbox};

/// Parses a document.
pub fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

/// A tool with a name and a schema of its arguments.
pub fn tool(name: &str, schema: &str) -> Tool {
    Tool::function(name, json(schema))
}

/// A tool that takes anything.
pub fn any(name: &str) -> Tool {
    tool(name, r#"{"type":"object"}"#)
}

/// A tool without effects that returns its arguments.
pub fn echo(name: &str) -> Handler {
    Handler::new(any(name), |_, arguments: Object| async move { Ok(Output::json(arguments)) })
        .with_effect(Effect::None)
}

/// Counts events.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU32>);

impl Counter {
    /// Increments, and returns the count before.
    pub fn hit(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    pub fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool that counts its calls, with effects.
pub fn counting(name: &str, counter: &Counter) -> Handler {
    let counter = counter.clone();
    Handler::new(any(name), move |_, _| {
        let times = counter.hit();
        async move { Ok(Output::text(format!("{}", times + 1))) }
    })
}

/// A call by its text.
pub fn call(id: &str, name: &str, arguments: &str) -> Call {
    Call::new(id, name, Arguments::from_text(arguments))
}

pub fn toolbox(handlers: impl IntoIterator<Item = Handler>) -> Toolbox {
    Toolbox::new(handlers).expect("a toolbox")
}

/// Makes one call of a run.
pub async fn make(toolbox: &Toolbox, name: &str, arguments: &str) -> CallResult {
    let session = Session::new("run");
    done(toolbox.call(&session, &call("c1", name, arguments)).await)
}

pub fn done(called: CallStatus) -> CallResult {
    match called {
        CallStatus::Done(done) => done,
        CallStatus::Waiting(approval) => panic!("waits: {approval:?}"),
    }
}

/// The text of an outcome for the model, one part per line.
pub fn text(done: &CallResult) -> String {
    let parts = done.outcome.content.iter().map(|part| match &part.body {
        toolwright_core::Body::Text(text) => text.to_string(),
        toolwright_core::Body::Json(value) => value.compact(),
        other => format!("{other:?}"),
    });
    parts.collect::<Vec<_>>().join("\n")
}

pub fn kind(done: &CallResult) -> Option<&'static str> {
    done.error.as_ref().map(|error| error.kind.as_str())
}

/// A handle store that counts how often a value is read.
#[derive(Default)]
pub struct CountingHandles {
    store: MemoryHandles,
    pub reads: Counter,
}

impl HandleStore for CountingHandles {
    fn put_as<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
        value: Content,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>> {
        self.store.put_as(owner, id, value)
    }

    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<Content, HandleError>> {
        self.reads.hit();
        self.store.find(owner, id)
    }
}
