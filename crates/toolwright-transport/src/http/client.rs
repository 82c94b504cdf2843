//! An HTTP client: a connection pool with deadlines and limits.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{
    ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION, USER_AGENT,
};
use http::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{Client, ResponseFuture};
use rustls::ClientConfig;

use super::body::{OutgoingBody, Sent};
use super::deadline::{Deadlines, Timer};
use super::error::TransportError;
use super::fault::{self, HttpFault};
use super::incoming::{BodyContext, Incoming};
use super::informational::InformationalReplies;
use super::permit::{Permit, Permits};
use super::policy::{self, AddressPolicy, HostDecision};
use super::pool::{self, Connector, Route};
use super::proxy::Proxy;
use super::resolver::{BoxError, CheckedResolver, Resolve};
use super::tls::Trust;
use super::tunnel::ProxyError;
use super::{header, redirect, remove_connection_headers};

/// The value of `accept-encoding` for bodies that are read.
pub const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
/// The value of `user-agent`.
pub const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("toolwright/", env!("CARGO_PKG_VERSION")));

/// An HTTP client. Clones share the connection pool and the limits.
///
/// ```
/// use std::time::Duration;
/// use toolwright_transport::{Deadlines, HttpClient};
///
/// # fn main() -> Result<(), toolwright_transport::TransportError> {
/// let deadlines = Deadlines::new().with_first_byte(Duration::from_secs(30));
/// let client = HttpClient::new("weather service")?
///     .with_deadlines(deadlines)
///     .with_concurrency(16)
///     .with_max_response(1 << 20);
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[must_use]
#[derive(Clone)]
pub struct HttpClient(Arc<Shared>);

struct Shared {
    setup: Setup,
    client: Client<Connector, OutgoingBody>,
    permits: Permits,
}

/// The configuration of a client.
#[derive(Clone)]
struct Setup {
    label: Arc<str>,
    tls: Arc<ClientConfig>,
    /// The authorities of `tls`
    trust: Trust,
    deadlines: Deadlines,
    concurrency: usize,
    waiting: usize,
    max_response: usize,
    headers: Vec<(HeaderName, HeaderValue)>,
    proxy: Proxy,
    policy: AddressPolicy,
    /// In place of the system's resolver
    resolver: Option<Arc<dyn Resolve>>,
    redirects: usize,
}

impl HttpClient {
    /// Creates a client. The label names the peer in faults, as in "upstream `openai`".
    pub fn new(label: impl Into<Arc<str>>) -> Result<HttpClient, TransportError> {
        Ok(HttpClient::build(Setup {
            label: label.into(),
            tls: Trust::public().config()?,
            trust: Trust::public(),
            deadlines: Deadlines::default(),
            concurrency: 1024,
            waiting: 1024,
            max_response: usize::MAX,
            headers: Vec::new(),
            proxy: Proxy::none(),
            policy: AddressPolicy::any(),
            resolver: None,
            redirects: 0,
        }))
    }

    fn build(setup: Setup) -> HttpClient {
        let tls = Arc::clone(&setup.tls);
        let route = Route {
            policy: setup.policy.clone(),
            proxy: setup.proxy.clone(),
            resolver: setup.resolver.clone(),
        };
        let client = pool::client(tls, setup.deadlines.connect, setup.concurrency, route);
        let permits = Permits::new(setup.concurrency, setup.waiting);
        HttpClient(Arc::new(Shared { setup, client, permits }))
    }

    fn change(self, change: impl FnOnce(&mut Setup)) -> HttpClient {
        let mut setup = self.0.setup.clone();
        change(&mut setup);
        HttpClient::build(setup)
    }

    /// Sets the deadlines.
    pub fn with_deadlines(self, deadlines: Deadlines) -> HttpClient {
        self.change(|setup| setup.deadlines = deadlines)
    }

    /// Limits the number of concurrent requests; others wait.
    pub fn with_concurrency(self, requests: usize) -> HttpClient {
        self.change(|setup| setup.concurrency = requests)
    }

    /// Limits the number of waiting requests; others fail at once.
    pub fn with_waiting(self, requests: usize) -> HttpClient {
        self.change(|setup| setup.waiting = requests)
    }

    /// Limits the size of a response body, in bytes. Reading beyond it is a fault. By default there is no
    /// limit.
    pub fn with_max_response(self, bytes: usize) -> HttpClient {
        self.change(|setup| setup.max_response = bytes)
    }

    /// Adds a header that holds no secret to every request.
    pub fn with_plain_header(self, name: &str, value: &str) -> Result<HttpClient, TransportError> {
        let (name, mut value) = header::configured(name, value)?;
        value.set_sensitive(false);
        Ok(self.change(|setup| setup.headers.push((name, value))))
    }

    /// Adds a header to every request. Its value may be a secret.
    pub fn with_header(self, name: &str, value: &str) -> Result<HttpClient, TransportError> {
        let configured = header::configured(name, value)?;
        Ok(self.change(|setup| setup.headers.push(configured)))
    }

    /// Sets the trusted certificate authorities.
    pub fn with_trust(self, trust: &Trust) -> Result<HttpClient, TransportError> {
        let (tls, trust) = (trust.config()?, trust.clone());
        Ok(self.change(|setup| (setup.tls, setup.trust) = (tls, trust)))
    }

    /// Sets the proxies. Each request uses the one for its URL.
    pub fn with_proxy(self, proxy: &Proxy) -> HttpClient {
        self.change(|setup| setup.proxy = proxy.clone())
    }

    /// Sets the addresses that may be connected to. By default these are all addresses.
    pub fn with_policy(self, policy: AddressPolicy) -> HttpClient {
        self.change(|setup| setup.policy = policy)
    }

    /// Sets the maximum number of redirects that are followed; further ones are a fault. By default none is
    /// followed, and a redirect is a response. Every redirect is subject to the address policy. Headers with
    /// credentials (`authorization`, `cookie` and those marked as sensitive) are not sent to another origin, and
    /// https is never left for http.
    pub fn with_redirects(self, redirects: usize) -> HttpClient {
        self.change(|setup| setup.redirects = redirects)
    }

    /// Resolves host names with this, in place of the system's resolver.
    pub fn with_resolver(self, resolver: impl Resolve) -> HttpClient {
        self.change(|setup| setup.resolver = Some(Arc::new(resolver)))
    }

    /// Whether it is configured as another client is.
    pub fn has_same_setup(&self, other: &HttpClient) -> bool {
        self.0.setup == other.0.setup
    }

    /// The label.
    pub fn label(&self) -> &str {
        &self.0.setup.label
    }

    /// The deadlines.
    pub fn deadlines(&self) -> Deadlines {
        self.0.setup.deadlines
    }

    /// The headers of every request.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0.setup.headers
    }

    /// Sends a request and returns the response when its head has arrived, whatever its status. Dropping the
    /// future cancels the request. Headers that belong to the connection are removed.
    ///
    /// A fault advises to try again only if nothing was sent, or if the method is idempotent.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Incoming, HttpFault> {
        let is_repeatable = request.method().is_idempotent();
        self.send_as(request, is_repeatable).await
    }

    /// Sends a request as [`send`](HttpClient::send) does. The caller says whether a repeated one is harmless.
    pub fn send_as(
        &self,
        mut request: Request<Bytes>,
        is_repeatable: bool,
    ) -> BoxFuture<'_, Result<Incoming, HttpFault>> {
        Box::pin(async move {
            let setup = &self.0.setup;
            redirect::check(request.uri()).map_err(|why| fault::invalid(&setup.label, why))?;
            self.prepare(request.headers_mut());
            for _ in 0..setup.redirects {
                let permit = self.acquire().await?;
                let incoming = self.exchange(request.clone(), permit, is_repeatable).await?;
                let (status, headers) = (incoming.status, &incoming.headers);
                let next = redirect::follow(request, status, headers, setup.policy.is_any());
                match next.map_err(|why| fault::answer(&setup.label, why))? {
                    Some(next) => request = next,
                    None => return Ok(incoming),
                }
            }
            let incoming = self.exchange(request, self.acquire().await?, is_repeatable).await?;
            let is_redirect =
                incoming.status.is_redirection() && incoming.headers.contains_key(LOCATION);
            if setup.redirects > 0 && is_redirect {
                let what = format!("sent more than {} redirects", setup.redirects);
                return Err(fault::answer(&setup.label, &what));
            }
            Ok(incoming)
        })
    }

    /// Checks that requests to a URL can be sent: the address policy allows it, and its host is found. Nothing
    /// is sent. Through a proxy the host is not resolved, since the proxy does that.
    pub async fn check_url(&self, url: &Uri) -> Result<(), HttpFault> {
        let setup = &self.0.setup;
        redirect::check(url).map_err(|why| fault::invalid(&setup.label, why))?;
        let is_proxied = setup.proxy.target_for(url).is_some();
        let refused = |error: BoxError| fault::no_address(&setup.label, &*error, &setup.deadlines);
        let decision = setup.policy.check_host(url, is_proxied);
        let policy = match decision.map_err(|error| refused(error.into()))? {
            _ if is_proxied => return Ok(()),
            HostDecision::Allowed => AddressPolicy::any(),
            HostDecision::CheckAddresses => setup.policy.clone(),
        };
        let resolver = CheckedResolver {
            custom: setup.resolver.clone(),
            policy: Arc::new(policy),
            port: policy::port(url),
        };
        let addresses = resolver.resolve_host(url.host().unwrap_or_default());
        let found = tokio::time::timeout(setup.deadlines.connect, addresses).await;
        found.unwrap_or_else(|elapsed| Err(io::Error::from(elapsed).into())).map_err(refused)
    }

    fn prepare(&self, headers: &mut HeaderMap) {
        remove_connection_headers(headers);
        headers.remove(PROXY_AUTHORIZATION);
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        headers.entry(USER_AGENT).or_insert(AGENT);
        for (name, value) in self.headers() {
            headers.insert(name, value.clone());
        }
    }

    /// Waits for a permit to send a request.
    pub async fn acquire(&self) -> Result<Permit, HttpFault> {
        let Shared { setup, permits, .. } = &*self.0;
        let permit = permits.acquire(setup.deadlines.first_byte).await;
        permit.map_err(|full| fault::full(&setup.label, full))
    }

    /// Sends a request as it is, to the address of its URI. It must ask for an identity encoding. The
    /// caller says whether a repeated request is harmless.
    pub async fn exchange(
        &self,
        request: Request<Bytes>,
        permit: Permit,
        is_repeatable: bool,
    ) -> Result<Incoming, HttpFault> {
        let setup = &self.0.setup;
        let sent = Sent::default();
        let mut request = request.map(|body| OutgoingBody::new(body, sent.clone()));
        let proxy = setup.proxy.target_for(request.uri());
        let is_proxied = proxy.is_some();
        if let Some(credential) = proxy.and_then(|target| target.credential_for(request.uri())) {
            let credential = credential.clone();
            request.headers_mut().insert(PROXY_AUTHORIZATION, credential);
        }
        let informational = InformationalReplies::default();
        let counted = informational.clone();
        hyper::ext::on_informational(&mut request, move |_| counted.count());
        let mut timer = Timer::after(setup.deadlines.first_byte);
        let response = tokio::select! {
            biased;
            () = informational.exceeded() => {
                return Err(fault::too_many_informational(&setup.label));
            }
            response = setup.head(
                self.0.start(request),
                &sent,
                &mut timer,
                is_repeatable,
            ) => response?,
        };
        // Only a proxy that forwards requests sends this status.
        if is_proxied && response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return Err(fault::no_proxy(&setup.label, &ProxyError::Credential));
        }
        let body_context = BodyContext {
            label: Arc::clone(&setup.label),
            timer,
            idle: setup.deadlines.idle,
            is_repeatable,
            limit: setup.max_response,
            permit: Some(permit),
            observer: None,
        };
        Incoming::accept(response, body_context)
    }
}

impl Shared {
    /// Starts a request. Not an async function, whose body is compiled again in each crate that awaits it: here that
    /// would be all of hyper.
    fn start(&self, request: Request<OutgoingBody>) -> ResponseFuture {
        self.client.request(request)
    }
}

impl Setup {
    /// Waits for the response head.
    async fn head(
        &self,
        mut response: ResponseFuture,
        sent: &Sent,
        timer: &mut Timer,
        is_repeatable: bool,
    ) -> Result<Response<hyper::body::Incoming>, HttpFault> {
        let wait = self.deadlines.first_byte;
        poll_fn(|context| {
            if let Poll::Ready(response) = Pin::new(&mut response).poll(context) {
                let fault =
                    |error| fault::no_answer(&self.label, &error, &self.deadlines, is_repeatable);
                return Poll::Ready(response.map_err(fault));
            }
            loop {
                ready!(timer.poll(context));
                // The timer starts before the connection is established. The deadline counts from
                // when the request was sent, since connecting has its own deadline.
                let from = sent.at().unwrap_or_else(tokio::time::Instant::now);
                if from.elapsed() >= wait && sent.at().is_some() {
                    let fault = fault::no_head(&self.label, &self.deadlines, is_repeatable);
                    return Poll::Ready(Err(fault));
                }
                timer.set(from, wait);
            }
        })
        .await
    }
}

/// The TLS configuration follows from the trusted authorities.
impl PartialEq for Setup {
    fn eq(&self, other: &Setup) -> bool {
        let limits = |own: &Setup| (own.concurrency, own.waiting, own.max_response, own.redirects);
        let resolver = |own: &Setup| own.resolver.as_ref().map(|own| Arc::as_ptr(own).cast::<()>());
        self.label == other.label
            && self.trust == other.trust
            && self.deadlines == other.deadlines
            && limits(self) == limits(other)
            && self.headers == other.headers
            && self.proxy == other.proxy
            && self.policy == other.policy
            && resolver(self) == resolver(other)
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpClient").field("label", &self.label()).finish_non_exhaustive()
    }
}
