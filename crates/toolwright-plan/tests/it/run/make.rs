//! Plans that a model writes: the errors of the check come back to it.

use toolwright_core::{Fault, Json, Outcome, Request, Tool, ToolChoice};
use toolwright_plan::{MakeError, PlanTool, PlanTools, make_plan};
use toolwright_runtime::model::ScriptedModel;

use toolwright_core::FaultClass;

use super::json;

fn tools() -> PlanTools {
    let parameters = json(
        r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"executor":{"type":"string"}}}"#,
    );
    let read = Tool::function("read", parameters).with_description("Reads a file.");
    PlanTools::new([PlanTool::new(read, vec!["executor".to_owned()])])
}

const VALID: &str = r#"{"plan":"1","steps":{"read":{"tool":"read","args":{"path":"a.txt"}}}}"#;

/// The last message of a request, as text.
fn last(request: &Request) -> String {
    let message = request.messages.last().unwrap();
    message.outcomes().map(Outcome::words).chain([message.text()]).collect()
}

#[tokio::test]
async fn a_model_gets_its_errors_back_until_the_plan_is_valid() {
    let unknown = VALID.replace(r#""tool":"read""#, r#""tool":"raed""#);
    let script = ScriptedModel::new()
        .then_call("call_1", "write_plan", &unknown)
        // Text in the place of a call, and arguments that need a repair.
        .then_text("I cannot.")
        .then_call("call_2", "write_plan", format!("```json\n{VALID}\n```"));
    let made = make_plan(&script.model(), "Read a.txt", &tools(), 3).await.unwrap();
    assert_eq!(made.attempts, 3);
    assert_eq!(Json::Object(made.plan.to_json()).compact(), VALID);

    let requests = script.requests();
    let first = &requests[0];
    assert_eq!(first.tool_choice, Some(ToolChoice::Tool("write_plan".to_owned())));
    assert!(first.tools[0].parameters().unwrap().pointer("/$defs/step").is_some());
    let instructions = first.instructions.as_ref().unwrap().text();
    assert!(instructions.contains("Reads a file."), "{instructions}");
    assert!(!instructions.contains("executor"), "{instructions}");
    let error = "/steps/read/tool: there is no tool 'raed'; did you mean 'read'?";
    assert!(last(&requests[1]).contains(error), "{}", last(&requests[1]));
    assert!(last(&requests[2]).contains("call write_plan again"), "{}", last(&requests[2]));
}

#[tokio::test]
async fn an_invalid_plan_is_not_returned_and_a_fault_ends_it() {
    let wrong = r#"{"plan":"1","steps":{"read":{"tool":"read","args":{}}}}"#;
    let script = ScriptedModel::new().then_call("call_1", "write_plan", "{}").then_call(
        "call_2",
        "write_plan",
        wrong,
    );
    let error = make_plan(&script.model(), "Read", &tools(), 2).await.unwrap_err();
    let MakeError::Invalid { attempts, errors, document } = &error else { panic!("{error}") };
    assert_eq!((*attempts, document.compact().as_str()), (2, wrong));
    assert_eq!(errors[0].path, "/steps/read/args");
    assert!(error.to_string().contains("1 error"), "{error}");

    let fault = Fault::new(FaultClass::Overloaded, "busy");
    let script = ScriptedModel::new().then_fault(fault);
    let error = make_plan(&script.model(), "Read", &tools(), 3).await.unwrap_err();
    assert!(matches!(error, MakeError::Model(_)), "{error}");
}
