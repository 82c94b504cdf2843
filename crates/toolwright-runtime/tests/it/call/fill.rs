//! Hidden parameters that the host fills in.

use std::sync::Arc;

use toolwright_json::Object;
use toolwright_runtime::call::{Answer, Policy, Rule, Verdict};
use toolwright_runtime::ledger::{MemoryLedger, Query};
use toolwright_runtime::{Caller, Effect, Fill, Handler, Output, Session, Toolbox};
use toolwright_testing::tools::{call, done, json, kind, text, tool, toolbox};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false,
    "required": ["city", "executor", "token", "who", "tenant"], "properties": {
    "city": {"type": "string"}, "executor": {"type": "object"}, "token": {"type": "string"},
    "who": {"type": "string"}, "tenant": {"type": "string"}}}"#;

/// A tool that returns its arguments, with only the length of the token.
fn handler() -> Handler {
    Handler::new(tool("forecast", SCHEMA), |_, mut arguments: Object| async move {
        let token = arguments.remove("token").and_then(|token| token.as_str().map(str::len));
        arguments.insert("length", token.unwrap_or_default());
        Ok(Output::json(arguments))
    })
    .with_effect(Effect::None)
    .with_fill("executor", Fill::Constant(json(r#"{"host": "local"}"#)))
    .with_fill("token", Fill::Secret("hunter2".into()))
    .with_fill("who", Fill::Caller)
    .with_fill("tenant", Fill::Tenant)
}

fn session() -> Session {
    Session::new("run").with_caller(Caller::new("lin").with_tenant("acme"))
}

#[tokio::test]
async fn a_tool_receives_the_hosts_values_for_hidden_parameters() {
    let toolbox = toolbox([handler()]);
    let shown = toolbox.tools()[0].parameters().unwrap().compact();
    for name in ["executor", "token", "who", "tenant"] {
        assert!(!shown.contains(name), "{shown}");
    }
    for (arguments, hidden) in
        [(r#"{"city": "Bonn"}"#, 0), (r#"{"city": "Bonn", "who": "root", "token": "x"}"#, 2)]
    {
        let call = call("c", "forecast", arguments);
        let done = done(toolbox.call(&session(), &call).await);
        let got = json(
            r#"{"city":"Bonn","executor":{"host":"local"},"who":"lin","tenant":"acme","length":7}"#,
        );
        assert!(json(&text(&done)).same(&got), "{}", text(&done));
        assert_eq!(
            done.changes.iter().filter(|change| change.op.as_str() == "hide").count(),
            hidden
        );
    }
}

#[tokio::test]
async fn filled_in_values_are_not_visible_elsewhere() {
    let ledger = Arc::new(MemoryLedger::new().with_data());
    let ask = Policy::default().with_rule(Rule::new(Verdict::Ask));
    let toolbox: Toolbox = toolbox([handler()]).with_ledger(ledger.clone()).with_policy(ask);
    let call = call("c", "forecast", r#"{"city": "Bonn"}"#);
    let waiting = toolbox.call(&session(), &call).await;
    let approval = waiting.approval().expect("a person is asked").clone();
    assert!(!approval.to_json().compact().contains("hunter2"));
    assert!(!format!("{:?}", toolbox.handler("forecast")).contains("hunter2"));
    let done = done(toolbox.answer(&session(), &approval, Answer::Approve).await);
    assert_eq!(kind(&done), None);
    assert!(!format!("{:?}", ledger.entries(&Query::default())).contains("hunter2"));
}
