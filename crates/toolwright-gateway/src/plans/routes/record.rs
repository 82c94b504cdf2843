//! `POST /v1/plans/record`: makes a plan of a finished run of tools, or of the calls in a document of any dialect.

use std::sync::Arc;

use toolwright_core::{Call, Fault, FaultClass, Json, Message};
use toolwright_plan::{
    MAX_STEPS, RecordError, messages_with_calls, plan_tools, record_messages, record_run,
};

use super::document::{read, reply, work};
use super::{Asker, refusal};
use crate::fault::invalid;
use crate::http::{HttpRequest, Reply};

/// How many times as much memory as its document a recorded plan needs: messages, calls, the plan, its document.
const RECORD_COPIES: usize = 5;

impl Asker {
    pub(super) async fn record(&self, request: HttpRequest) -> Result<Reply, Fault> {
        let (body, share) = read(request, RECORD_COPIES).await?;
        let recording = match (body.get("run"), body.get("calls")) {
            (Some(Json::String(id)), None) => {
                let saved = &self.state.runs;
                let Some(run) = saved.find_finished(&self.client.caller(), id).await? else {
                    let message = "There is no such run for this key. Send the `toolwright-request-id` of a reply for \
                                   which the gateway ran tools; finished runs are kept for a day.";
                    return Err(Fault::new(FaultClass::NotFound, message));
                };
                let handles = Arc::clone(&self.state.handles);
                let toolbox = self.toolbox().await.with_handles(handles);
                record_run(&run, &toolbox).await.map_err(|error| refused("run", error))?
            }
            (None, Some(_)) => {
                let decoded = work(&share, move || body.get("calls").and_then(messages_with_calls));
                let Some(messages) = decoded.await? else {
                    let message =
                        "`calls` must be a response or a message with calls, in any dialect.";
                    return Err(invalid("calls", message));
                };
                let names: Vec<&str> = messages
                    .iter()
                    .flat_map(Message::calls)
                    .map(|call: &Call| &*call.name)
                    .collect();
                if names.len() > MAX_STEPS {
                    return Err(refused("calls", RecordError::TooManyCalls(names.len())));
                }
                let tools = plan_tools(&self.toolbox().await, names).await;
                let recorded = work(&share, move || record_messages(&messages, &tools)).await?;
                recorded.map_err(|error| refused("calls", error))?
            }
            _ => {
                let message = "Send {\"run\": \"…\"} with the id of a finished run, or {\"calls\": {…}} with a response \
                               of a model.";
                return Err(invalid("run", message));
            }
        };
        reply(share, move || recording.to_json()).await
    }
}

/// The fault of calls of which no plan can be made.
fn refused(parameter: &str, error: RecordError) -> Fault {
    match error {
        RecordError::TooManyCalls(_) => {
            invalid(parameter, format!("No plan can be made of it: {error}."))
        }
        RecordError::Interrupted(error) => refusal(error),
        error => {
            tracing::warn!("a finished run cannot be recorded: {error}");
            Fault::new(FaultClass::Internal, "The run was saved in a form that cannot be read.")
        }
    }
}
