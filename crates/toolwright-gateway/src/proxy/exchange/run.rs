//! An exchange in which the gateway runs tools itself.

use std::sync::Arc;

use http::StatusCode;
use toolwright::Toolbox;
use toolwright::context::Context;
use toolwright::model::EventStream;
use toolwright_core::dialect::ReplyContext;
use toolwright_core::{Fault, Request, Response};

use super::Exchange;
use crate::http::Reply;
use crate::proxy::conversation::{ConversationId, Evidence};
use crate::proxy::fallback_model::FallbackModel;
use crate::proxy::fault;
use crate::proxy::prepare::{self, Translation};
use crate::proxy::saved_runs::Claim;
use crate::proxy::tool_run::{Job, RunStores, ToolRun};
use crate::proxy::translating::Source;
use crate::telemetry::RunRecord;

/// The reply of a run.
enum RunReply {
    Whole(Box<Response>),
    Stream(EventStream),
}

impl Exchange {
    /// Runs tools for the client, and replies with the final response of the model.
    pub(super) async fn run_tools(mut self, toolbox: Toolbox) -> Reply {
        let run_record = RunRecord::new(self.finalizer.recorder.attempt_context());
        self.finalizer.recorder.follow(run_record.clone());
        // The request stays in memory until the run has ended.
        if let Err(full) = self.reserve_memory(self.inbound.weight()).await {
            return self.fail(full);
        }
        let share = self.finalizer.share.beside();
        let claim = match self.stores.saved.claim(&self.inbound, share).await {
            Ok(claim) => claim,
            Err(fault) => return self.refuse(fault),
        };
        let begun = self.begin(toolbox, &run_record, claim).await;
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
        run_record: &RunRecord,
        claim: Option<Claim>,
    ) -> Result<(Box<ToolRun>, ReplyContext), Fault> {
        let (request, candidates) = (self.read()?, self.candidates()?);
        let asked = prepare::asked(&self.inbound, &request);
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
            self.stores.saved.claim_waiting(&caller, &conversation, share).await?
        } else {
            None
        };
        let (inbound, keep) =
            (Arc::clone(&self.inbound), Arc::clone(self.finalizer.reasoning_cache()));
        let share = self.finalizer.share.beside();
        let approval = Arc::clone(self.approval.get_or_insert_default());
        let job = Job {
            id: self.finalizer.recorder.id(),
            caller: self.inbound.client.caller(),
            conversation,
            model: FallbackModel::new(inbound, candidates, keep, run_record.clone(), share).model(),
            toolbox,
            context: Context::new().with(self.tools.access(&self.inbound.client)),
            limits: self.tools.limits,
            run_record: run_record.clone(),
            stores: Arc::clone(&self.stores),
            claim,
            waiting,
            approval,
            effects: self.effects.clone(),
        };
        Ok((job.begin(request)?, asked))
    }

    /// Returns the conversation that a request with tools continues.
    async fn find_conversation(&mut self, request: &Request) -> Option<ConversationId> {
        let mut evidence = Evidence { named: self.conversation.take(), ..Evidence::default() };
        if evidence.named.is_none() {
            let RunStores { conversations, approvals, .. } = &*self.stores;
            evidence.calls = conversations.find(&self.inbound.client, request).await;
            if evidence.calls.is_none() {
                let caller = self.inbound.client.caller();
                evidence.approvals = approvals.conversation(&caller, &request.messages).await;
            }
        }
        evidence.decide()
    }

    /// Records the conversation of the exchange.
    fn set_conversation(&mut self, conversation: &ConversationId) {
        self.finalizer.recorder.set_conversation(conversation.shared());
        if let Some(capture) = &mut self.finalizer.capture {
            capture.set_conversation(conversation.clone());
        }
        self.conversation = Some(conversation.clone());
    }

    /// Refuses a request with the status of its fault, even if the client's dialect has another
    /// status for the class.
    fn refuse(mut self, fault: Fault) -> Reply {
        self.finalizer.recorder.set_fault(Some(fault.class));
        let status = fault.status.and_then(|status| StatusCode::from_u16(status).ok());
        let mut reply =
            fault::reply(self.inbound.endpoint.codec, self.finalizer.recorder.id(), fault);
        *reply.status_mut() = status.unwrap_or(reply.status());
        self.finish(reply)
    }
}
