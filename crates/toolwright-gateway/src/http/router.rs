//! A path to whoever answers there: a vendor's endpoint to the exchange, the rest to our own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderValue, Method, StatusCode, Uri, header};
use toolwright::Caller;
use toolwright::upstream::ClientCredential;
use toolwright_core::dialect::{ChatCodec, Dialect, openai_chat};
use toolwright_core::{Fault, FaultClass};

use super::models::Listing;
use super::{Arrival, Health, Reply, ReplyBody, Service, Share, browser, openapi};
use crate::config::listen::is_loopback;
use crate::gateway::Gateway;
use crate::key::{Client, Found, Reservation};
use crate::proxy::ask::Ask;
use crate::proxy::endpoint::Endpoint;
use crate::proxy::exchange::Exchange;
use crate::proxy::fault;
use crate::proxy::finalizer::Finalizer;
use crate::proxy::prepare;
use crate::proxy::responses::lookup::{self, Asker, Lookup};
use crate::proxy::route::Routes;
use crate::telemetry::{BusySpan, ExchangeRecorder, RequestId};

/// Answers every path.
pub struct Router {
    gateway: Arc<Gateway>,
    health: Health,
    /// Whether only this machine can reach the port
    is_local: bool,
}

impl Service for Router {
    async fn answer(&self, arrival: Arrival) -> Reply {
        if self.is_local
            && self.gateway.live().keys.is_open()
            && let Err(fault) = browser::check_host(&arrival.headers, &arrival.uri)
        {
            return self.fail(&arrival.uri, fault);
        }
        match Endpoint::find(arrival.uri.path(), arrival.uri.query()) {
            Some(endpoint) if arrival.method == Method::POST => {
                self.exchange(endpoint, arrival).await
            }
            Some(endpoint) => {
                fault::reply(endpoint.codec, RequestId::random(), wrong_method("POST"))
            }
            None => match Lookup::find(&arrival.method, &arrival.uri) {
                Some(lookup) => {
                    let found = self.lookup(lookup, arrival).await;
                    found.unwrap_or_else(|fault| say(lookup::DIALECT, fault))
                }
                None => self.own(&arrival).await,
            },
        }
    }

    fn fail(&self, uri: &Uri, fault: Fault) -> Reply {
        say(Endpoint::nearest(uri.path()), fault)
    }
}

impl Router {
    /// Of a gateway, whose health is known, at the address that it listens at.
    pub fn new(gateway: Arc<Gateway>, health: Health, bound: SocketAddr) -> Router {
        Router { gateway, health, is_local: is_loopback(bound) }
    }

    async fn exchange(&self, mut endpoint: Endpoint, mut arrival: Arrival) -> Reply {
        let live = self.gateway.live();
        let found = live.keys.find(&arrival.headers, &arrival.uri);
        if found.is_ok() {
            live.keys.strip(&mut arrival.headers);
            endpoint.retain_query(|_, value| !live.keys.holds(value));
        }
        let caller = found.as_ref().map_or_else(|_| nobody(), |found| found.client.caller());
        let telemetry = &self.gateway.telemetry;
        if let Err(fault) = telemetry.admit().await {
            return fault::reply(endpoint.codec, RequestId::random(), fault);
        }
        let mut recorder = telemetry.begin(endpoint.dialect, endpoint.name(), caller);
        recorder.trace(&arrival.headers);
        let codec = endpoint.codec;
        let mut share = arrival.budget.share();
        match self.ask(found, endpoint, arrival, recorder.id(), &live.routes, &mut share).await {
            Ok((ask, busy, reservation)) => {
                let routes = Arc::clone(&live.routes);
                let keep = Arc::clone(&self.gateway.keep);
                recorder.set_reservation(reservation);
                let finalizer = Finalizer::new(recorder, Arc::clone(&ask.client), keep, share);
                let exchange = Exchange::new(ask, routes, finalizer, busy);
                let pending_turns = Arc::clone(&self.gateway.pending_turns);
                let runs = Arc::clone(&self.gateway.runs);
                let exchange = exchange.with_tools(Arc::clone(&live.tools), pending_turns, runs);
                let responses = Arc::clone(&self.gateway.responses);
                exchange.with_responses(responses).run().await
            }
            Err(fault) => refuse(codec, recorder, fault),
        }
    }

    /// Reads a request of a client that may make one.
    async fn ask(
        &self,
        found: Result<Found, Fault>,
        endpoint: Endpoint,
        arrival: Arrival,
        id: RequestId,
        routes: &Routes,
        share: &mut Share,
    ) -> Result<(Ask, BusySpan, Option<Reservation>), Fault> {
        let found = found?;
        if found.carrier.is_none() {
            browser::check_origin(&arrival.headers)?;
        }
        found.client.admit(arrival.started)?;
        let Arrival { headers, body, budget, .. } = arrival;
        let mut body = body.read().await?;
        let busy = BusySpan::start();
        if found.is_in(&body) {
            let mut share = budget.share();
            share.reach(body.len(), body.len()).await?;
            body = share.hold(found.mask(&body));
        }
        let reading = prepare::reading(&endpoint, &body, routes, share);
        let mut ask = Ask::new(id, endpoint, headers, body, found, reading)?;
        self.gateway.responses.resolve(&mut ask, budget.share()).await?;
        let reservation = ask.reserve(Instant::now())?;
        Ok((ask, busy, reservation))
    }

    /// A stored response, or what is to be done with it.
    async fn lookup(&self, mut lookup: Lookup, mut arrival: Arrival) -> Result<Reply, Fault> {
        let live = self.gateway.live();
        let Found { client, carrier, .. } = live.keys.find(&arrival.headers, &arrival.uri)?;
        if carrier.is_none() {
            browser::check_origin(&arrival.headers)?;
        }
        live.keys.strip(&mut arrival.headers);
        lookup.retain_query(|_, value| !live.keys.holds(value));
        let asker = Asker {
            client: &client,
            credential: ClientCredential::from_headers(&arrival.headers),
            headers: &arrival.headers,
            share: arrival.budget.share(),
        };
        let remote = |id: &str| live.routes.remote(id);
        self.gateway.responses.answer(&lookup, asker, remote).await
    }

    /// Our own endpoints.
    async fn own(&self, arrival: &Arrival) -> Reply {
        let path = arrival.uri.path();
        let answered = match (&arrival.method, path) {
            (&Method::GET | &Method::HEAD, "/healthz") => Ok(self.health.healthz()),
            (&Method::GET | &Method::HEAD, "/readyz") => Ok(self.readyz()),
            (&Method::GET | &Method::HEAD, "/openapi.json") => Ok(openapi::reply()),
            (&Method::GET | &Method::HEAD, "/metrics") => self.metrics(arrival),
            (&Method::GET | &Method::HEAD, _) => match path.strip_prefix(LOSSES) {
                Some(id) => self.losses(id, arrival).await,
                None => self.models(arrival),
            },
            _ if is_own(arrival) => Err(wrong_method("GET")),
            _ => Err(nowhere()),
        };
        answered.unwrap_or_else(|fault| {
            let listing = Listing::find(path, &arrival.headers);
            let dialect = listing.map_or_else(|| Endpoint::nearest(path), |own| own.dialect);
            say(dialect, fault)
        })
    }

    /// Whether requests are taken: not while the server drains, nor while the ledger cannot be written.
    fn readyz(&self) -> Reply {
        match self.gateway.telemetry.records().failure() {
            Some(_) => self.health.unready("the ledger cannot be written\n"),
            None => self.health.readyz(),
        }
    }

    fn metrics(&self, arrival: &Arrival) -> Result<Reply, Fault> {
        self.client(arrival)?;
        let mut reply = Reply::new(ReplyBody::full(self.gateway.telemetry.prometheus()));
        let kind = HeaderValue::from_static(METRICS);
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(reply)
    }

    async fn losses(&self, id: &str, arrival: &Arrival) -> Result<Reply, Fault> {
        let client = self.client(arrival)?;
        let found = match id.parse() {
            Ok(id) => self.gateway.telemetry.losses(id, &client.caller()).await,
            Err(_) => Ok(None),
        };
        let found = found.map_err(|_| {
            let message = "The ledger cannot be read now. The gateway's log says why.";
            Fault::new(FaultClass::Internal, message)
        })?;
        found.map(|document| fault::document(&document)).ok_or_else(|| {
            let message = "No report for this request id. It is in the header \
                           `toolwright-request-id` of a reply, and only whoever made the request \
                           may read it.";
            Fault::new(FaultClass::NotFound, message)
        })
    }

    fn models(&self, arrival: &Arrival) -> Result<Reply, Fault> {
        let path = arrival.uri.path();
        let Some(listing) = Listing::find(path, &arrival.headers) else { return Err(nowhere()) };
        let client = self.client(arrival)?;
        let mut names = self.gateway.live().routes.names();
        names.retain(|name| client.may_use(name, name));
        Ok(fault::document(&listing.document(&names)?))
    }

    fn client(&self, arrival: &Arrival) -> Result<Arc<Client>, Fault> {
        Ok(self.gateway.live().keys.find(&arrival.headers, &arrival.uri)?.client)
    }
}

/// Whether there is something at a path, if it is asked for by the right method.
fn is_own(arrival: &Arrival) -> bool {
    let path = arrival.uri.path();
    matches!(path, "/healthz" | "/readyz" | "/openapi.json" | "/metrics")
        || path.starts_with(LOSSES)
        || Listing::find(path, &arrival.headers).is_some()
}

/// Where reports of losses are.
const LOSSES: &str = "/v1/losses/";

/// The media type of metrics.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Says a fault that belongs to no exchange in a dialect, or as most clients understand it.
fn say(dialect: Dialect, fault: Fault) -> Reply {
    let codec = dialect.codec().unwrap_or(&openai_chat::CODEC);
    fault::reply(codec, RequestId::random(), fault)
}

/// Who sent a request without a key that is known.
fn nobody() -> Caller {
    Caller::new("nobody").with_tenant("nobody")
}

/// A request that came to nothing, told in its dialect.
fn refuse(codec: &dyn ChatCodec, mut recorder: ExchangeRecorder, fault: Fault) -> Reply {
    recorder.set_fault(Some(fault.class));
    let reply = fault::reply(codec, recorder.id(), fault);
    recorder.set_status(reply.status().as_u16());
    recorder.finish();
    reply
}

fn wrong_method(allowed: &str) -> Fault {
    let mut fault = Fault::new(FaultClass::Invalid, format!("Use the method {allowed} here."));
    fault.status = Some(StatusCode::METHOD_NOT_ALLOWED.as_u16());
    fault
}

fn nowhere() -> Fault {
    let message = "There is nothing at this path. /openapi.json lists what there is.";
    Fault::new(FaultClass::NotFound, message)
}
