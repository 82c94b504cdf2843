//! Routes a request by its path: to an exchange at a vendor's endpoint, or to an endpoint of the gateway.

mod browser;
pub mod openapi;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderValue, Method, StatusCode, Uri, header};
use toolwright::Caller;
use toolwright::upstream::ClientCredential;
use toolwright_core::dialect::{ChatCodec, Dialect, openai_chat};
use toolwright_core::{Fault, FaultClass};

use crate::config::listen::is_loopback;
use crate::gateway::Gateway;
use crate::http::{Health, HttpRequest, Reply, ReplyBody, Service, Share};
use crate::key::{AuthenticatedClient, Client, Reservation};
use crate::proxy::endpoint::Endpoint;
use crate::proxy::exchange::Exchange;
use crate::proxy::fault;
use crate::proxy::finalizer::Finalizer;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::models::Listing;
use crate::proxy::prepare;
use crate::proxy::responses::lookup::{self, Asker, Lookup};
use crate::proxy::route::Routes;
use crate::telemetry::{BusySpan, ExchangeRecorder, RequestId};

/// Routes requests to exchanges and to the gateway's own endpoints.
pub struct Router {
    gateway: Arc<Gateway>,
    health: Health,
    /// Whether the server listens on a loopback address
    is_local: bool,
}

impl Service for Router {
    async fn answer(&self, request: HttpRequest) -> Reply {
        if self.is_local
            && self.gateway.live().keys.is_open()
            && let Err(fault) = browser::check_host(&request.headers, &request.uri)
        {
            return self.fail(&request.uri, fault);
        }
        match Endpoint::find(request.uri.path(), request.uri.query()) {
            Some(endpoint) if request.method == Method::POST => {
                self.exchange(endpoint, request).await
            }
            Some(endpoint) => {
                fault::reply(endpoint.codec, RequestId::random(), wrong_method("POST"))
            }
            None => match Lookup::find(&request.method, &request.uri) {
                Some(lookup) => {
                    let found = self.lookup(lookup, request).await;
                    found.unwrap_or_else(|fault| encode_fault(lookup::DIALECT, fault))
                }
                None => self.answer_own_endpoint(&request).await,
            },
        }
    }

    fn fail(&self, uri: &Uri, fault: Fault) -> Reply {
        encode_fault(Endpoint::nearest(uri.path()), fault)
    }
}

impl Router {
    /// Creates a router for a server that is bound to an address.
    pub fn new(gateway: Arc<Gateway>, health: Health, bound: SocketAddr) -> Router {
        Router { gateway, health, is_local: is_loopback(bound) }
    }

    async fn exchange(&self, mut endpoint: Endpoint, mut request: HttpRequest) -> Reply {
        let live = self.gateway.live();
        let authenticated = live.keys.authenticate(&request.headers, &request.uri);
        if authenticated.is_ok() {
            live.keys.strip(&mut request.headers);
            endpoint.retain_query(|_, value| !live.keys.holds(value));
        }
        let caller = authenticated
            .as_ref()
            .map_or_else(|_| unknown_caller(), |authenticated| authenticated.client.caller());
        let telemetry = &self.gateway.telemetry;
        if let Err(fault) = telemetry.admit().await {
            return fault::reply(endpoint.codec, RequestId::random(), fault);
        }
        let mut recorder = telemetry.begin(endpoint.dialect, endpoint.name(), caller);
        recorder.trace(&request.headers);
        let codec = endpoint.codec;
        let mut share = request.budget.share();
        match self
            .ask(authenticated, endpoint, request, recorder.id(), &live.routes, &mut share)
            .await
        {
            Ok((inbound, busy, reservation)) => {
                let routes = Arc::clone(&live.routes);
                let keep = Arc::clone(&self.gateway.reasoning_cache);
                recorder.set_reservation(reservation);
                let finalizer = Finalizer::new(recorder, Arc::clone(&inbound.client), keep, share);
                let exchange = Exchange::new(inbound, routes, finalizer, busy);
                let pending_turns = Arc::clone(&self.gateway.pending_turns);
                let runs = Arc::clone(&self.gateway.runs);
                let exchange = exchange.with_tools(Arc::clone(&live.tools), pending_turns, runs);
                let responses = Arc::clone(&self.gateway.responses);
                exchange.with_responses(responses).run().await
            }
            Err(fault) => refuse(codec, recorder, fault),
        }
    }

    /// Authenticates a request and reads its body.
    async fn ask(
        &self,
        authenticated: Result<AuthenticatedClient, Fault>,
        endpoint: Endpoint,
        request: HttpRequest,
        id: RequestId,
        routes: &Routes,
        share: &mut Share,
    ) -> Result<(InboundRequest, BusySpan, Option<Reservation>), Fault> {
        let authenticated = authenticated?;
        if authenticated.carrier.is_none() {
            browser::check_origin(&request.headers)?;
        }
        authenticated.client.admit(request.started)?;
        let HttpRequest { headers, body, budget, .. } = request;
        let mut body = body.read().await?;
        let busy = BusySpan::start();
        if authenticated.is_in(&body) {
            let mut share = budget.share();
            share.reach(body.len(), body.len()).await?;
            body = share.hold(authenticated.mask(&body));
        }
        let reading = prepare::reading(&endpoint, &body, routes, share);
        let mut inbound = InboundRequest::new(id, endpoint, headers, body, authenticated, reading)?;
        self.gateway.responses.resolve(&mut inbound, budget.share()).await?;
        let reservation = inbound.reserve(Instant::now())?;
        Ok((inbound, busy, reservation))
    }

    /// Answers a request for a stored response.
    async fn lookup(&self, mut lookup: Lookup, mut request: HttpRequest) -> Result<Reply, Fault> {
        let live = self.gateway.live();
        let AuthenticatedClient { client, carrier, .. } =
            live.keys.authenticate(&request.headers, &request.uri)?;
        if carrier.is_none() {
            browser::check_origin(&request.headers)?;
        }
        live.keys.strip(&mut request.headers);
        lookup.retain_query(|_, value| !live.keys.holds(value));
        let asker = Asker {
            client: &client,
            credential: ClientCredential::from_headers(&request.headers),
            headers: &request.headers,
            share: request.budget.share(),
        };
        let remote = |id: &str| live.routes.remote(id);
        self.gateway.responses.answer(&lookup, asker, remote).await
    }

    /// Answers the gateway's own endpoints.
    async fn answer_own_endpoint(&self, request: &HttpRequest) -> Reply {
        let path = request.uri.path();
        let answered = match (&request.method, path) {
            (&Method::GET | &Method::HEAD, "/healthz") => Ok(self.health.healthz()),
            (&Method::GET | &Method::HEAD, "/readyz") => Ok(self.readyz()),
            (&Method::GET | &Method::HEAD, "/openapi.json") => Ok(openapi::reply()),
            (&Method::GET | &Method::HEAD, "/metrics") => self.metrics(request),
            (&Method::GET | &Method::HEAD, _) => match path.strip_prefix(LOSSES) {
                Some(id) => self.losses(id, request).await,
                None => self.models(request),
            },
            _ if is_own(request) => Err(wrong_method("GET")),
            _ => Err(nowhere()),
        };
        answered.unwrap_or_else(|fault| {
            let listing = Listing::find(path, &request.headers);
            let dialect = listing.map_or_else(|| Endpoint::nearest(path), |own| own.dialect);
            encode_fault(dialect, fault)
        })
    }

    /// Answers `/readyz`: not ready while the server drains or the ledger cannot be written.
    fn readyz(&self) -> Reply {
        match self.gateway.telemetry.records().failure() {
            Some(_) => self.health.unready("the ledger cannot be written\n"),
            None => self.health.readyz(),
        }
    }

    fn metrics(&self, request: &HttpRequest) -> Result<Reply, Fault> {
        self.client(request)?;
        let mut reply = Reply::new(ReplyBody::full(self.gateway.telemetry.prometheus()));
        let kind = HeaderValue::from_static(METRICS);
        reply.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(reply)
    }

    async fn losses(&self, id: &str, request: &HttpRequest) -> Result<Reply, Fault> {
        let client = self.client(request)?;
        let found = match id.parse() {
            Ok(id) => self.gateway.telemetry.losses(id, &client.caller()).await,
            Err(_) => Ok(None),
        };
        let found = found.map_err(|_| {
            let message = "The ledger cannot be read now. The gateway's log says why.";
            Fault::new(FaultClass::Internal, message)
        })?;
        found.map(|document| fault::document(&document)).ok_or_else(|| {
            let message = "There is no report for this request id. The id is in the header \
                           `toolwright-request-id` of a reply, and only the client that made the \
                           request may read its report.";
            Fault::new(FaultClass::NotFound, message)
        })
    }

    fn models(&self, request: &HttpRequest) -> Result<Reply, Fault> {
        let path = request.uri.path();
        let Some(listing) = Listing::find(path, &request.headers) else { return Err(nowhere()) };
        let client = self.client(request)?;
        let mut names = self.gateway.live().routes.names();
        names.retain(|name| client.may_use(name, name));
        Ok(fault::document(&listing.document(&names)?))
    }

    fn client(&self, request: &HttpRequest) -> Result<Arc<Client>, Fault> {
        Ok(self.gateway.live().keys.authenticate(&request.headers, &request.uri)?.client)
    }
}

/// Whether a path is one of the gateway's own endpoints, for the right method.
fn is_own(request: &HttpRequest) -> bool {
    let path = request.uri.path();
    matches!(path, "/healthz" | "/readyz" | "/openapi.json" | "/metrics")
        || path.starts_with(LOSSES)
        || Listing::find(path, &request.headers).is_some()
}

/// The path of loss reports.
const LOSSES: &str = "/v1/losses/";

/// The media type of metrics.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Encodes a fault outside of an exchange, in a dialect.
fn encode_fault(dialect: Dialect, fault: Fault) -> Reply {
    let codec = dialect.codec().unwrap_or(&openai_chat::CODEC);
    fault::reply(codec, RequestId::random(), fault)
}

/// The caller of a request without a known key.
fn unknown_caller() -> Caller {
    Caller::new("nobody").with_tenant("nobody")
}

/// Ends a request with a fault, in its dialect.
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
    let message = "There is no endpoint at this path. /openapi.json lists the endpoints.";
    Fault::new(FaultClass::NotFound, message)
}
