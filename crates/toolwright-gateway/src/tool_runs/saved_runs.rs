//! Saves runs as they progress, so that a retry resumes or replays them, and does not ask the model
//! again for calls that were made.
//!
//! A request that may be retried claims its [`Identity`]. Another attempt waits until the claim is
//! released, and finds the saved run. A journal records which calls were started and not finished
//! when the process was killed.
//!
//! A run that has finished is saved for a while as well, by its id, so that a plan can be made of it.

mod record;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use toolwright_core::document::DocumentError;
use toolwright_core::{Fault, FaultClass, Json};
use toolwright_runtime::Caller;
use toolwright_runtime::store::StoreError;
use toolwright_runtime::store::expiring::{Entry, ExpiringStore, Limits, Outcome, Scope};

pub use record::Record;

use super::identity::{Attempt, Identity};
use crate::conversation::ConversationId;
use crate::http::Share;
use crate::proxy::inbound::InboundRequest;
use crate::proxy::weight::weight;
use crate::{approvals, idempotency};

/// The kind of the entries in the store.
const KIND: &str = "run";

/// The kind of the entries for runs that wait for approval.
const WAITING: &str = "waiting-run";

/// How long a run that waits for approval is saved: longer than the approval can be answered.
const WAITING_AGE: Duration = approvals::LIFETIME.saturating_mul(2);

/// Maximum size of the saved runs of one client, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Maximum number of saved runs of one client.
const MAX_RUNS: usize = 10_000;

/// The kind of the entries for runs that have finished.
const FINISHED: &str = "finished-run";

/// Limits of the finished runs of one client.
const FINISHED_LIMITS: Limits =
    Limits { lifetime: Duration::from_hours(24), bytes: 32 << 20, entries: 1_000 };

/// The saved runs of all clients, separate for each client.
pub struct SavedRuns {
    store: Arc<ExpiringStore>,
    /// Locks of runs by client and name, as long as a request holds or awaits them
    locks: Mutex<Locks>,
}

type Lock = tokio::sync::Mutex<()>;

type Locks = HashMap<(Arc<str>, String), Arc<Lock>>;

/// The exclusive right to run a request. Released on drop.
pub struct Claim {
    /// The run of an earlier attempt
    pub found: Option<Record>,
    _share: Share,
    // Released before the place, which counts the waiting attempts.
    _guard: OwnedMutexGuard<()>,
    place: LockPlace,
    scope: Scope,
    identity: Identity,
}

/// The exclusive right to continue the run of a conversation that waits for approval. Released on drop.
pub struct WaitingClaim {
    /// The run that waits
    pub found: Option<Record>,
    _share: Share,
    // Released before the place, which counts the waiting requests.
    _guard: OwnedMutexGuard<()>,
    _place: LockPlace,
}

/// A lock in the table, removed with its last user.
struct LockPlace {
    runs: Arc<SavedRuns>,
    key: (Arc<str>, String),
    lock: Arc<Lock>,
}

impl SavedRuns {
    /// Creates the saved runs in a store.
    pub fn new(store: Arc<ExpiringStore>) -> SavedRuns {
        SavedRuns { store, locks: Mutex::default() }
    }

    /// Claims a request, if it may be retried. Waits while another attempt has the claim. The share
    /// reserves memory for the saved run.
    pub async fn claim(
        self: &Arc<SavedRuns>,
        inbound: &InboundRequest,
        mut share: Share,
    ) -> Result<Option<Claim>, Fault> {
        let Some(identity) = Identity::of(inbound)? else { return Ok(None) };
        let scope = Scope { owner: inbound.client.name().into(), kind: KIND };
        let place = self.place(&scope, identity.name.clone(), identity.attempt);
        let guard = Arc::clone(&place.lock).lock_owned().await;
        let found = self.find(&scope, &identity, &mut share).await?;
        Ok(Some(Claim { found, _share: share, _guard: guard, place, scope, identity }))
    }

    /// Joins those who wait for a run. A first attempt does not wait.
    fn place(self: &Arc<SavedRuns>, scope: &Scope, name: String, attempt: Attempt) -> LockPlace {
        let key = (Arc::clone(&scope.owner), name);
        let mut locks = self.locks.lock();
        if attempt == Attempt::First {
            locks.insert(key.clone(), Arc::default());
        }
        let lock = Arc::clone(locks.entry(key.clone()).or_default());
        LockPlace { runs: Arc::clone(self), key, lock }
    }

    /// Returns the run of an earlier attempt. A first attempt removes it.
    async fn find(
        &self,
        scope: &Scope,
        identity: &Identity,
        share: &mut Share,
    ) -> Result<Option<Record>, Fault> {
        let Identity { name, digest, .. } = identity;
        if identity.attempt == Attempt::First {
            let removed = self.store.remove(scope, name).await;
            return removed.map(|_| None).map_err(|error| unavailable(&error));
        }
        let value = self.store.get(scope, name).await.map_err(|error| unavailable(&error))?;
        let Some(value) = value else { return Ok(None) };
        let record = read(&value, share).await?;
        if record.digest == *digest { Ok(Some(record)) } else { Err(idempotency::reused()) }
    }

    /// Claims the run of a conversation that waits for approval, if there is one. Waits while another
    /// request continues it. The share reserves memory for the run.
    pub async fn claim_waiting(
        self: &Arc<SavedRuns>,
        caller: &Caller,
        conversation: &ConversationId,
        mut share: Share,
    ) -> Result<Option<WaitingClaim>, Fault> {
        let (scope, name) = waiting(caller, conversation);
        let place = self.place(&scope, format!("waiting {name}"), Attempt::Any);
        let guard = Arc::clone(&place.lock).lock_owned().await;
        let value = self.store.peek(&scope, &name).await;
        let Some(value) = value.map_err(|error| unavailable(&error))? else { return Ok(None) };
        let found = Some(read(&value, &mut share).await?);
        Ok(Some(WaitingClaim { found, _share: share, _guard: guard, _place: place }))
    }

    /// Saves the run of a conversation that waits for approval.
    pub async fn save_waiting(
        &self,
        caller: &Caller,
        conversation: &ConversationId,
        record: Record,
    ) -> Result<(), Fault> {
        let (scope, name) = waiting(caller, conversation);
        self.commit(&scope, name, record, WAITING_AGE).await
    }

    /// Saves a run, and returns when it survives a kill of the process.
    async fn commit(
        &self,
        scope: &Scope,
        name: String,
        record: Record,
        lifetime: Duration,
    ) -> Result<(), Fault> {
        let limits = Limits { lifetime, bytes: MAX_BYTES, entries: MAX_RUNS };
        let entry = Entry { name, aliases: Vec::new(), value: record.write() };
        match self.store.commit(scope, entry, limits).await {
            Ok(Outcome::Stored) => Ok(()),
            Ok(Outcome::TooLarge) => Err(too_large()),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Removes the run of a conversation, which has ended.
    pub async fn remove_waiting(&self, caller: &Caller, conversation: &ConversationId) {
        let (scope, name) = waiting(caller, conversation);
        if let Err(error) = self.store.remove(&scope, &name).await {
            tracing::warn!("a run that has ended cannot be removed: {error}");
        }
    }

    /// Saves a run that has finished, so that other processes find it. One that is too large is not saved.
    pub async fn save_finished(&self, caller: &Caller, id: &str, run: &Json) {
        let scope = Scope { owner: Arc::clone(&caller.id), kind: FINISHED };
        let value = run.compact().into_bytes();
        let entry = Entry { name: id.to_owned(), aliases: Vec::new(), value };
        if let Err(error) = self.store.commit(&scope, entry, FINISHED_LIMITS).await {
            tracing::warn!("a finished run cannot be saved: {error}");
        }
    }

    /// Finds a finished run of a client. A client that moved to another tenant does not see its earlier runs.
    pub async fn find_finished(&self, caller: &Caller, id: &str) -> Result<Option<Json>, Fault> {
        let scope = Scope { owner: Arc::clone(&caller.id), kind: FINISHED };
        let value = self.store.peek(&scope, id).await.map_err(|error| unavailable(&error))?;
        let run = value.and_then(|value| Json::parse_bytes(&value).ok());
        let tenant = |run: &Json| {
            run.pointer("/caller/tenant").and_then(Json::as_str) == Some(&*caller.tenant)
        };
        Ok(run.filter(tenant))
    }
}

/// Finds a finished run of any client in a store.
pub async fn find_in(store: &ExpiringStore, id: &str) -> Result<Option<Json>, StoreError> {
    let runs = store.recent(FINISHED, usize::MAX).await?;
    let mut runs = runs.iter().rev().filter_map(|(_, value)| Json::parse_bytes(value).ok());
    Ok(runs.find(|run| run.get("id").and_then(Json::as_str) == Some(id)))
}

impl Drop for LockPlace {
    fn drop(&mut self) {
        let mut locks = self.runs.locks.lock();
        let is_own = locks.get(&self.key).is_some_and(|lock| Arc::ptr_eq(lock, &self.lock));
        // The table and this value have one reference each; any further one is another attempt.
        if is_own && Arc::strong_count(&self.lock) <= 2 {
            locks.remove(&self.key);
        }
    }
}

impl Claim {
    /// Returns the hash of the request.
    pub fn digest(&self) -> &str {
        &self.identity.digest
    }

    /// Saves the run so far, and returns when it survives a kill of the process.
    pub async fn save(&self, record: Record) -> Result<(), Fault> {
        let Claim { scope, identity: Identity { name, window, .. }, place, .. } = self;
        place.runs.commit(scope, name.clone(), record, *window).await
    }
}

/// Reads a saved run, for which the share reserves memory.
async fn read(value: &[u8], share: &mut Share) -> Result<Record, Fault> {
    share.resize(weight(value)).await?;
    Record::read(value).map_err(|error| unreadable(&error))
}

/// Returns the scope and name of the run of a conversation that waits for approval. A client that moved to
/// another tenant does not continue its earlier runs.
fn waiting(caller: &Caller, conversation: &ConversationId) -> (Scope, String) {
    let scope = Scope { owner: Arc::clone(&caller.id), kind: WAITING };
    (scope, format!("{conversation} {}", caller.tenant))
}

fn too_large() -> Fault {
    let message = format!(
        "The gateway saves what it does for a request that may be retried, and this conversation \
         is longer than {MAX_BYTES} bytes. No further tool was run."
    );
    Fault::new(FaultClass::TooLarge, message)
}

fn unreadable(error: &DocumentError) -> Fault {
    tracing::warn!("a saved run cannot be read: {error}");
    let message = "What the gateway did for an earlier attempt at this request was saved in a form \
                   that this version does not read. Nothing was run again.";
    Fault::new(FaultClass::Internal, message)
}

fn unavailable(error: &StoreError) -> Fault {
    tracing::warn!("saved runs cannot be read or written: {error}");
    let message = "The gateway cannot save what it does for this request now; its log says why. No \
                   further tool was run.";
    Fault::new(FaultClass::Internal, message)
}
