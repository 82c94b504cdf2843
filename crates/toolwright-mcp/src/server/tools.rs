//! Tools: `tools/list` and `tools/call`.

use toolwright_core::{Arguments, Call, Json, Part, object};
use toolwright_dialects::dialect::ToolCodec;
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_json::Object;
use toolwright_runtime::call::{Answer, Approval, CallResult, CallStatus};
use toolwright_runtime::{CallError, CallErrorKind};

use super::{Exchange, Features, Peer, handles, page};
use crate::interaction::{InputRequest, Interaction, MISSING_CAPABILITY_KIND};
use crate::message::{Request, RpcError};
use crate::output::{WireResult, map_resource_uris};
use crate::protocol::{ELICIT, MISSING_CAPABILITY};

/// Answers `tools/list`.
pub(super) fn list(exchange: &Exchange, params: &Object, era: Era) -> Result<Object, RpcError> {
    let tools = exchange.toolbox.shared_tools_for(&exchange.session.caller);
    let codec = Mcp { era };
    let has_handles = exchange.toolbox.handles().is_some();
    page("tools", params, tools.iter(), |tool| {
        let mut encoded = codec.encode_tool(tool);
        if let Some(schema) = encoded.as_object_mut().and_then(|own| own.get_mut("outputSchema"))
            && has_handles
        {
            *schema = handles::admit(schema);
        }
        encoded
    })
}

/// Answers `tools/call`.
pub(super) async fn call(
    request: &Request,
    peer: &Peer,
    exchange: &Exchange,
) -> Result<Object, RpcError> {
    let invalid = |message: String| RpcError::invalid_params(message);
    let name = request.params.get("name").and_then(Json::as_str);
    let name = name.ok_or_else(|| invalid("Invalid params: 'name' is missing".to_owned()))?;
    let arguments = match request.params.get("arguments") {
        None | Some(Json::Null) => Json::Object(Object::new()),
        Some(arguments @ Json::Object(_)) => arguments.clone(),
        Some(_) => return Err(invalid("Invalid params: 'arguments' is not an object".to_owned())),
    };
    let call = Call::new("call", name, Arguments::from_json(&arguments));
    let mut status = exchange.toolbox.call(&exchange.session, &call).await;
    while let CallStatus::Waiting(approval) = status {
        let answer = ask(&approval, exchange).await;
        status = exchange.toolbox.answer(&exchange.session, &approval, answer).await;
    }
    let CallStatus::Done(result) = status else {
        return Err(invalid(format!("The tool {name} waits for approval")));
    };
    if let Some(error) = &result.error
        && matches!(error.kind, CallErrorKind::UnknownTool | CallErrorKind::NotAllowed)
    {
        return Err(invalid(error.text.clone()));
    }
    let missing = result.error.as_ref().map(CallError::error_type);
    if let Some(capability) = missing.and_then(|kind| kind.strip_prefix(MISSING_CAPABILITY_KIND)) {
        let mut required = Object::new();
        required.insert(capability.to_owned(), Object::new());
        let message = format!("The tool {name} needs a client with the capability {capability:?}");
        let error = RpcError::new(MISSING_CAPABILITY, message);
        return Err(error.with_data(object! {"requiredCapabilities": required}));
    }
    let is_shortened = result.is_shortened();
    let mut encoded = encode(name, &result, peer.era(), &*exchange.features);
    if is_shortened && result.error.is_none() {
        let definition = exchange.toolbox.definition_of(name);
        let has_schema = definition.is_some_and(|tool| tool.output.is_some());
        handles::add_links(&mut encoded, &result, peer.version(), has_schema);
    }
    Ok(encoded)
}

/// Asks the user of the client for the approval of a call.
async fn ask(approval: &Approval, exchange: &Exchange) -> Answer {
    if !(exchange.may_approve)(&approval.call.name) {
        let reason =
            "it needs the approval of a person, which this client may not give. Ask the operator";
        return Answer::Reject(reason.to_owned());
    }
    let interaction = Interaction::of(&exchange.session).await;
    let message = format!(
        "Run the tool {} with {}? {}",
        approval.call.name,
        approval.arguments.compact(),
        approval.reason
    );
    let form = object! {"type": "object", "properties": Object::new()};
    let params = object! {"mode": "form", "message": message, "requestedSchema": form};
    let request = InputRequest::new(approval.call.name.as_str(), ELICIT, params);
    let answer = interaction.ask(request.with_key("approval").asked()).await;
    let action = answer.as_ref().ok().and_then(|own| own.get("action")).and_then(Json::as_str);
    match action {
        Some("accept") => Answer::Approve,
        Some("decline") => Answer::Reject("the user declined".to_owned()),
        _ => Answer::Reject("it needs the approval of the user, who was not asked".to_owned()),
    }
}

/// Encodes the result of a call: as a server sent it, if nothing of it is behind a handle.
fn encode(name: &str, result: &CallResult, era: Era, features: &dyn Features) -> Object {
    if let Some(error) = &result.error
        && matches!(error.kind, CallErrorKind::InvalidArguments | CallErrorKind::InvalidJson)
    {
        let text = format!("Invalid input for tool {name}: {}", error.text);
        let content = vec![Json::from(object! {"type": "text", "text": text})];
        return object! {"content": content, "isError": true};
    }
    let wire = result.host.as_ref().and_then(|host| host.get::<WireResult>());
    if let Some(wire) = wire.filter(|_| !result.is_shortened()) {
        let mut encoded = wire.result.clone();
        encoded.remove("resultType");
        encoded.remove("_meta");
        if let (Some(server), Some(content)) = (&wire.server, encoded.get_mut("content")) {
            map_resource_uris(content, |uri| features.public_uri(server, uri));
        }
        return encoded;
    }
    let mut outcome = result.outcome.clone();
    outcome.error = outcome.error.filter(|is_error| *is_error);
    let encoded = Mcp { era }.encode_outcome(&Part::outcome(outcome));
    match encoded {
        Json::Object(encoded) => encoded,
        _ => object! {"content": Vec::<Json>::new()},
    }
}
