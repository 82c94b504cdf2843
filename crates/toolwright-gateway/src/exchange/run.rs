//! An exchange in which the gateway runs tools itself.

use std::sync::Arc;

use http::StatusCode;
use toolwright_core::{Fault, FaultClass, Request, Response, wire_json};
use toolwright_dialects::dialect::ReplyContext;
use toolwright_runtime::model::EventStream;
use toolwright_runtime::{Context, Toolbox};

use super::{Exchange, ExchangeState};
use crate::approvals::{self, AnswerError, ApprovalRecord, Decision, RecordedAnswer};
use crate::conversation::ConversationId;
use crate::fault;
use crate::http::Reply;
use crate::mcp::CallerTokens;
use crate::mcp::named::NamedTools;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::prepare::{self, Translation};
use crate::proxy::send::Failure;
use crate::proxy::translating::Source;
use crate::telemetry::RunRecord;
use crate::tool_runs::named_servers::{self, ApprovalAnswer, NamedServers};
use crate::tool_runs::saved_runs::Claim;
use crate::tool_runs::{Job, RunStores, ToolRun, fallback_model};

/// The reply of a run.
enum RunReply {
    Whole(Box<Response>),
    Stream(EventStream),
}

impl Exchange {
    /// Runs tools for the client, and replies with the final response of the model.
    pub(super) async fn run_tools(mut self, toolbox: Toolbox, named: NamedServers) -> Reply {
        let run_record = RunRecord::new(self.finalizer.recorder.attempt_context());
        self.finalizer.recorder.run = Some(run_record.clone());
        // The request stays in memory until the run has ended.
        if let Err(full) = self.reserve_memory(self.inbound.weight()).await {
            return self.fail(full);
        }
        let share = self.finalizer.share.beside();
        let claim = match self.state.stores.saved.claim(&self.inbound, share).await {
            Ok(claim) => claim,
            Err(fault) => return self.refuse(fault),
        };
        let begun = self.begin(toolbox, named, &run_record, claim).await;
        let (work, asked) = match begun {
            Ok(begun) => begun,
            Err(fault) => return self.fail(fault.into()),
        };
        let waiting = self.finalizer.recorder.wait();
        let answer = if self.inbound.stream {
            work.stream().await.map(RunReply::Stream)
        } else {
            work.run_to_end().await.map(|response| RunReply::Whole(Box::new(response)))
        };
        drop(waiting);
        let client = self.inbound.endpoint.codec;
        let upstream = run_record.codec().unwrap_or(client);
        let translation = Translation::local(upstream, client, self.inbound.strict, asked);
        self.finalizer.recorder.merge_run();
        match answer {
            Ok(RunReply::Stream(events)) => self.relay(Source::Events(events), &translation),
            Ok(RunReply::Whole(response)) => self.reply_with(*response, &translation),
            Err(fault) => self.fail(fault.into()),
        }
    }

    /// Starts a run for the client's request.
    async fn begin(
        &mut self,
        toolbox: Toolbox,
        named: NamedServers,
        run_record: &RunRecord,
        claim: Option<Claim>,
    ) -> Result<(Box<ToolRun>, ReplyContext), Fault> {
        let (request, candidates) = (self.read()?, self.candidates()?);
        let asked = prepare::asked(&self.inbound, &request);
        self.answer_approvals(&named.answers).await?;
        let saved = claim.as_ref().and_then(|claim| claim.found.as_ref()?.conversation());
        let known = match saved {
            Some(saved) => Some(saved),
            None => self.find_conversation(&request).await,
        };
        let is_known = known.is_some();
        let conversation = known.unwrap_or_else(|| ConversationId::begin(self.inbound.id));
        self.set_conversation(&conversation);
        let waiting = if is_known {
            let (caller, share) = (self.inbound.client.caller(), self.finalizer.share.beside());
            self.state.stores.saved.claim_waiting(&caller, &conversation, share).await?
        } else {
            None
        };
        let (inbound, keep) =
            (Arc::clone(&self.inbound), Arc::clone(&self.finalizer.reasoning_cache));
        let share = self.finalizer.share.beside();
        let approval = Arc::clone(self.approval.get_or_insert_default());
        let caller = self.inbound.client.caller();
        let mut context = Context::new()
            .with(self.state.tools.access(&self.inbound.client))
            .with(self.inbound.client.call_rate())
            .with(self.finalizer.share.plan_memory())
            .with(CallerTokens::from_headers(&self.inbound.headers));
        let inputs = &self.state.stores.inputs;
        if let Some(own) = inputs.interaction(&self.inbound.headers, &caller, &conversation) {
            context = context.with(own);
        }
        let job = Job {
            id: self.finalizer.recorder.id(),
            caller,
            conversation,
            model: fallback_model::model(inbound, candidates, keep, run_record.clone(), share),
            toolbox,
            context,
            limits: self.state.tools.limits,
            run_record: run_record.clone(),
            stores: Arc::clone(&self.state.stores),
            claim,
            waiting,
            approval,
            effects: self.effects.clone(),
            named,
        };
        Ok((job.begin(request)?, asked))
    }

    /// Takes the MCP servers that the request names and the gateway runs out of it.
    pub(super) async fn named_servers(&mut self) -> Result<NamedServers, Box<Failure>> {
        let dialect = self.inbound.endpoint.dialect;
        if self.state.tools.servers().next().is_none()
            || !NamedServers::may_name(dialect, &self.inbound.body)
        {
            return Ok(NamedServers::default());
        }
        self.reserve_memory(self.inbound.weight()).await?;
        self.state.tools.listed().await;
        let mut body = match self.parsed.take() {
            Some(parsed) => parsed,
            None => wire_json::parse_bytes(&self.inbound.body).map_err(|error| {
                let message = format!("The body is not JSON: {error}.");
                Fault::new(FaultClass::Invalid, message)
            })?,
        };
        let InboundRequest { headers, client, .. } = &*self.inbound;
        let ExchangeState { tools, servers, .. } = &self.state;
        let tools = NamedTools { tools, servers, client };
        let named = NamedServers::take(dialect, &mut body, headers, tools)?;
        self.parsed = Some(body);
        Ok(named.unwrap_or_default())
    }

    /// Records the answers to approvals in a request. They must be of calls whose approval a request of the same client
    /// asked for. An approval that was answered before, or has expired, stays as it is.
    async fn answer_approvals(&self, answers: &[ApprovalAnswer]) -> Result<(), Fault> {
        let caller = self.inbound.client.caller();
        for ApprovalAnswer { id, approves, reason } in answers {
            let approvals = &self.state.stores.approvals;
            let found = approvals.find(&caller.tenant, id).await;
            let found = found.map_err(|error| approvals::unavailable(&error))?;
            let is_answerable = |record: &ApprovalRecord| {
                record.caller == caller && record.reason == named_servers::REASON
            };
            let invalid = |message| Fault::new(FaultClass::Invalid, message);
            if !found.as_ref().is_some_and(is_answerable) {
                return Err(invalid(format!("There is no approval `{id}` that you may answer.")));
            }
            if reason.as_ref().is_some_and(|reason| reason.len() > approvals::MAX_REASON) {
                let most = approvals::MAX_REASON;
                return Err(invalid(format!("`reason` must be a text of at most {most} bytes.")));
            }
            let decision = if *approves { Decision::Approve } else { Decision::Reject };
            let answer = RecordedAnswer::now(decision, reason.clone(), &*caller.id);
            match approvals.answer(&caller.tenant, id, answer).await {
                Ok((record, true)) => {
                    let entry = record.ledger_entry(caller.clone());
                    self.state.tools.record(entry.map(Into::into));
                }
                Ok((_, false)) | Err(AnswerError::Answered(_) | AnswerError::Expired) => {}
                Err(AnswerError::Unknown(id)) => {
                    return Err(invalid(format!("There is no approval `{id}`.")));
                }
                Err(AnswerError::Store(error)) => return Err(approvals::unavailable(&error)),
            }
        }
        Ok(())
    }

    /// Returns the conversation that a request with tools continues: the one that the client names or that has
    /// the previous response, else that of the calls in the request, else that of an approval in it.
    async fn find_conversation(&mut self, request: &Request) -> Option<ConversationId> {
        if let Some(named) = self.conversation.take() {
            return Some(named);
        }
        let RunStores { conversations, approvals, .. } = &*self.state.stores;
        if let Some(found) = conversations.find(&self.inbound.client, request).await {
            return Some(found);
        }
        approvals.conversation(&self.inbound.client.caller(), &request.messages).await
    }

    /// Records the conversation of the exchange.
    fn set_conversation(&mut self, conversation: &ConversationId) {
        self.finalizer.recorder.record.conversation = Some(conversation.shared());
        if let Some(capture) = &mut self.finalizer.capture {
            capture.set_conversation(conversation.clone());
        }
        self.conversation = Some(conversation.clone());
    }

    /// Refuses a request with the status of its fault, even if the client's dialect has another
    /// status for the class.
    fn refuse(mut self, fault: Fault) -> Reply {
        self.finalizer.recorder.record.fault = Some(fault.class);
        let status = fault.status.and_then(|status| StatusCode::from_u16(status).ok());
        let mut reply =
            fault::reply(self.inbound.endpoint.codec, self.finalizer.recorder.id(), fault);
        *reply.status_mut() = status.unwrap_or(reply.status());
        self.finish(reply)
    }
}
