//! Clients: their keys, permissions and rate limits.
//!
//! ```text
//! present (find the key) → hash → Keys (find the client) → allow (permissions) → limit (rates)
//! ```
//!
//! A key is 256 random bits, and the gateway stores only its hash (record 0013).

mod allow;
mod client;
pub mod config;
mod hash;
mod limit;
mod present;
mod token;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Uri};
use toolwright_core::{Fault, FaultClass};
use toolwright_runtime::Caller;
use toolwright_transport::secret::SecretString;

pub use allow::{Allow, Pattern};
pub use client::{Client, DEFAULT_CALLS, Removal, Reservation};
pub use hash::{InvalidKeyHash, KeyHash, generate};
pub use limit::{Full, Limit, Meter, Rates};
pub use present::Carrier;

/// A client key with its rights, as the configuration defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The client's name
    pub name: String,
    /// The hash of its key
    pub hash: KeyHash,
    /// The tenant; the client's name by default
    pub tenant: String,
    /// The models that it may use
    pub models: Allow,
    /// The tools that the gateway may run for it
    pub tools: Allow,
    /// The tools whose calls it may approve
    pub approve: Allow,
    /// Limits on requests and tokens
    pub rates: Rates,
}

/// The clients of a gateway, by the hashes of their keys.
#[derive(Debug)]
pub struct Keys {
    clients: HashMap<KeyHash, Arc<Client>>,
    everybody: Arc<Client>,
}

/// The authenticated client, and where its key was found.
#[derive(Debug, Clone)]
pub struct AuthenticatedClient {
    /// The client
    pub client: Arc<Client>,
    /// Where the key was found, so that it is not forwarded as a credential; `None` if no key is
    /// required
    pub carrier: Option<Carrier>,
    /// The key, if one is required
    key: Option<SecretString>,
}

/// Minimum length, in bytes, of a key that is masked in bodies. A shorter one may be an ordinary
/// word.
const MIN_MASKED_KEY: usize = 20;

impl AuthenticatedClient {
    /// Whether a body contains the key, which must not leave the gateway.
    pub fn is_in(&self, body: &[u8]) -> bool {
        let is_in = |key: &str| memchr::memmem::find(body, key.as_bytes()).is_some();
        self.masked_key().is_some_and(is_in)
    }

    /// Replaces the key in a body by `***`.
    pub fn mask(&self, body: &[u8]) -> Bytes {
        let text = String::from_utf8_lossy(body);
        Bytes::from(text.replace(self.masked_key().unwrap_or_default(), "***"))
    }

    fn masked_key(&self) -> Option<&str> {
        let key = self.key.as_ref()?.expose().as_str();
        (key.len() >= MIN_MASKED_KEY).then_some(key)
    }
}

impl Keys {
    /// Creates the clients of a configuration. Without any, every request is from [`Client::open`].
    pub fn new(keys: &[Key]) -> Keys {
        Keys::of(keys, Client::new)
    }

    /// Creates the clients of another configuration. A client with the same name keeps its used
    /// rates. Streams of a client whose key is gone end.
    #[must_use]
    pub fn renew(&self, keys: &[Key], now: Instant) -> Keys {
        let before: HashMap<&str, &Client> =
            self.clients.values().map(|client| (client.name(), &**client)).collect();
        let mut keys = Keys::of(keys, |key| match before.get(key.name.as_str()) {
            Some(before) => before.renew(key, now, self.clients.contains_key(&key.hash)),
            None => Client::new(key),
        });
        if self.is_open() && keys.is_open() {
            keys.everybody = Arc::clone(&self.everybody);
        } else if self.is_open() {
            self.everybody.remove();
        }
        for (hash, client) in &self.clients {
            if keys.clients.get(hash).is_none_or(|new| new.caller() != client.caller()) {
                client.remove();
            }
        }
        keys
    }

    fn of(keys: &[Key], client: impl Fn(&Key) -> Client) -> Keys {
        let clients = keys.iter().map(|key| (key.hash, Arc::new(client(key)))).collect();
        Keys { clients, everybody: Arc::new(Client::open()) }
    }

    /// Returns the client that a caller is, if its key still exists.
    pub fn of_caller(&self, caller: &Caller) -> Option<Arc<Client>> {
        self.named(&caller.id).filter(|client| client.caller() == *caller)
    }

    /// Returns the client of a name.
    pub fn named(&self, name: &str) -> Option<Arc<Client>> {
        let everybody = self.is_open().then_some(&self.everybody);
        let mut clients = self.clients.values().chain(everybody);
        clients.find(|client| client.name() == name).cloned()
    }

    /// Whether no key is required.
    pub fn is_open(&self) -> bool {
        self.clients.is_empty()
    }

    /// Removes every header that contains a key of this gateway, of any client: none is for a
    /// vendor.
    pub fn strip(&self, headers: &mut HeaderMap) {
        if self.is_open() {
            return;
        }
        let holds = |value: &HeaderValue| self.holds(&String::from_utf8_lossy(value.as_bytes()));
        let named = headers.iter().filter(|(_, value)| holds(value)).map(|(name, _)| name.clone());
        for name in named.collect::<Vec<_>>() {
            headers.remove(name);
        }
    }

    /// Whether a text is a key of this gateway, or contains one as a word.
    pub fn holds(&self, text: &str) -> bool {
        let is_key = |word: &str| !word.is_empty() && self.clients.contains_key(&KeyHash::of(word));
        let is_end = |own: char| !own.is_ascii_alphanumeric() && !"-_.~+".contains(own);
        is_key(text.trim()) || text.split(is_end).any(is_key)
    }

    /// Authenticates a request.
    pub fn authenticate(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
    ) -> Result<AuthenticatedClient, Fault> {
        if self.is_open() {
            return Ok(AuthenticatedClient {
                client: Arc::clone(&self.everybody),
                carrier: None,
                key: None,
            });
        }
        let presented = present::presented(headers, uri);
        let found = presented.iter().find_map(|(carrier, key)| {
            let client = self.clients.get(&KeyHash::of(key))?;
            let (carrier, key) = (Some(*carrier), Some(SecretString::from(*key)));
            Some(AuthenticatedClient { client: Arc::clone(client), carrier, key })
        });
        found.ok_or_else(|| refusal(&presented))
    }
}

/// Returns the fault for a missing or unknown key.
fn refusal(presented: &[(Carrier, &str)]) -> Fault {
    let signed = presented.iter().any(|(carrier, _)| *carrier == Carrier::AccessKey);
    let message = if presented.is_empty() {
        "No API key was sent. Send a key of this gateway as `Authorization: Bearer`, `x-api-key`, \
         `x-goog-api-key`, `?key=` or `toolwright-key`."
    } else if signed {
        "The AWS access key id is not a key of this gateway. The gateway does not check AWS \
         signatures: use its key as the access key id, with any secret; or as a bearer token \
         (AWS_BEARER_TOKEN_BEDROCK); or in the header `toolwright-key`."
    } else {
        "The API key is not a key of this gateway."
    };
    Fault::new(FaultClass::Unauthenticated, message)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    pub(super) fn key(name: &str, secret: &str) -> Key {
        Key {
            name: name.to_owned(),
            hash: KeyHash::of(secret),
            tenant: name.to_owned(),
            models: Allow::Only(vec![Pattern::new("fast"), Pattern::new("openai/*")]),
            approve: Allow::NONE,
            tools: Allow::Only(vec![Pattern::new("read_*")]),
            rates: Rates { requests_per_minute: NonZeroU64::new(2), ..Rates::default() },
        }
    }

    fn authenticate(
        keys: &Keys,
        headers: &[(&'static str, &str)],
        uri: &str,
    ) -> Result<AuthenticatedClient, Fault> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        keys.authenticate(&map, &uri.parse().unwrap())
    }

    const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=tw-1/20261115/us-east-1/bedrock/aws4_request, \
        SignedHeaders=content-type;host;x-amz-date, Signature=00";

    #[test]
    fn a_key_is_found_wherever_an_sdk_puts_it() {
        let keys = Keys::new(&[key("alice", "tw-1"), key("bob", "tw-2")]);
        for (headers, uri, carrier) in [
            (&[("authorization", "Bearer tw-1")][..], "/", Carrier::Bearer),
            (&[("authorization", "bearer  tw-1 ")], "/", Carrier::Bearer),
            (&[("x-api-key", "tw-1")], "/", Carrier::ApiKey),
            (&[("x-goog-api-key", "tw-1")], "/", Carrier::GoogApiKey),
            (&[], "/v1beta/models/m:generateContent?alt=sse&key=tw-1", Carrier::Query),
            (&[("authorization", SIGNED)], "/", Carrier::AccessKey),
            (&[("toolwright-key", "tw-1")], "/", Carrier::Own),
            (&[("toolwright-key", "tw-1"), ("x-api-key", "vendor")], "/", Carrier::Own),
            (&[("authorization", "Bearer vendor"), ("x-api-key", "tw-1")], "/", Carrier::ApiKey),
        ] {
            let authenticated = authenticate(&keys, headers, uri).unwrap();
            assert_eq!(
                (authenticated.client.name(), authenticated.carrier),
                ("alice", Some(carrier))
            );
        }
    }

    #[test]
    fn a_header_with_a_key_of_anybody_is_stripped() {
        let keys = Keys::new(&[key("alice", "tw-1"), key("bob", "tw-2")]);
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("toolwright-key", "tw-1"),
            ("authorization", "Bearer  tw-2"),
            ("x-api-key", "tw-2"),
            ("api-key", "tw-1"),
            ("user-agent", "agent/1.0 (key=tw-1)"),
            ("openai-project", "tw-11"),
            ("x-goog-api-key", "vendor's"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        headers.append("x-api-key", "another".parse().unwrap());
        headers.insert("idempotency-key", SIGNED.parse().unwrap());
        keys.strip(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(http::HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["openai-project", "x-goog-api-key"]);
    }

    #[test]
    fn whoever_has_no_key_is_told_how_to_send_one() {
        let keys = Keys::new(&[key("alice", "tw-1")]);
        let other = SIGNED.replace("tw-1", "AKIAEXAMPLE");
        for (headers, uri, words) in [
            (&[][..], "/", "No API key was sent"),
            (&[("authorization", "Bearer ")], "/", "No API key was sent"),
            (&[("authorization", "Basic dHctMQ==")], "/", "No API key was sent"),
            (&[("authorization", "Bearer tw-3")], "/", "not a key of this gateway"),
            (&[("authorization", "tw-1")], "/", "No API key was sent"),
            (&[("x-api-key", "tw-")], "/?key=tw-12", "not a key of this gateway"),
            (&[("authorization", &other)], "/", "as the access key id"),
            (&[("toolwright-key", "no"), ("x-api-key", "tw-1")], "/", "not a key"),
        ] {
            let fault = authenticate(&keys, headers, uri).unwrap_err();
            assert_eq!(fault.class, FaultClass::Unauthenticated);
            assert!(fault.message.contains(words), "{headers:?}: {}", fault.message);
            assert!(!fault.message.contains("tw-"), "{}", fault.message);
        }
    }

    #[test]
    fn without_keys_everybody_may_do_everything() {
        let authenticated =
            authenticate(&Keys::new(&[]), &[("authorization", "Bearer x")], "/").unwrap();
        assert_eq!((authenticated.client.name(), authenticated.carrier), ("open", None));
        assert!(
            authenticated.client.may_use("any", "openai/any")
                && authenticated.client.may_call("write_file")
        );
        let now = Instant::now();
        authenticated.client.reserve(u64::MAX, now).unwrap().charge(u64::MAX, now);
        assert!((0..1000).all(|_| authenticated.client.admit(now).is_ok()));
    }

    #[test]
    fn a_client_uses_what_its_key_allows() {
        let keys = Keys::new(&[key("alice", "tw-1")]);
        let client = authenticate(&keys, &[("x-api-key", "tw-1")], "/").unwrap().client;
        assert!(client.may_use("fast", "claude/claude-haiku-5"), "by alias, wherever it leads");
        assert!(client.may_use("gpt-4o", "openai/gpt-4o"), "by where it leads");
        assert!(!client.may_use("claude-haiku-5", "claude/claude-haiku-5"));
        assert!(client.may_call("read_csv") && !client.may_call("write_file"));
        let fault = client.forbidden("claude-haiku-5");
        assert_eq!(fault.class, FaultClass::Forbidden);
        assert!(fault.message.contains("`alice`") && fault.message.contains("claude-haiku-5"));
    }

    #[test]
    fn what_was_used_stays_used_after_a_reload() {
        let now = Instant::now();
        let before = Keys::new(&[key("alice", "tw-1"), key("bob", "tw-2")]);
        let of =
            |keys: &Keys, secret| authenticate(keys, &[("x-api-key", secret)], "/").unwrap().client;
        let old = of(&before, "tw-1");
        assert!(old.admit(now).is_ok());
        let after = before.renew(&[key("alice", "tw-3"), key("carol", "tw-4")], now);
        let (alice, carol) = (of(&after, "tw-3"), of(&after, "tw-4"));
        assert!(old.admit(now).is_ok(), "a request under way counts against the same meter");
        let fault = alice.admit(now).unwrap_err();
        assert_eq!(fault.class, FaultClass::RateLimited);
        assert_eq!(fault.retry_after_ms, Some(30_001));
        assert!(fault.message.contains("2 requests per minute"), "{}", fault.message);
        assert!(carol.admit(now).is_ok());
        assert!(
            authenticate(&after, &[("x-api-key", "tw-1")], "/").is_err(),
            "the old key is gone"
        );
    }
}
