//! `/v1/inputs`: lists the questions of tools that run for a client, and takes its answers.

use toolwright_core::{Fault, FaultClass, Json, object};

use super::{Inputs, read_answer};
use crate::fault;
use crate::http::{HttpRequest, Reply};
use crate::key::Client;

/// What a request does with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Lists those of the client
    List,
    /// Answers one
    Answer,
}

/// Answers a request of a client.
pub(crate) async fn answer(
    action: Action,
    id: &str,
    inputs: &Inputs,
    client: &Client,
    request: HttpRequest,
) -> Result<Reply, Fault> {
    let caller = client.caller();
    if action == Action::List {
        let data: Vec<Json> = inputs.of_caller(&caller).into_iter().map(Json::Object).collect();
        return Ok(fault::document(&Json::Object(object! {"object": "list", "data": data})));
    }
    let (body, _share) = request.body.read_document().await?;
    let answer = read_answer(&body).map_err(|hint| fault::invalid("action", hint))?;
    let answered =
        inputs.answer(&caller, id, answer).map_err(|why| fault::invalid("content", why))?;
    let answered = answered.ok_or_else(|| {
        let message = "There is no such question, or its tool no longer waits for the answer.";
        Fault::new(FaultClass::NotFound, message)
    })?;
    Ok(fault::document(&Json::Object(answered)))
}
