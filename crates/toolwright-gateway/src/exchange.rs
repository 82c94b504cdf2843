//! One exchange: a request in the client's dialect, and the reply of the first candidate that answers.
//!
//! ```text
//! inbound → route → prepare → send → passthrough | whole | translating → finalizer
//! ```
//!
//! `reply.rs` builds the reply, `run.rs` runs tools for the request, `inquiry.rs` counts tokens and
//! describes models. Every failure is a fault in the client's dialect.

mod inquiry;
mod reply;
mod run;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use toolwright_core::{Fault, Json, Request, Response};
use toolwright_dialects::frame::Framing;
use toolwright_runtime::Model;
use toolwright_runtime::upstream::{Incoming, Remote};

use crate::conversation::ConversationId;
use crate::http::Reply;
use crate::mcp::McpServers;
use crate::models::route::{Backend, Candidate, Routes};
use crate::proxy::coalescing::CoalescingBody;
use crate::proxy::endpoint::Purpose;
use crate::proxy::fallback::Fallback;
use crate::proxy::finalizer::Finalizer;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::prepare::{self, Prepared, ReplyMode, Translation};
use crate::proxy::send::{self, Failure};
use crate::proxy::translating::Source;
use crate::proxy::weight::UNWEIGHED_BYTES;
use crate::proxy::{collect, whole};
use crate::responses::ResponseStore;
use crate::responses::capture::ResponseCapture;
use crate::telemetry::BusySpan;
use crate::tool_runs::RunStores;
use crate::tool_runs::effects::Effects;
use crate::tools::Tools;

/// What an exchange needs of the gateway.
pub struct ExchangeState {
    /// The candidates for each model
    pub routes: Arc<Routes>,
    /// The tools that the gateway runs itself
    pub tools: Arc<Tools>,
    /// The MCP servers
    pub servers: Arc<McpServers>,
    /// Stores for runs of tools
    pub stores: Arc<RunStores>,
}

/// An exchange in progress.
pub struct Exchange {
    inbound: Arc<InboundRequest>,
    /// The parsed body of the request, until it is decoded
    parsed: Option<Json>,
    /// The candidates for the model, if they are known
    candidates: Vec<Candidate>,
    state: ExchangeState,
    finalizer: Finalizer,
    /// The conversation, if the exchange belongs to one
    conversation: Option<ConversationId>,
    /// The approvals that the reply names, for its head, if the gateway runs tools
    approval: Option<Arc<OnceLock<String>>>,
    /// The effects of the tools of this request
    effects: Effects,
}

/// The source of the reply.
enum Answer {
    /// An upstream that speaks the client's dialect
    Untouched(Incoming),
    /// An upstream that does not, translated as the reply arrives
    Translated(Incoming, Box<Translation>),
    /// An upstream that does not, translated as a whole
    Whole(Box<Response>, Box<Translation>),
    /// The model of the gateway
    Local(Model, Box<Request>),
}

impl Exchange {
    /// Creates the exchange of a request that the gateway works on since the start of `busy`. `candidates` are those
    /// for its model, if they are known.
    pub fn new(
        mut inbound: InboundRequest,
        candidates: Vec<Candidate>,
        state: ExchangeState,
        mut finalizer: Finalizer,
        busy: BusySpan,
        responses: Arc<ResponseStore>,
    ) -> Exchange {
        finalizer.recorder.set_request(&inbound.model, inbound.stream, &inbound.received);
        finalizer.recorder.work(busy);
        if let Some(conversation) = &inbound.conversation {
            finalizer.recorder.record.conversation = Some(conversation.shared());
        }
        let (parsed, conversation) = (inbound.parsed.take(), inbound.conversation.clone());
        let inbound = Arc::new(inbound);
        finalizer.capture = ResponseCapture::of(responses, &inbound);
        Exchange {
            inbound,
            parsed,
            candidates,
            state,
            conversation,
            finalizer,
            approval: None,
            effects: Effects::default(),
        }
    }

    /// Runs the exchange and returns the reply.
    pub async fn run(mut self) -> Reply {
        if self.inbound.endpoint.purpose != Purpose::Generate {
            return self.inquire().await;
        }
        let named = match self.named_servers().await {
            Ok(named) => named,
            Err(failure) => return self.fail(failure),
        };
        let InboundRequest { headers, model, client, .. } = &*self.inbound;
        match self.state.tools.wanted(headers, model, client, named.names()).await {
            Ok(None) => {}
            Ok(Some(toolbox)) => return self.run_tools(named.restrict(toolbox), named).await,
            Err(fault) => return self.fail(fault.into()),
        }
        let answer = match self.answer().await {
            Ok(answer) => answer,
            Err(failure) => return self.fail(failure),
        };
        match answer {
            Answer::Untouched(incoming) => self.untouched(incoming),
            Answer::Translated(incoming, translation) => {
                let body = CoalescingBody::new(incoming.body);
                self.relay(Source::Bytes(Box::new(body)), &translation)
            }
            Answer::Whole(response, translation) => self.reply_with(*response, &translation),
            Answer::Local(model, request) => self.local(&model, *request).await,
        }
    }

    /// The candidates that the client may use, in order.
    fn candidates(&mut self) -> Result<Vec<Candidate>, Fault> {
        let (client, model) = (&self.inbound.client, &self.inbound.model);
        let mut candidates = std::mem::take(&mut self.candidates);
        if candidates.is_empty() {
            candidates = self.state.routes.find(model)?;
        }
        candidates.retain(|candidate| client.may_use(model, &candidate.name()));
        if candidates.is_empty() {
            return Err(client.forbidden(model));
        }
        Ok(candidates)
    }

    /// Asks the candidates in order until one answers.
    async fn answer(&mut self) -> Result<Answer, Box<Failure>> {
        let candidates = self.candidates()?;
        let mut fallback = Fallback::from(&candidates, 0);
        while let Some((candidate, patience)) = fallback.advance() {
            match self.ask_one(candidate, patience).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => fallback.failed(failure)?,
            }
        }
        Err(fallback.over())
    }

    async fn ask_one(
        &mut self,
        candidate: &Candidate,
        patience: Duration,
    ) -> Result<Answer, Box<Failure>> {
        let remote = match &candidate.backend {
            Backend::Offline => {
                self.finalizer.recorder.set_upstream(candidate.upstream(), None);
                self.inbound.state.check(None, false).map_err(Failure::unfit)?;
                self.reserve_memory(self.inbound.weight()).await?;
                return Ok(Answer::Local(Model::offline(), Box::new(self.read()?)));
            }
            Backend::Remote(remote) => remote,
        };
        self.finalizer.recorder.set_upstream(remote.id(), Some(remote.codec().dialect()));
        let prepared = self.prepare(remote, candidate).await?;
        let context = self.finalizer.recorder.attempt_context();
        let mut waiting = self.finalizer.recorder.wait();
        let attempts = |attempt| waiting.add_attempt(attempt);
        let sent = send::send(&self.inbound, remote, &prepared, patience, context, attempts).await;
        drop(waiting);
        Ok(match prepared.reply_mode {
            ReplyMode::Passthrough => {
                let incoming = sent?;
                if !self.is_other(&incoming) {
                    return Ok(Answer::Untouched(incoming));
                }
                self.finalizer.recorder.record.untouched = false;
                drop(prepared.body);
                let response = self.collect(remote, incoming).await?;
                let asked = prepare::asked(&self.inbound, &self.inbound.read(None)?);
                let codec = self.inbound.endpoint.codec;
                let translation = Translation::local(codec, codec, false, asked);
                Answer::Whole(Box::new(response), Box::new(translation))
            }
            ReplyMode::Translated(mut translation) => {
                let report = std::mem::take(&mut translation.report);
                self.finalizer.recorder.record.request_report = report;
                let incoming = sent?;
                drop(prepared.body);
                if self.inbound.stream && whole::is_stream(translation.upstream, &incoming.headers)
                {
                    return Ok(Answer::Translated(incoming, translation));
                }
                Answer::Whole(Box::new(self.collect(remote, incoming).await?), translation)
            }
        })
    }

    /// Whether a reply is whole although a stream was asked for, or the reverse, so that it cannot pass
    /// through.
    fn is_other(&self, incoming: &Incoming) -> bool {
        let codec = self.inbound.endpoint.codec;
        let array = self.inbound.stream && self.inbound.endpoint.framing() == Framing::Array;
        !array && whole::is_other(codec, &incoming.headers, self.inbound.stream)
    }

    /// Reads a reply to its end. The client has seen nothing of it, so if it cannot be read, the next
    /// candidate may be asked.
    async fn collect(&mut self, remote: &Remote, incoming: Incoming) -> Result<Response, Fault> {
        // A stream is made from the whole reply, which stays in memory while the client reads it.
        let few = if self.inbound.stream { 0 } else { UNWEIGHED_BYTES };
        let waiting = self.finalizer.recorder.wait();
        let collected = collect::collect(remote, incoming, few, &mut self.finalizer.share).await;
        drop(waiting);
        let read = collected.and_then(|wire| whole::read(remote, wire));
        if let Err(fault) = &read {
            self.finalizer.recorder.fail_attempt(fault.class);
        }
        read
    }

    async fn prepare(
        &mut self,
        remote: &Remote,
        candidate: &Candidate,
    ) -> Result<Prepared, Box<Failure>> {
        let untouched = prepare::is_native(&self.inbound, remote, candidate);
        self.inbound.state.check(Some(remote), untouched).map_err(Failure::unfit)?;
        self.finalizer.recorder.record.untouched = untouched;
        if untouched {
            self.parsed = None;
            self.reserve_memory(self.inbound.copied_for(&candidate.model)).await?;
            return Ok(prepare::untouched(&self.inbound, &candidate.model));
        }
        // Memory is already reserved for a parsed body.
        if self.parsed.is_none() && self.inbound.body.len() > UNWEIGHED_BYTES {
            self.reserve_memory(self.inbound.weight()).await?;
        }
        let request = self.read()?;
        let (keep, changed) = (&self.finalizer.reasoning_cache, self.inbound.state.edited);
        let prepared =
            prepare::translated(&self.inbound, request, remote, candidate, keep, changed)?;
        self.reserve_memory(prepared.weight()).await?;
        Ok(prepared)
    }

    /// Decodes the request.
    fn read(&mut self) -> Result<Request, Fault> {
        self.inbound.read(self.parsed.take())
    }

    /// Reserves memory besides the bytes of the request. Another candidate may need less.
    async fn reserve_memory(&mut self, size: usize) -> Result<(), Box<Failure>> {
        self.finalizer.share.resize(size).await.map_err(|full| Failure::unfit(full.into()))
    }

    /// Replies with the answer of the gateway's own model.
    async fn local(mut self, model: &Model, request: Request) -> Reply {
        let asked = prepare::asked(&self.inbound, &request);
        let codec = self.inbound.endpoint.codec;
        let translation = Translation::local(codec, codec, self.inbound.strict, asked);
        let waiting = self.finalizer.recorder.wait();
        if self.inbound.stream {
            let events = model.stream(request).await;
            drop(waiting);
            return match events {
                Ok(events) => self.relay(Source::Events(events), &translation),
                Err(fault) => self.fail(fault.into()),
            };
        }
        let response = model.respond(request).await;
        drop(waiting);
        match response {
            Ok(response) => self.reply_with(response, &translation),
            Err(fault) => self.fail(fault.into()),
        }
    }
}
