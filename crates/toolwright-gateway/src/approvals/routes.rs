//! `/v1/approvals`: lists calls that wait for approval, and records answers.
//!
//! A client sees the approvals of its tenant that it caused or may answer. Others do not exist for it.

use toolwright_core::{Fault, FaultClass, Json, object};

use super::{
    AnswerError, ApprovalRecord, Approvals, Decision, MAX_REASON, RecordedAnswer, Status, seconds,
    unavailable,
};
use crate::fault;
use crate::fault::invalid;
use crate::http::{HttpRequest, Reply};
use crate::key::Client;
use crate::query::Query;
use crate::telemetry::Telemetry;

/// What a request does with approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Lists those that wait
    List,
    /// Shows one
    Show,
    /// Answers one
    Answer,
}

/// A client that asks about approvals.
pub(crate) struct Asker<'a> {
    pub(crate) approvals: &'a Approvals,
    pub(crate) telemetry: &'a Telemetry,
    pub(crate) client: &'a Client,
    /// Whether clients of this gateway may approve at all
    pub(crate) may_approve: bool,
}

impl Asker<'_> {
    /// Answers a request. The ledger records answers.
    pub(crate) async fn answer(
        &self,
        action: Action,
        id: &str,
        request: HttpRequest,
    ) -> Result<Reply, Fault> {
        match action {
            Action::List => self.list(&Query::new(request.uri.query())).await,
            Action::Show => Ok(fault::document(&Json::Object(self.find(id).await?.to_json()))),
            Action::Answer => self.decide(id, request).await,
        }
    }

    async fn list(&self, query: &Query) -> Result<Reply, Fault> {
        let limit = query.limit()?;
        let found = self.approvals.of_tenant(self.client.tenant()).await;
        let mut found = found.map_err(|error| unavailable(&error))?;
        found.retain(|own| self.sees(own));
        if let Some(after) = query.get("after") {
            // It may have been answered since the last page.
            let place = found.iter().position(|own| own.id == after);
            let Some(place) = place else {
                let message = "`after` is not the id of an approval. Begin without it.";
                return Err(invalid("after", message));
            };
            found.drain(..=place);
        }
        let now = seconds();
        found.retain(|own| own.status(now) == Status::Pending);
        let has_more = found.len() > limit;
        found.truncate(limit);
        let data: Vec<Json> = found.iter().map(|own| Json::Object(own.to_json())).collect();
        Ok(fault::document(&Json::Object(object! {
            "object": "list",
            "data": data,
            "last_id": found.last().map(|own| own.id.as_str()),
            "has_more": has_more,
        })))
    }

    async fn decide(&self, id: &str, request: HttpRequest) -> Result<Reply, Fault> {
        // The ledger records every answer.
        self.telemetry.admit().await?;
        let (body, _share) = request.body.read_document().await?;
        let (decision, reason) = read(&body)?;
        let found = self.find(id).await?;
        if !self.may_answer(&found.tool) {
            return Err(self.forbidden(&found.tool));
        }
        let answer = RecordedAnswer::now(decision, reason, self.client.name());
        let answered = self.approvals.answer(self.client.tenant(), id, answer).await;
        let (record, is_new) = answered.map_err(|error| refusal(&error))?;
        if let Some(entry) = record.ledger_entry(self.client.caller()).filter(|_| is_new) {
            self.telemetry.records().shared().record(entry.into());
        }
        Ok(fault::document(&Json::Object(record.to_json())))
    }

    async fn find(&self, id: &str) -> Result<ApprovalRecord, Fault> {
        let found = self.approvals.find(self.client.tenant(), id).await;
        let found = found.map_err(|error| unavailable(&error))?;
        found.filter(|own| self.sees(own)).ok_or_else(unknown)
    }

    fn sees(&self, approval: &ApprovalRecord) -> bool {
        *approval.caller.id == *self.client.name() || self.may_answer(&approval.tool)
    }

    fn may_answer(&self, tool: &str) -> bool {
        self.may_approve && self.client.may_approve(tool)
    }

    fn forbidden(&self, tool: &str) -> Fault {
        let message = format!(
            "The key `{}` may not answer approvals of the tool `{tool}`. Use a key whose `approve` \
             lists it, or `toolwright approvals` on the machine of the gateway.",
            self.client.name()
        );
        Fault::new(FaultClass::Forbidden, message)
    }
}

/// Reads the body of an answer.
fn read(body: &[u8]) -> Result<(Decision, Option<String>), Fault> {
    let hint = "Send {\"answer\": \"approve\"} or {\"answer\": \"reject\", \"reason\": \"…\"}.";
    let document = Json::parse_bytes(body).ok();
    let decision = document.as_ref().and_then(|own| own.get("answer")).and_then(Json::as_str);
    let decision = decision.and_then(Decision::from_word);
    let decision = decision.ok_or_else(|| invalid("answer", hint))?;
    let reason = document.as_ref().and_then(|own| own.get("reason")).filter(|own| !own.is_null());
    match reason.map(|own| own.as_str().filter(|text| text.len() <= MAX_REASON)) {
        None => Ok((decision, None)),
        Some(Some(reason)) => Ok((decision, Some(reason.to_owned()))),
        Some(None) => {
            let message = format!("`reason` must be a text of at most {MAX_REASON} bytes.");
            Err(invalid("reason", message))
        }
    }
}

fn refusal(error: &AnswerError) -> Fault {
    let message = match error {
        AnswerError::Unknown(_) => return unknown(),
        AnswerError::Store(error) => return unavailable(error),
        AnswerError::Answered(record) => {
            format!("The approval was already {}.", record.status(seconds()).word())
        }
        AnswerError::Expired => "The approval has expired. Ask again.".to_owned(),
    };
    Fault { status: Some(409), ..Fault::new(FaultClass::Invalid, message) }
}

fn unknown() -> Fault {
    let message =
        "There is no such approval for this key. `GET /v1/approvals` lists those that wait.";
    Fault::new(FaultClass::NotFound, message)
}
