//! An upstream over HTTP: one address, one credential, one pool of connections.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::SystemTime;

use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Response};
use hyper_util::client::legacy::{Client, ResponseFuture};
use rustls::ClientConfig;
use toolwright_core::dialect::{ChatCodec, Dialect};
use toolwright_core::fault::Fault;

use super::address::Address;
use super::connect::{self, Connector};
use super::credential::{Prepared, Refusal, sensitive};
use super::deadline::Alarm;
use super::incoming::Watch;
use super::outgoing::{self, OutgoingBody, Sent};
use super::permit::Permits;
use super::preamble::Preamble;
use super::{Credential, Deadlines, Incoming, Losses, Outgoing, RemoteError, Trust, fault};

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
/// Anthropic refuses a request without a version. This one takes all that is fitted for none.
const ANTHROPIC_DEFAULT: HeaderValue = HeaderValue::from_static("2023-06-01");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("toolwright/", env!("CARGO_PKG_VERSION")));

/// An upstream over HTTP. Clones share connections and limits.
#[derive(Clone)]
pub struct Remote(Arc<Shared>);

struct Shared {
    setup: Setup,
    client: Client<Connector, OutgoingBody>,
    permits: Permits,
}

#[derive(Clone)]
struct Setup {
    id: Arc<str>,
    codec: &'static dyn ChatCodec,
    address: Address,
    credential: Prepared,
    tls: Arc<ClientConfig>,
    deadlines: Deadlines,
    concurrency: usize,
    waiting: usize,
    retries: u32,
    losses: Losses,
    version: Option<HeaderValue>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Remote {
    /// An upstream that speaks a codec's dialect at a base URL, which may or may not end with the
    /// version that the codec's paths begin with.
    pub fn new(
        id: impl Into<Arc<str>>,
        codec: &'static dyn ChatCodec,
        base_url: &str,
        credential: Credential,
    ) -> Result<Remote, RemoteError> {
        let id = id.into();
        let address = Address::parse(base_url, codec.dialect())
            .map_err(|why| RemoteError::Address { id: id.to_string(), why })?;
        let credential = Prepared::new(credential)
            .ok_or_else(|| RemoteError::Credential { id: id.to_string() })?;
        Ok(Remote::build(Setup {
            id,
            codec,
            address,
            credential,
            tls: Trust::public().config()?,
            deadlines: Deadlines::default(),
            concurrency: 1024,
            waiting: 1024,
            retries: 2,
            losses: Losses::Noted,
            version: None,
            headers: Vec::new(),
        }))
    }

    fn build(setup: Setup) -> Remote {
        let tls = Arc::clone(&setup.tls);
        let client = connect::client(tls, setup.deadlines.connect, setup.concurrency);
        let permits = Permits::new(setup.concurrency, setup.waiting);
        Remote(Arc::new(Shared { setup, client, permits }))
    }

    fn change(self, change: impl FnOnce(&mut Setup)) -> Remote {
        let mut setup = self.0.setup.clone();
        change(&mut setup);
        Remote::build(setup)
    }

    /// How long it may take.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Remote {
        self.change(|setup| setup.deadlines = deadlines)
    }

    /// How many requests it may have at once; others wait.
    #[must_use]
    pub fn with_concurrency(self, requests: usize) -> Remote {
        self.change(|setup| setup.concurrency = requests)
    }

    /// How many requests may wait; others get a fault at once.
    #[must_use]
    pub fn with_waiting(self, requests: usize) -> Remote {
        self.change(|setup| setup.waiting = requests)
    }

    /// How often a request may be tried again. [`send`](Remote::send) itself tries once.
    #[must_use]
    pub fn with_retries(self, retries: u32) -> Remote {
        self.change(|setup| setup.retries = retries)
    }

    /// What is done about losses, where it is asked in canonical words.
    #[must_use]
    pub fn with_losses(self, losses: Losses) -> Remote {
        self.change(|setup| setup.losses = losses)
    }

    /// The API version to fit requests for, sent to Anthropic as `anthropic-version` unless a
    /// request names its own.
    pub fn with_version(self, version: &str) -> Result<Remote, RemoteError> {
        let why = "has characters that no HTTP header can carry";
        let wrong = |_| self.header_error(ANTHROPIC_VERSION.as_str(), why);
        let value = HeaderValue::from_str(version).map_err(wrong)?;
        Ok(self.change(|setup| setup.version = Some(value)))
    }

    /// A header to send with every request.
    pub fn with_header(self, name: &str, value: &str) -> Result<Remote, RemoteError> {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| self.header_error(name, "is no name of a header"))?;
        if outgoing::is_framing(&header) {
            return Err(self.header_error(name, "cannot be configured; it is the connection's"));
        }
        let why = "has characters that no HTTP header can carry";
        let value = sensitive(value).ok_or_else(|| self.header_error(name, why))?;
        Ok(self.change(|setup| setup.headers.push((header, value))))
    }

    fn header_error(&self, name: &str, why: &'static str) -> RemoteError {
        RemoteError::Header { id: self.id().to_owned(), name: name.to_owned(), why }
    }

    /// Whose certificates are believed.
    pub fn with_trust(self, trust: &Trust) -> Result<Remote, RemoteError> {
        let tls = trust.config()?;
        Ok(self.change(|setup| setup.tls = tls))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.0.setup.id
    }

    /// How it speaks.
    pub fn codec(&self) -> &'static dyn ChatCodec {
        self.0.setup.codec
    }

    /// The API version to fit requests for, if it was said.
    pub fn version(&self) -> Option<&str> {
        self.0.setup.version.as_ref().and_then(|version| version.to_str().ok())
    }

    /// How long it may take.
    pub fn deadlines(&self) -> Deadlines {
        self.0.setup.deadlines
    }

    /// How often a request may be tried again.
    pub fn retries(&self) -> u32 {
        self.0.setup.retries
    }

    pub(super) fn losses(&self) -> &Losses {
        &self.0.setup.losses
    }

    /// Whether it is asked with the client's own credential.
    pub fn wants_client_credential(&self) -> bool {
        matches!(self.0.setup.credential, Prepared::Client)
    }

    /// Whether bytes show the key that it is asked with. A vendor that refuses a key may repeat it,
    /// and it is no business of clients.
    pub fn is_given_away(&self, bytes: &[u8]) -> bool {
        let Prepared::Header(_, value) = &self.0.setup.credential else { return false };
        let key = value.as_bytes();
        let key = key.strip_prefix(b"Bearer ").unwrap_or(key);
        !key.is_empty() && bytes.windows(key.len()).any(|window| window == key)
    }

    /// Sends bytes and gives the head of the reply, and its body as it arrives. A reply that says a
    /// vendor's fault is a reply. Dropping the future cancels the request.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Fault> {
        let Shared { setup, client, permits } = &*self.0;
        let deadlines = &setup.deadlines;
        let permit = permits.acquire(deadlines.first_byte).await;
        let permit = permit.map_err(|full| fault::full(&setup.id, full))?;
        let sent = Sent::default();
        let mut request = setup.request(outgoing, sent.clone())?;
        let preamble = Preamble::default();
        let counted = preamble.clone();
        hyper::ext::on_informational(&mut request, move |_| counted.count());
        let mut alarm = Alarm::after(deadlines.first_byte);
        let response = tokio::select! {
            biased;
            () = preamble.flooded() => return Err(fault::flood(&setup.id)),
            response = setup.head(client.request(request), &sent, &mut alarm) => response?,
        };
        let (id, idle) = (Arc::clone(&setup.id), deadlines.idle);
        let watch = Watch { id, alarm, idle, permit: Some(permit) };
        Incoming::accept(response, watch)
    }
}

impl Setup {
    fn request(&self, outgoing: Outgoing, sent: Sent) -> Result<Request<OutgoingBody>, Fault> {
        let Outgoing { path, headers, body, client } = outgoing;
        if !path.starts_with('/') {
            return Err(fault::invalid(&self.id, "the request has no path; name a model"));
        }
        let uri = self.address.target(path);
        let wrong = "the path has characters that no URL can have; check the model's name";
        let uri = uri.map_err(|_| fault::invalid(&self.id, wrong))?;
        let mut headers = self.headers(headers);
        match &self.credential {
            Prepared::None => {}
            Prepared::Header(name, value) => {
                headers.insert(name, value.clone());
            }
            Prepared::Client => {
                let shown = Prepared::of_client(client.as_ref(), self.codec.dialect());
                let (name, value) = shown.map_err(|refusal| self.refuse(refusal))?;
                headers.insert(name, value);
            }
            Prepared::Sign(signer) => {
                let (text, host) = (uri.to_string(), self.address.host());
                signer
                    .sign(&text, host, &mut headers, &body, SystemTime::now())
                    .ok_or_else(|| self.refuse(Refusal::Unsigned))?;
            }
        }
        let mut request = Request::new(OutgoingBody::new(body, sent));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The caller's headers, less what is not sent on, with ours.
    fn headers(&self, mut headers: HeaderMap) -> HeaderMap {
        outgoing::strip(&mut headers);
        headers.reserve(5 + self.headers.len());
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.entry(USER_AGENT).or_insert(AGENT);
        if self.codec.dialect() == Dialect::Anthropic {
            let version = || self.version.clone().unwrap_or(ANTHROPIC_DEFAULT);
            headers.entry(ANTHROPIC_VERSION).or_insert_with(version);
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        headers
    }

    fn refuse(&self, refusal: Refusal) -> Fault {
        match refusal {
            Refusal::NoClientCredential => fault::no_credential(&self.id),
            Refusal::Unsigned => fault::unsigned(&self.id),
        }
    }

    /// Waits for the head of a reply.
    async fn head(
        &self,
        mut response: ResponseFuture,
        sent: &Sent,
        alarm: &mut Alarm,
    ) -> Result<Response<hyper::body::Incoming>, Fault> {
        let wait = self.deadlines.first_byte;
        poll_fn(|context| {
            if let Poll::Ready(response) = Pin::new(&mut response).poll(context) {
                let fault = |error| fault::no_answer(&self.id, &error, &self.deadlines);
                return Poll::Ready(response.map_err(fault));
            }
            loop {
                ready!(alarm.poll(context));
                // The alarm was set when the connection was wished for; the deadline counts from
                // when it was there, and connecting has a deadline of its own.
                let from = sent.at().unwrap_or_else(tokio::time::Instant::now);
                if from.elapsed() >= wait && sent.at().is_some() {
                    return Poll::Ready(Err(fault::no_head(&self.id, &self.deadlines)));
                }
                alarm.set(from, wait);
            }
        })
        .await
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Remote").field("id", &self.id()).finish_non_exhaustive()
    }
}
