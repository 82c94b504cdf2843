//! Plans that are published as functions of prefabs, and called as tools.

use std::sync::Arc;

use toolwright_catalog::files::{FileLimits, Files};
use toolwright_catalog::runtime::Runner;
use toolwright_catalog::tools::{CatalogTools, LocalCatalog};
use toolwright_catalog::{Access, Catalog, FunctionSource, Manifest, Package, PublishOptions};
use toolwright_core::{Json, Tool, object};
use toolwright_plan::{Engine, LocalEngine, NewRun, Plan, RunStatus};
use toolwright_runtime::call::{Policy, Rule, Verdict};
use toolwright_runtime::context::Context;
use toolwright_runtime::ledger::{MemoryLedger, Query, ResultSource};
use toolwright_runtime::{Effect, Handler, Output, Session, ToolError, Toolbox};

use toolwright_testing::tools::{Counter, any, call, counting, done, json, text};

/// Greets someone: `hello` makes the text, `greet` is the step of another plan.
const GREETINGS: &str = r#"{"id":"greeting-prefab","version":"1.0.0","name":"Greetings",
    "description":"Greets people by plans.","runtime":{"plan":{}},"functions":[
    {"name":"hello","description":"Greets.","effect":"read-only","plan":{"plan":"1",
        "inputs":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
            "word":{"type":"string","default":"hello"}}},
        "steps":{"a":{"tool":"echo","args":{"text":{"$from":"inputs/word"},"to":{"$from":"inputs/name"}}}},
        "outputs":{"text":{"$from":"a/text"},"to":{"$from":"a/to"}}}},
    {"name":"twice","description":"Greets twice.","effect":"read-only","plan":{"plan":"1",
        "steps":{"both":{"tool":"greeting-prefab/hello","each":["Li","Wei"],"args":{"name":{"$from":"item"}}}},
        "outputs":{"all":{"$from":"both"}}}},
    {"name":"again","description":"Calls itself.","plan":{"plan":"1","steps":{"a":{"tool":"greeting-prefab/again"}}}},
    {"name":"send","description":"Sends.","plan":{"plan":"1","steps":{
        "a":{"tool":"echo","args":{"x":1}},"b":{"tool":"send","after":["a"]}}}},
    {"name":"deliver","description":"Pays, then delivers.","effect":"idempotent","plan":{"plan":"1","steps":{
        "pay":{"tool":"pay"},"deliver":{"tool":"deliver","after":["pay"]}},"outputs":{"done":{"$from":"deliver"}}}},
    {"name":"order","description":"Delivers.","effect":"idempotent","plan":{"plan":"1","steps":{
        "order":{"tool":"greeting-prefab/deliver"}},"outputs":{"done":{"$from":"order/done"}}}},
    {"name":"confirm","description":"Delivers, then confirms.","effect":"idempotent","plan":{"plan":"1","steps":{
        "deliver":{"tool":"deliver"},"confirm":{"tool":"confirm","after":["deliver"]}},"outputs":{"done":{"$from":"confirm"}}}},
    {"name":"insist","description":"Delivers.","effect":"read-only","plan":{"plan":"1","steps":{
        "deliver":{"tool":"deliver","retry":{"max":1,"backoff_ms":1}}},"outputs":{"done":{"$from":"deliver"}}}},
    {"name":"try","description":"Delivers once.","effect":"read-only","plan":{"plan":"1","steps":{
        "deliver":{"tool":"deliver"}}}}]}"#;

struct Site {
    _folder: tempfile::TempDir,
    /// The tools of the catalog, and those that plans use
    toolbox: Toolbox,
    functions: Arc<FunctionSource>,
    sent: Counter,
    paid: Counter,
    delivered: Counter,
    confirmed: Counter,
    ledger: Arc<MemoryLedger>,
}

/// A tool that takes anything and returns it.
fn echo() -> Handler {
    let schema = json(r#"{"type":"object","additionalProperties":true}"#);
    Handler::new(Tool::function("echo", schema), |_, arguments| async move {
        Ok(Output::json(arguments))
    })
    .with_effect(Effect::None)
}

/// A tool that may be repeated, and fails at first.
fn failing_first(name: &str, calls: &Counter) -> Handler {
    let calls = calls.clone();
    Handler::new(any(name), move |_, _| {
        let is_first = calls.hit() == 0;
        async move {
            if is_first { Err(ToolError::new("nobody is home")) } else { Ok(Output::text("done")) }
        }
    })
    .with_effect(Effect::Keyed)
}

fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Catalog::open(folder.path()).unwrap();
    let package = Package::new(Manifest::parse(&json(GREETINGS)).unwrap());
    catalog.publish(package, PublishOptions::default()).unwrap();
    let files = Files::open(folder.path(), FileLimits::default()).unwrap();
    let (sent, ledger) = (Counter::default(), Arc::new(MemoryLedger::default()));
    let (paid, delivered, confirmed) = <(Counter, Counter, Counter)>::default();
    let repeatable = [failing_first("deliver", &delivered), failing_first("confirm", &confirmed)];
    let own = [echo(), counting("send", &sent), counting("pay", &paid)].into_iter();
    let own = Toolbox::new(own.chain(repeatable)).unwrap();
    let local: Arc<std::sync::OnceLock<LocalCatalog>> = Arc::default();
    let opened = {
        let local = Arc::clone(&local);
        move || {
            let local = local.get().unwrap().clone();
            Box::pin(async move { Ok(local) }) as toolwright_catalog::tools::CatalogFuture
        }
    };
    let (open, base) = (opened.clone(), own.clone());
    let runner = Runner::new(files).with_plans(Arc::new(move |access: Access| {
        let functions = FunctionSource::opened_by(open.clone()).with_access(access.clone());
        base.filtered(move |name| access.permits(name)).with_unlisted(Arc::new(functions))
    }));
    let runner = Arc::new(runner);
    drop(local.set(LocalCatalog { catalog: catalog.clone(), runner: Arc::clone(&runner) }));
    let tools = CatalogTools::local(catalog, runner).handlers();
    let policy = Policy::default().with_rule(Rule::new(Verdict::Ask).with_tools(["send"]));
    let toolbox = Toolbox::new(tools.into_iter().chain([echo(), counting("send", &sent)]))
        .unwrap()
        .with_policy(policy)
        .with_ledger(ledger.clone());
    let functions = Arc::new(FunctionSource::opened_by(opened));
    Site { _folder: folder, toolbox, functions, sent, paid, delivered, confirmed, ledger }
}

impl Site {
    async fn make_with(&self, context: Context, tool: &str, arguments: &str) -> Json {
        let session = Session::new("run").with_context(context);
        json(&text(&done(self.toolbox.call(&session, &call("c1", tool, arguments)).await)))
    }

    async fn run(&self, function: &str, parameters: &str) -> Json {
        let arguments = format!(
            r#"{{"prefab_id":"greeting-prefab","version":"1.0.0","function_name":"{function}","parameters":{parameters}}}"#
        );
        self.make_with(Context::new(), "call_prefab_function", &arguments).await
    }

    /// The tools that were called, in order.
    fn called(&self) -> Vec<String> {
        let entries = self.ledger.entries(&Query::default());
        entries.iter().filter_map(|own| Some(own.entry.as_call()?.tool.to_string())).collect()
    }
}

#[tokio::test]
async fn a_published_plan_is_listed_described_and_called() {
    let site = site();
    let listed = site
        .make_with(Context::new(), "list_prefab_functions", r#"{"prefab_id":"greeting-prefab"}"#)
        .await;
    assert_eq!(listed.pointer("/result/functions/0/name"), Some(&"hello".into()), "{listed}");
    let details = r#"{"prefab_id":"greeting-prefab","function_name":"hello"}"#;
    let details = site.make_with(Context::new(), "get_function_details", details).await;
    let parameters = details.pointer("/result/function/parameters").unwrap();
    let expected = r#"[{"name":"name","type":"string","required":true},{"name":"word","type":"string","default":"hello"}]"#;
    assert_eq!(parameters, &json(expected));
    assert!(details.pointer("/result/function/returns/properties/to").is_some(), "{details}");

    let result = site.run("hello", r#"{"name":"Li"}"#).await;
    let output = result.pointer("/result/function_result");
    assert_eq!(output, Some(&json(r#"{"text":"hello","to":"Li"}"#)), "{result}");
    let called = site.called();
    assert!(
        called.contains(&"echo".to_owned()) && called.contains(&"greeting-prefab/hello".to_owned())
    );
    let wrong = site.run("hello", "{}").await;
    assert!(wrong.pointer("/error").and_then(Json::as_str).unwrap().contains("name"), "{wrong}");
}

#[tokio::test]
async fn a_published_plan_is_a_step_of_another_plan() {
    let site = site();
    let result = site.run("twice", "{}").await;
    let output = result.pointer("/result/function_result/all/1/to");
    assert_eq!(output, Some(&"Wei".into()), "{result}");

    let toolbox = site.toolbox.clone().with_unlisted(site.functions.clone());
    let engine = LocalEngine::new(toolbox);
    let document = r#"{"plan":"1","steps":{"a":{"tool":"greeting-prefab/hello","args":{"name":"Li"}},
        "b":{"tool":"echo","args":{"x":{"$from":"a/to"}}}},"outputs":{"x":{"$from":"b/x"}}}"#;
    let plan = Plan::parse(&json(document)).unwrap();
    let run = engine.start(NewRun::new(plan, object! {})).await.unwrap();
    let report = engine.drive(&run, None).await.unwrap();
    assert_eq!(
        (report.status(), report.outputs.compact().as_str()),
        (RunStatus::Succeeded, r#"{"x":"Li"}"#)
    );
    assert_eq!(report.steps[0].tool, "greeting-prefab@1.0.0/hello");
}

#[tokio::test]
async fn a_retry_of_a_published_plan_repeats_what_failed_and_may_be_repeated() {
    let site = site();
    let engine = LocalEngine::new(site.toolbox.clone().with_unlisted(site.functions.clone()));
    let document = r#"{"plan":"1","steps":{"a":{"tool":"greeting-prefab/deliver","retry":{"max":2,"backoff_ms":1}}},
        "outputs":{"done":{"$from":"a/done"}}}"#;
    let run = engine.start(NewRun::new(Plan::parse(&json(document)).unwrap(), object! {}));
    let report = engine.drive(&run.await.unwrap(), None).await.unwrap();
    assert_eq!(report.outputs.compact(), r#"{"done":"done"}"#, "{report:?}");
    assert_eq!((report.steps[0].status.attempts, site.paid.get(), site.delivered.get()), (2, 1, 2));
}

#[tokio::test]
async fn a_retry_of_a_tool_that_calls_a_published_plan_repeats_no_effect_at_any_depth() {
    for function in ["deliver", "order"] {
        let site = site();
        let engine = LocalEngine::new(site.toolbox.clone().with_unlisted(site.functions.clone()));
        let arguments = format!(
            r#"{{"prefab_id":"greeting-prefab","version":"1.0.0","function_name":"{function}","parameters":{{}}}}"#
        );
        let document = format!(
            r#"{{"plan":"1","steps":{{"a":{{"tool":"call_prefab_function","args":{arguments},
                "retry":{{"max":2,"backoff_ms":1}}}}}},"outputs":{{"done":{{"$from":"a/function_result/done"}}}}}}"#
        );
        let plan = Plan::parse(&json(&document)).unwrap();
        let run = engine.start(NewRun::new(plan, object! {})).await.unwrap();
        let report = engine.drive(&run, None).await.unwrap();
        assert_eq!(report.outputs.compact(), r#"{"done":"done"}"#, "{report:?}");
        assert_eq!((site.paid.get(), site.delivered.get()), (1, 2), "{function}");
        let (_, entries) = engine.journal().load(&run).await.unwrap();
        assert!(entries.iter().all(|entry| entry.step == "a"), "{entries:?}");
    }
}

#[tokio::test]
async fn a_call_that_succeeds_in_a_retry_is_not_made_again() {
    let site = site();
    let engine = LocalEngine::new(site.toolbox.clone().with_unlisted(site.functions.clone()));
    let document = r#"{"plan":"1","steps":{"a":{"tool":"greeting-prefab/confirm","retry":{"max":3,"backoff_ms":1}}},
        "outputs":{"done":{"$from":"a/done"}}}"#;
    let run = engine.start(NewRun::new(Plan::parse(&json(document)).unwrap(), object! {}));
    let report = engine.drive(&run.await.unwrap(), None).await.unwrap();
    assert_eq!(report.outputs.compact(), r#"{"done":"done"}"#, "{report:?}");
    let made = (site.delivered.get(), site.confirmed.get());
    assert_eq!((report.steps[0].status.attempts, made), (3, (2, 2)));
}

#[tokio::test]
async fn a_step_within_a_published_plan_is_retried() {
    let site = self::site();
    let result = site.run("insist", "{}").await;
    assert_eq!(result.pointer("/result/function_result/done"), Some(&"done".into()), "{result}");
    assert_eq!(site.delivered.get(), 2);
    // The same call again, as after a crash, has the recorded success of the retry.
    let site = self::site();
    let toolbox = site.toolbox.clone().with_unlisted(site.functions.clone());
    for _ in 0..2 {
        let insist = call("c1", "greeting-prefab/insist", "{}");
        let result = done(toolbox.call(&Session::new("run"), &insist).await);
        assert_eq!(text(&result), r#"{"done":"done"}"#);
        assert_eq!((result.source, site.delivered.get()), (ResultSource::Executed, 2));
    }
    // The same call again, as after a crash, has the recorded failure.
    let site = self::site();
    for _ in 0..2 {
        let failed = site.run("try", "{}").await;
        assert!(failed.compact().contains("nobody is home"), "{failed}");
    }
    assert_eq!(site.delivered.get(), 1);
}

#[tokio::test]
async fn a_plan_that_calls_itself_or_needs_a_person_fails() {
    let site = site();
    let itself = site.run("again", "{}").await;
    let error = itself.get("error").and_then(Json::as_str).unwrap();
    assert!(error.contains("a tool may not call itself"), "{error}");
    let asking = site.run("send", "{}").await;
    let error = asking.get("error").and_then(Json::as_str).unwrap();
    assert!(
        error.contains("The step 'b' failed") && error.contains("needs the approval"),
        "{error}"
    );
    assert_eq!(site.sent.get(), 0);
    assert!(site.called().contains(&"send".to_owned()), "the refusal is in the ledger");
}

#[tokio::test]
async fn steps_of_a_plan_are_calls_of_the_caller() {
    let site = site();
    let access = Access::everything().with_filter(|tool| tool != "echo");
    let arguments = r#"{"prefab_id":"greeting-prefab","version":"1.0.0","function_name":"hello","parameters":{"name":"Li"}}"#;
    let refused =
        site.make_with(Context::new().with(access), "call_prefab_function", arguments).await;
    let error = refused.get("error").and_then(Json::as_str).unwrap();
    assert!(error.contains("there is no tool 'echo'"), "{error}");
}
