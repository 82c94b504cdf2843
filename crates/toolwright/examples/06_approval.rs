//! Approval: a policy decides which calls need a person's approval. The run is saved while it waits
//! and resumes in another process, and no effect is repeated.
//!
//! ```text
//! pay wants {"to":"Ada","amount":42}: Money leaves the house.
//! Ada has her 42.
//! looked 1 time, paid 1 time
//! ```

#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::call::{Answer, Policy};
use toolwright::prelude::*;
use toolwright::run::RunError;

static CHECKED: AtomicU32 = AtomicU32::new(0);
static PAID: AtomicU32 = AtomicU32::new(0);

/// The balance of an account.
#[tool(read_only)]
fn balance(account: String) -> String {
    CHECKED.fetch_add(1, Ordering::SeqCst);
    format!("{account}: 120.00")
}

/// Pay an amount to somebody.
#[tool]
fn pay(to: String, amount: f64) -> String {
    PAID.fetch_add(1, Ordering::SeqCst);
    format!("paid {amount:.2} to {to}")
}

fn agent(script: ScriptedModel) -> Result<Agent, Box<dyn std::error::Error>> {
    let policy = Policy::from_json(&Json::parse(
        r#"{"rules": [{"effect": "ask", "tools": ["pay"], "reason": "Money leaves the house."}]}"#,
    )?)?;
    let toolbox = Toolbox::new([balance::handler(), pay::handler()])?.with_policy(policy);
    Ok(Agent::new("bursar").with_tools(toolbox).with_model(script.model()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = ScriptedModel::new()
        .then_call("call_1", "balance", r#"{"account": "main"}"#)
        .then_call("call_2", "pay", r#"{"to": "Ada", "amount": 42}"#);
    let mut run = agent(script)?.run("Pay Ada 42 if we can").build()?;
    let ended = run.finish().await;
    assert!(matches!(ended, Err(RunError::Waiting { .. })), "{ended:?}");
    for approval in run.waiting() {
        println!(
            "{} wants {}: {}",
            approval.call.name,
            approval.arguments.compact(),
            approval.reason
        );
    }
    let saved = run.save();

    // Later, in another process: the same agent, the saved run, a person's decision.
    let script = ScriptedModel::new().then_text("Ada has her 42.");
    let mut run = agent(script)?.resume(&saved)?.build()?;
    let ids: Vec<String> = run.waiting().map(|approval| approval.id.clone()).collect();
    for id in ids {
        run.answer(&id, Answer::Approve)?;
    }
    println!("{}", run.finish().await?.text);
    println!(
        "looked {} time, paid {} time",
        CHECKED.load(Ordering::SeqCst),
        PAID.load(Ordering::SeqCst)
    );
    Ok(())
}
