//! A client: its identity, permissions and used rates.

use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use toolwright_core::{Fault, FaultClass};
use toolwright_plan::{CallRate, PlanRate};
use toolwright_runtime::Caller;

use super::Key;
use super::allow::Allow;
use super::limit::{Full, Limit, Meter, Rates};

/// A client of the gateway.
#[derive(Debug, Clone)]
pub struct Client {
    name: Arc<str>,
    tenant: Arc<str>,
    models: Allow,
    tools: Allow,
    approve: Allow,
    meter: Arc<Meter>,
    /// Cancelled when its key is removed
    removed: CancellationToken,
}

/// The removal of a key: the fault that its streams end with.
pub type Removal = Pin<Box<dyn Future<Output = Fault> + Send + Sync>>;

/// Number of calls that the plans of a client may make in a minute, unless its key says otherwise.
pub const DEFAULT_CALLS: u64 = 600;

/// The name and tenant of clients without keys.
const EVERYBODY: &str = "open";

impl Client {
    /// The client of all requests if no keys are configured: all models, all tools, all
    /// approvals, no limit but that of the calls of plans.
    pub fn open() -> Client {
        Client {
            name: EVERYBODY.into(),
            tenant: EVERYBODY.into(),
            models: Allow::All,
            tools: Allow::All,
            approve: Allow::All,
            meter: Arc::new(Meter::new(Rates {
                calls_per_minute: NonZeroU64::new(DEFAULT_CALLS),
                ..Rates::default()
            })),
            removed: CancellationToken::new(),
        }
    }

    /// Creates the client of a key.
    pub fn new(key: &Key) -> Client {
        Client {
            name: key.name.as_str().into(),
            tenant: key.tenant.as_str().into(),
            models: key.models.clone(),
            tools: key.tools.clone(),
            approve: key.approve.clone(),
            meter: Arc::new(Meter::new(key.rates)),
            removed: CancellationToken::new(),
        }
    }

    /// Creates the client of another configuration, with its used rates. Requests in flight still
    /// count against it, and their streams go on if it has the same key.
    pub(super) fn renew(&self, key: &Key, now: Instant, has_same_key: bool) -> Client {
        self.meter.set(key.rates, now);
        let new = Client::new(key);
        let removed = if has_same_key { self.removed.clone() } else { new.removed.clone() };
        Client { meter: Arc::clone(&self.meter), removed, ..new }
    }

    /// Ends what depends on its key.
    pub(super) fn remove(&self) {
        self.removed.cancel();
    }

    /// Waits until its key is removed.
    pub fn removed(&self) -> WaitForCancellationFutureOwned {
        self.removed.clone().cancelled_owned()
    }

    /// Waits until its key is removed, and returns the fault that its streams end with.
    pub fn removal(&self) -> Removal {
        let message = format!("The key `{}` was removed from the gateway.", self.name);
        Box::pin(self.removed().map(|()| Fault::new(FaultClass::Forbidden, message)))
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns it as a caller of tools.
    pub fn caller(&self) -> Caller {
        Caller { id: Arc::clone(&self.name), tenant: Arc::clone(&self.tenant) }
    }

    /// Whether it may use a model: by the requested name, which may be an alias, or by the
    /// `upstream/model` that the name resolves to.
    pub fn may_use(&self, said: &str, target: &str) -> bool {
        self.models.has(said) || self.models.has(target)
    }

    /// Whether its models are restricted.
    pub fn has_allowed_models(&self) -> bool {
        self.models != Allow::All
    }

    /// Whether the gateway may run a tool for it.
    pub fn may_call(&self, tool: &str) -> bool {
        self.tools.has(tool)
    }

    /// Whether the client may use a prompt or a resource of an MCP server, by its name or URI with the prefix of the
    /// server. A `*` of the key's `tools` matches `/`, too.
    pub fn may_read(&self, name: &str) -> bool {
        self.tools.has_path(name)
    }

    /// Whether it may answer approvals of calls of a tool.
    pub fn may_approve(&self, tool: &str) -> bool {
        self.approve.has(tool)
    }

    /// Returns the fault for a model that it may not use.
    pub fn forbidden(&self, said: &str) -> Fault {
        let message = format!(
            "The key `{}` may not use the model `{said}`. Ask for another model, or have the \
             operator add it to the key's `models`.",
            self.name
        );
        Fault::new(FaultClass::Forbidden, message)
    }

    /// Counts a request, if the rate allows it.
    pub fn admit(&self, now: Instant) -> Result<(), Fault> {
        self.try_admit(1, now).map_err(|full| self.limited(full))
    }

    /// Counts a number of requests, if the rate allows all of them. The error has the rate.
    pub fn try_admit(&self, count: u64, now: Instant) -> Result<(), Full> {
        self.meter.admit(count, now)
    }

    /// Returns the time until its plans may make another call.
    pub fn call_wait(&self) -> Duration {
        self.meter.call_wait(Instant::now())
    }

    /// Returns the rate of its calls of plans.
    pub fn call_rate(self: &Arc<Client>) -> PlanRate {
        PlanRate(Arc::clone(self) as Arc<dyn CallRate>)
    }

    /// Whether its tokens are limited.
    pub fn has_token_limit(&self) -> bool {
        self.meter.limits_tokens()
    }

    /// Reserves tokens for a request, if the rate allows it.
    pub fn reserve(&self, tokens: u64, now: Instant) -> Result<Reservation, Fault> {
        let tokens = self.meter.reserve(tokens, now).map_err(|full| self.limited(full))?;
        Ok(Reservation { meter: Arc::clone(&self.meter), tokens: Some(tokens) })
    }

    /// Returns the fault for a rate that it has used.
    pub fn limited(&self, full: Full) -> Fault {
        let (unit, rate) = match full.limit {
            Limit::Requests(rate) => ("requests", rate),
            Limit::Tokens(rate) => ("tokens", rate),
            Limit::Calls(rate) => ("calls of plans", rate),
        };
        let message = format!(
            "The key `{}` has used its {rate} {unit} per minute. Try again in {} s.",
            self.name,
            full.wait.as_millis().div_ceil(1000).max(1)
        );
        let wait = u64::try_from(full.wait.as_millis()).unwrap_or(u64::MAX);
        let retry_after_ms = Some(wait.saturating_add(1));
        Fault { retry_after_ms, ..Fault::new(FaultClass::RateLimited, message) }
    }
}

impl CallRate for Client {
    fn count(&self) -> Result<(), (Duration, String)> {
        self.meter.call(Instant::now()).map_err(|full| (full.wait, self.limited(full).message))
    }
}

/// Tokens reserved for a request until its usage is known. Released if dropped before.
#[derive(Debug)]
pub struct Reservation {
    meter: Arc<Meter>,
    /// The number of tokens; `None` once charged
    tokens: Option<u64>,
}

impl Reservation {
    /// Charges the tokens that the request used, in place of the reserved ones.
    pub fn charge(&mut self, used: u64, now: Instant) {
        if let Some(reserved) = self.tokens.take() {
            self.meter.charge(reserved, used, now);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.charge(0, Instant::now());
    }
}
