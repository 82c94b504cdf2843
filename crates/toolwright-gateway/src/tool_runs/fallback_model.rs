//! The candidates of a request as one model for a run: each is asked in order, as in any exchange, until
//! one answers.
//!
//! The candidate that answered one turn is asked first in the next. The next candidate is asked only if
//! nothing of the turn was sent to the client.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::Mutex;
use toolwright_core::event::Head;
use toolwright_core::event::join::join;
use toolwright_core::event::split::split;
use toolwright_core::profile::Profile;
use toolwright_core::{Body, Event, Fault, Message, Request, Response};
use toolwright_dialects::dialect::Target;
use toolwright_dialects::fit::alias::is_kept_by_clients;
use toolwright_dialects::fit::made_id;
use toolwright_dialects::translate::Report;
use toolwright_runtime::Model;
use toolwright_runtime::model::{EventStream, Upstream, event_stream};
use toolwright_runtime::upstream::{Incoming, Remote};

use crate::http::Share;
use crate::models::route::{Backend, Candidate};
use crate::proxy::fallback::Fallback;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::prepare::{self, ReplyMode};
use crate::proxy::reasoning_cache::ReasoningCache;
use crate::proxy::send::{self, Failure};
use crate::proxy::{collect, whole};
use crate::telemetry::RunRecord;

/// A model that falls back to the next candidate of a request.
struct FallbackModel {
    inbound: Arc<InboundRequest>,
    candidates: Vec<Candidate>,
    keep: Arc<ReasoningCache>,
    run_record: RunRecord,
    /// Memory for replies, all of which are held until the run ends
    share: Mutex<Share>,
    /// The index of the candidate that is asked first
    first: AtomicUsize,
    /// The number of call ids that were generated
    ids: Arc<AtomicUsize>,
}

/// Creates the model of a run, which has one or more candidates.
pub fn model(
    inbound: Arc<InboundRequest>,
    candidates: Vec<Candidate>,
    keep: Arc<ReasoningCache>,
    run_record: RunRecord,
    share: Share,
) -> Model {
    let (name, share) = (inbound.model.clone(), Mutex::new(share));
    let (first, ids) = (AtomicUsize::new(0), Arc::default());
    let model = FallbackModel { inbound, candidates, keep, run_record, share, first, ids };
    Model::with_upstream(model, name)
}

impl FallbackModel {
    /// Asks the candidates in order until one answers.
    async fn answer(&self, request: &Request) -> Result<EventStream, Fault> {
        let first = self.first.load(Ordering::Relaxed);
        let mut fallback = Fallback::from(&self.candidates, first);
        while let Some((candidate, patience)) = fallback.advance() {
            match self.ask_one(candidate, request.clone(), patience).await {
                Ok(events) => {
                    self.first.store(fallback.place(), Ordering::Relaxed);
                    return Ok(events);
                }
                Err(failure) => fallback.failed(failure).map_err(|failure| failure.fault)?,
            }
        }
        Err(fallback.over().fault)
    }

    async fn ask_one(
        &self,
        candidate: &Candidate,
        mut request: Request,
        patience: Duration,
    ) -> Result<EventStream, Box<Failure>> {
        request.stream = Some(self.inbound.stream);
        let remote = match &candidate.backend {
            Backend::Offline => {
                self.inbound.state.check(None, false).map_err(Failure::unfit)?;
                self.run_record.set_upstream(candidate.upstream(), None);
                return Ok(Model::offline().stream(request).await?);
            }
            Backend::Remote(remote) => remote,
        };
        self.inbound.state.check(Some(remote), false).map_err(Failure::unfit)?;
        self.run_record.set_upstream(remote.id(), Some(remote.codec()));
        let (inbound, keep) = (&*self.inbound, &*self.keep);
        // A run adds messages to what the client sent.
        let prepared = prepare::translated(inbound, request, remote, candidate, keep, true)?;
        let context = self.run_record.attempt_context();
        let attempts = |attempt| self.run_record.add_attempt(attempt);
        let incoming = send::send(inbound, remote, &prepared, patience, context, attempts).await?;
        let report = match prepared.reply_mode {
            ReplyMode::Translated(translation) => translation.report,
            ReplyMode::Passthrough => Report::default(),
        };
        self.run_record.set_request_report(&report);
        Ok(self.decode_reply(remote, incoming, &report).await?)
    }

    /// Decodes a reply. A client that asked for a whole response gets it from a whole reply.
    async fn decode_reply(
        &self,
        remote: &Remote,
        incoming: Incoming,
        report: &Report,
    ) -> Result<EventStream, Fault> {
        if self.inbound.stream && !whole::is_other(remote.codec(), &incoming.headers, true) {
            return remote.decode_stream(incoming, report).await;
        }
        let mut share = self.share.lock().await;
        let mut own = share.beside();
        let wire = collect::collect(remote, incoming, 0, &mut own).await?;
        share.join(own);
        Ok(event_stream(split(remote.decode_response(wire, report)?)))
    }
}

impl Upstream for FallbackModel {
    async fn respond(&self, request: Request) -> Result<Response, Fault> {
        let events: Vec<Event> = self.stream(request).await?.collect().await;
        join(events).map_err(|fault| *fault)
    }

    fn stream(&self, request: Request) -> impl Future<Output = Result<EventStream, Fault>> + Send {
        let calls = request.messages.iter().flat_map(Message::calls);
        let taken = calls.filter_map(|call| call.id.clone()).collect();
        async move {
            let events = self.answer(&request).await?;
            let stem = format!("call_{:016x}", self.inbound.id.bits() & u128::from(u64::MAX));
            let client = self.inbound.endpoint.codec.profile(&Target::default());
            let mut naming = Naming { taken, stem, made: Arc::clone(&self.ids), client };
            Ok(Box::pin(events.map(move |event| naming.name_call(event))) as EventStream)
        }
    }
}

/// Gives each call of a stream an id that is unique in the conversation and that the client's dialect can
/// carry, so that client and run use the same id.
struct Naming {
    taken: HashSet<String>,
    stem: String,
    made: Arc<AtomicUsize>,
    client: Profile,
}

impl Naming {
    fn name(&mut self, id: &mut Option<String>) {
        let is_kept = |id: &str| is_kept_by_clients(&self.client, id);
        let is_free = |id: &String| !id.is_empty() && !self.taken.contains(id) && is_kept(id);
        let own = id.take().filter(is_free).unwrap_or_else(|| {
            let made = format!("{}_{}", self.stem, self.made.fetch_add(1, Ordering::Relaxed));
            if is_kept(&made) { made } else { made_id(&self.client.ids, &made, 0) }
        });
        self.taken.insert(own.clone());
        *id = Some(own);
    }
    fn name_call(&mut self, mut event: Event) -> Event {
        match &mut event {
            Event::PartStart { head: Head::Call { id, .. }, .. } => self.name(id),
            Event::PartStart { head: Head::Whole(part), .. } => {
                if let Body::Call(call) = &mut part.body {
                    self.name(&mut call.id);
                }
            }
            _ => {}
        }
        event
    }
}
