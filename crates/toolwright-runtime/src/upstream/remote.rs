//! An upstream over HTTP: a codec, an address, a credential and an HTTP client.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use toolwright_dialects::dialect::ChatCodec;
use toolwright_transport::{HttpClient, TransportError};

use super::address::Address;
use super::auth::{CredentialError, PreparedCredential};
use super::{Credential, Deadlines, LossPolicy, Proxy, RemoteError, Trust};

pub(super) const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// An upstream over HTTP. Clones share the connection pool and the limits.
#[must_use]
#[derive(Clone)]
pub struct Remote(pub(super) Arc<Setup>);

/// The configuration of a remote.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) id: Arc<str>,
    pub(super) codec: &'static dyn ChatCodec,
    pub(super) address: Address,
    pub(super) credential: PreparedCredential,
    pub(super) http: HttpClient,
    retries: u32,
    losses: LossPolicy,
    /// Whether `<think>…</think>` is separated from text; `None` is the default of the codec
    pub(super) think_tags: Option<bool>,
    pub(super) version: Option<HeaderValue>,
}

impl Remote {
    /// Creates a remote for a dialect at a base URL, which may or may not end with the version that the
    /// codec's paths begin with.
    pub fn new(
        id: impl Into<Arc<str>>,
        codec: &'static dyn ChatCodec,
        base_url: &str,
        credential: Credential,
    ) -> Result<Remote, RemoteError> {
        let id = id.into();
        let address = Address::parse(base_url, codec.dialect())
            .map_err(|why| RemoteError::Address { id: id.to_string(), why })?;
        let credential = PreparedCredential::new(credential).map_err(|unfit| match unfit {
            CredentialError::Characters => RemoteError::Credential { id: id.to_string() },
            CredentialError::Profile(source) => RemoteError::Profile { id: id.to_string(), source },
        })?;
        let http = HttpClient::new(format!("upstream `{id}`"))?;
        Ok(Remote(Arc::new(Setup {
            id,
            codec,
            address,
            credential,
            http,
            retries: 2,
            losses: LossPolicy::Report,
            think_tags: None,
            version: None,
        })))
    }

    fn change(self, change: impl FnOnce(&mut Setup)) -> Remote {
        let mut setup = (*self.0).clone();
        change(&mut setup);
        Remote(Arc::new(setup))
    }

    fn with_http(self, change: impl FnOnce(HttpClient) -> HttpClient) -> Remote {
        let http = change(self.0.http.clone());
        self.change(|setup| setup.http = http)
    }

    /// Sets the deadlines.
    pub fn with_deadlines(self, deadlines: Deadlines) -> Remote {
        self.with_http(|http| http.with_deadlines(deadlines))
    }

    /// Limits the number of concurrent requests; others wait.
    pub fn with_concurrency(self, requests: usize) -> Remote {
        self.with_http(|http| http.with_concurrency(requests))
    }

    /// Limits the number of waiting requests; others fail at once.
    pub fn with_waiting(self, requests: usize) -> Remote {
        self.with_http(|http| http.with_waiting(requests))
    }

    /// Sets the number of retries. [`send`](Remote::send) itself does not retry.
    pub fn with_retries(self, retries: u32) -> Remote {
        self.change(|setup| setup.retries = retries)
    }

    /// Sets what happens when a canonical request or response loses something.
    pub fn with_losses(self, losses: LossPolicy) -> Remote {
        self.change(|setup| setup.losses = losses)
    }

    /// Sets whether a leading `<think>…</think>` in a response is reasoning and not text. The default
    /// depends on the vendor.
    pub fn with_think_tags(self, think_tags: bool) -> Remote {
        self.change(|setup| setup.think_tags = Some(think_tags))
    }

    /// Whether a leading `<think>…</think>` in a response is reasoning and not text.
    pub fn has_think_tags(&self) -> bool {
        let setup = &self.0;
        setup.think_tags.unwrap_or_else(|| setup.codec.has_think_tags())
    }

    /// Sets the API version that requests are fitted to. Anthropic gets it as `anthropic-version`, unless a
    /// request has its own.
    pub fn with_version(self, version: &str) -> Result<Remote, RemoteError> {
        let value = HeaderValue::from_str(version).map_err(|_| RemoteError::Header {
            id: self.id().to_owned(),
            name: ANTHROPIC_VERSION.to_string(),
            why: "has characters that are not valid in an HTTP header",
        })?;
        Ok(self.change(|setup| setup.version = Some(value)))
    }

    /// Adds a header to every request.
    pub fn with_header(self, name: &str, value: &str) -> Result<Remote, RemoteError> {
        let http = self.0.http.clone().with_header(name, value).map_err(|error| match error {
            TransportError::Header { name, why } => {
                RemoteError::Header { id: self.id().to_owned(), name, why }
            }
            other => RemoteError::Transport(other),
        })?;
        Ok(self.change(|setup| setup.http = http))
    }

    /// Sets the trusted certificate authorities.
    pub fn with_trust(self, trust: &Trust) -> Result<Remote, RemoteError> {
        let http = self.0.http.clone().with_trust(trust)?;
        Ok(self.change(|setup| setup.http = http))
    }

    /// Sets the proxy.
    pub fn with_proxy(self, proxy: &Proxy) -> Remote {
        let proxy = proxy.for_host(&self.0.address.root());
        self.with_http(|http| http.with_proxy(&proxy))
    }

    /// Whether it is configured as another remote is, so that it can be replaced by that one, with its
    /// connections and limits.
    pub fn has_same_setup(&self, other: &Remote) -> bool {
        self.0 == other.0
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The codec of its dialect.
    pub fn codec(&self) -> &'static dyn ChatCodec {
        self.0.codec
    }

    /// The API version that requests are fitted to.
    pub fn version(&self) -> Option<&str> {
        self.0.version.as_ref().and_then(|version| version.to_str().ok())
    }

    /// The deadlines.
    pub fn deadlines(&self) -> Deadlines {
        self.0.http.deadlines()
    }

    /// The number of retries.
    pub fn retries(&self) -> u32 {
        self.0.retries
    }

    /// The name of the upstream in faults.
    pub(super) fn label(&self) -> &str {
        self.0.http.label()
    }

    pub(super) fn losses(&self) -> &LossPolicy {
        &self.0.losses
    }

    /// Whether it passes the client's credential on.
    pub fn wants_client_credential(&self) -> bool {
        matches!(self.0.credential, PreparedCredential::Client)
    }

    /// Replaces the upstream's key by `***` in the text of a reply: a vendor that refuses a key may
    /// repeat it, and clients must not see it. A key shorter than eight bytes, such as
    /// the `ollama` or `x` of a local server, is no secret, and replacing it would damage the text.
    pub fn redact_key<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let PreparedCredential::Header(_, value) = &self.0.credential else {
            return text.into();
        };
        let Ok(value) = value.to_str() else { return text.into() };
        let key = value.strip_prefix("Bearer ").unwrap_or(value);
        if key.len() < MIN_REDACTED_KEY || !text.contains(key) {
            return text.into();
        }
        text.replace(key, "***").into()
    }
}

/// Minimum length, in bytes, of a key that is redacted.
const MIN_REDACTED_KEY: usize = 8;

impl PartialEq for Setup {
    fn eq(&self, other: &Setup) -> bool {
        let codec = |own: &Setup| std::ptr::from_ref(own.codec).cast::<()>();
        let id = |own: &Setup| (own.codec.dialect(), Arc::clone(&own.id));
        // Codecs of no size may share an address; then their dialects differ.
        codec(self) == codec(other)
            && id(self) == id(other)
            && self.address == other.address
            && self.credential == other.credential
            && self.http.has_same_setup(&other.http)
            && self.retries == other.retries
            && self.losses == other.losses
            && self.think_tags == other.think_tags
            && self.version == other.version
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Remote").field("id", &self.id()).finish_non_exhaustive()
    }
}
