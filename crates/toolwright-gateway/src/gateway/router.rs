//! Routes a request by its method and path, as `routes` says: to an exchange at a vendor's endpoint, or to
//! an endpoint of the gateway.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderValue, StatusCode, Uri, header};
use toolwright_core::{Fault, FaultClass, percent};
use toolwright_dialects::dialect::{self, ChatCodec, openai_chat};
use toolwright_runtime::Caller;
use toolwright_runtime::upstream::ClientCredential;

use super::access::AccessLine;
use super::routes::{self, ClientEndpoint, FaultForm, NoRoute, PublicEndpoint, RouteMatch, Target};
use super::{Gateway, Live, openapi};
use crate::catalog::routes::{self as catalog, CatalogRoutes};
use crate::exchange::{Exchange, ExchangeState};
use crate::http::address::is_loopback;
use crate::http::{Health, HttpRequest, Reply, Service, Share, browser};
use crate::key::{AuthenticatedClient, Client, Reservation};
use crate::mcp::routes::{self as mcp, McpRoutes};
use crate::models::route::Candidate;
use crate::plans::routes as plans;
use crate::proxy::endpoint::Endpoint;
use crate::proxy::finalizer::Finalizer;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::prepare::{self, Guess};
use crate::responses::routes::{Asker, Lookup};
use crate::telemetry::{BusySpan, ExchangeRecorder, RequestId};
use crate::{approvals, fault, handles, inputs, models, monitoring};

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
            return self.line(&request).end(self.fail(&request.uri, fault));
        }
        let uri = request.uri.clone();
        let reply = match routes::find(&request.method, uri.path(), &request.headers) {
            Ok(found) => return self.answer_at(&found, request).await,
            Err(NoRoute::Method(form, allowed)) => wrong_method(form, &allowed),
            Err(NoRoute::Path) => self.fail(&uri, nowhere()),
        };
        self.line(&request).end(reply)
    }

    fn fail(&self, uri: &Uri, fault: Fault) -> Reply {
        encode_fault(routes::nearest_form(uri.path()), fault)
    }
}

impl Router {
    /// Creates a router for a server that is bound to an address.
    pub fn new(gateway: Arc<Gateway>, health: Health, bound: SocketAddr) -> Router {
        Router { gateway, health, is_local: is_loopback(bound) }
    }

    /// Whether clients may approve at all: not if everyone on a network may use the gateway without a key.
    fn may_approve(&self, live: &Live) -> bool {
        self.is_local || !live.keys.is_open()
    }

    /// Begins the line of a request that is not an exchange.
    fn line(&self, request: &HttpRequest) -> AccessLine {
        AccessLine::new(request, self.gateway.telemetry.log_format())
    }

    /// Answers a request at its route.
    async fn answer_at(&self, found: &RouteMatch<'_>, request: HttpRequest) -> Reply {
        let form = found.form(&request.headers);
        if let Some(endpoint) = found.endpoint(request.uri.query()) {
            return self.exchange(endpoint, request).await;
        }
        // Monitoring asks every few seconds, and has no lines.
        let is_logged = !matches!(found.path, "/healthz" | "/readyz" | "/metrics");
        let line = is_logged.then(|| self.line(&request));
        let answered = match found.route.target {
            Target::Exchange(..) => Err(nowhere()),
            Target::Client(endpoint) => self.answer_client(endpoint, found, request).await,
            Target::Prefab(endpoint) => {
                let parameter = |name| found.parameters.text(name, found.path);
                let current = self.gateway.live();
                let state = self.catalog_routes(&current);
                let answered = catalog::answer(state, endpoint, parameter, request).await;
                Ok(answered.unwrap_or_else(catalog::Refusal::reply))
            }
            Target::Mcp => {
                let server = found.parameters.text("server", found.path);
                let current = self.gateway.live();
                Ok(mcp::answer(self.mcp_routes(&current), server, request).await)
            }
            Target::Public(PublicEndpoint::Health) => Ok(self.health.healthz()),
            Target::Public(PublicEndpoint::Readiness) => {
                Ok(monitoring::readyz(&self.gateway.telemetry, &self.health))
            }
            Target::Public(PublicEndpoint::OpenApi) => Ok(openapi::reply()),
        };
        let reply = answered.unwrap_or_else(|fault| encode_fault(form, fault));
        if let Some(line) = line { line.end(reply) } else { reply }
    }

    /// Authenticates the client of a request and answers it.
    async fn answer_client(
        &self,
        endpoint: ClientEndpoint,
        found: &RouteMatch<'_>,
        mut request: HttpRequest,
    ) -> Result<Reply, Fault> {
        let live = self.gateway.live();
        let AuthenticatedClient { client, carrier, .. } =
            live.keys.authenticate(&request.headers, &request.uri)?;
        if carrier.is_none() {
            browser::check_origin(&request.headers)?;
        }
        request.set_client(client.name());
        live.keys.strip(&mut request.headers);
        let parameter = |name| found.parameters.text(name, found.path);
        match endpoint {
            ClientEndpoint::StoredResponse(action) => {
                let (id, query) = (parameter("id").unwrap_or_default(), request.uri.query());
                let lookup = Lookup::new(action, id, found.path, query).ok_or_else(nowhere)?;
                let reply = self.stored_response(lookup, &live, &client, request).await?;
                Ok(reply.map(|body| body.until(client.removed())))
            }
            ClientEndpoint::Listing(about) => {
                let model = parameter("model").map(percent::decode);
                let dialect = found.dialect(&request.headers);
                let mut names = live.routes.names();
                names.retain(|name| client.may_use(name, name));
                let listing = models::routes::listing(dialect, about, model.as_deref(), &names)?;
                Ok(fault::document(&listing))
            }
            ClientEndpoint::Metrics => {
                let telemetry = &self.gateway.telemetry;
                telemetry.metrics().set_changed_tools(live.servers.changed_definitions());
                Ok(monitoring::metrics(telemetry, live.tools.permission(&client)))
            }
            ClientEndpoint::Approvals(action) => {
                let approvals = &self.gateway.stores.approvals;
                let (telemetry, may_approve) = (&self.gateway.telemetry, self.may_approve(&live));
                let client = &*client;
                let asker = approvals::routes::Asker { approvals, telemetry, client, may_approve };
                asker.answer(action, parameter("id").unwrap_or_default(), request).await
            }
            ClientEndpoint::Inputs(action) => {
                let id = parameter("id").unwrap_or_default();
                inputs::routes::answer(action, id, &self.gateway.stores.inputs, &client, request)
                    .await
            }
            ClientEndpoint::Handles(action) => {
                client.admit(request.started)?;
                let id = percent::decode(parameter("id").unwrap_or_default());
                let store = Arc::clone(&self.gateway.stores.handles);
                let answer =
                    async move { handles::answer(action, &id, &*store, &client, request).await };
                self.gateway.plans.work(answer).await?
            }
            ClientEndpoint::Plans(action) => {
                client.admit(request.started)?;
                let (state, may_approve) = (self.gateway.plan_state(), self.may_approve(&live));
                let asker = plans::Asker { state, client, may_approve };
                let id = parameter("id").unwrap_or_default().to_owned();
                let answer = async move { asker.answer(action, &id, request).await };
                self.gateway.plans.work(answer).await?
            }
            ClientEndpoint::Losses => {
                let id = parameter("id").unwrap_or_default();
                monitoring::losses(&self.gateway.telemetry, id, &client).await
            }
        }
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
            let reply = fault::reply(endpoint.codec, RequestId::random(), fault);
            return self.line(&request).end(reply);
        }
        let mut recorder = telemetry.begin(endpoint.dialect, endpoint.name(), caller);
        recorder.trace(&request.headers);
        if authenticated.is_err() {
            recorder.record.is_unauthenticated = true;
        }
        let codec = endpoint.codec;
        let mut share = request.budget.share();
        match self.ask(authenticated, endpoint, request, recorder.id(), &live, &mut share).await {
            Ok(Asked { inbound, candidates, busy, reservation }) => {
                recorder.reservation = reservation;
                let client = Arc::clone(&inbound.client);
                let reasoning_cache = Arc::clone(&self.gateway.reasoning_cache);
                let removal = client.removal();
                let finalizer =
                    Finalizer { recorder, share, capture: None, client, removal, reasoning_cache };
                let state = ExchangeState {
                    routes: Arc::clone(&live.routes),
                    tools: Arc::clone(&live.tools),
                    servers: Arc::clone(&live.servers),
                    stores: Arc::clone(&self.gateway.stores),
                };
                let responses = Arc::clone(&self.gateway.responses);
                Exchange::new(inbound, candidates, state, finalizer, busy, responses).run().await
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
        live: &Live,
        share: &mut Share,
    ) -> Result<Asked, Fault> {
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
        let schemas = &self.gateway.schema_cache;
        let Guess { model, candidates, reading } =
            prepare::guess(&endpoint, &body, &live.routes, schemas, share);
        let is_right = |inbound: &InboundRequest| model.as_deref() == Some(&*inbound.model);
        let inbound = InboundRequest::new(id, endpoint, headers, body, authenticated, reading)?;
        let candidates = if is_right(&inbound) { candidates } else { Vec::new() };
        let mut asked = Asked { inbound, candidates, busy, reservation: None };
        self.gateway.responses.resolve(&mut asked.inbound, budget.share()).await?;
        asked.reservation = asked.inbound.reserve(Instant::now())?;
        Ok(asked)
    }

    /// Answers a request for a stored response.
    async fn stored_response(
        &self,
        mut lookup: Lookup,
        live: &Live,
        client: &Client,
        request: HttpRequest,
    ) -> Result<Reply, Fault> {
        lookup.retain_query(|_, value| !live.keys.holds(value));
        let asker = Asker {
            client,
            credential: ClientCredential::from_headers(&request.headers),
            headers: &request.headers,
            share: request.budget.share(),
        };
        let remote = |id: &str| live.routes.remote(id);
        self.gateway.responses.answer(&lookup, asker, remote).await
    }

    fn catalog_routes<'g>(&'g self, live: &'g Live) -> CatalogRoutes<'g> {
        CatalogRoutes {
            prefabs: &self.gateway.prefabs,
            functions: &live.functions,
            settings: &live.catalog,
            keys: &live.keys,
            tools: &live.tools,
            journal: &self.gateway.stores.journal,
            handles: &self.gateway.stores.handles,
            telemetry: &self.gateway.telemetry,
        }
    }

    fn mcp_routes<'g>(&'g self, live: &'g Live) -> McpRoutes<'g> {
        McpRoutes {
            state: &self.gateway.mcp,
            keys: &live.keys,
            tools: &live.tools,
            servers: &live.servers,
            features: self.gateway.additions.features.as_ref(),
            journal: &self.gateway.stores.journal,
            handles: &self.gateway.stores.handles,
            telemetry: &self.gateway.telemetry,
            announcer: &self.gateway.announcer,
            health: &self.health,
            may_approve: self.may_approve(live),
        }
    }
}

/// A request that an exchange can begin with.
struct Asked {
    inbound: InboundRequest,
    /// The candidates for its model, if they were found before the body was read
    candidates: Vec<Candidate>,
    busy: BusySpan,
    reservation: Option<Reservation>,
}

/// Encodes a fault outside of an exchange.
fn encode_fault(form: FaultForm, fault: Fault) -> Reply {
    match form {
        FaultForm::Dialect(dialect) => {
            let codec = dialect::codec(dialect).unwrap_or(&openai_chat::CODEC);
            fault::reply(codec, RequestId::random(), fault)
        }
        FaultForm::Detail => catalog::Refusal::from(fault).reply(),
    }
}

/// The caller of a request without a known key.
fn unknown_caller() -> Caller {
    Caller::new("nobody").with_tenant("nobody")
}

/// Ends a request with a fault, in its dialect.
fn refuse(codec: &dyn ChatCodec, mut recorder: ExchangeRecorder, fault: Fault) -> Reply {
    recorder.record.fault = Some(fault.class);
    let reply = fault::reply(codec, recorder.id(), fault);
    recorder.record.status = reply.status().as_u16();
    recorder.finish();
    reply
}

/// The reply to a request whose path has routes for other methods only.
fn wrong_method(form: FaultForm, allowed: &[&str]) -> Reply {
    let message = format!("Use the method {} here.", allowed.join(" or "));
    let mut fault = Fault::new(FaultClass::Invalid, message);
    fault.status = Some(StatusCode::METHOD_NOT_ALLOWED.as_u16());
    let mut reply = encode_fault(form, fault);
    if let Ok(methods) = HeaderValue::from_str(&allowed.join(", ")) {
        reply.headers_mut().insert(header::ALLOW, methods);
    }
    reply
}

fn nowhere() -> Fault {
    let message = "There is no endpoint at this path. /openapi.json lists the endpoints.";
    Fault::new(FaultClass::NotFound, message)
}
