//! What a server announces: changes of its lists, and updates of the resources that are observed.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list` and `resources/templates/list`
    Resources,
}

/// Updates of one resource. Ends the observation when it is dropped.
pub struct ResourceUpdates {
    updates: watch::Receiver<u64>,
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl ResourceUpdates {
    /// Creates updates that a host announces by the sender of the channel.
    pub fn new(updates: watch::Receiver<u64>) -> ResourceUpdates {
        ResourceUpdates { updates, _guard: None }
    }

    /// Waits for an update; several ones count as one. Returns `None` if there will be no more.
    pub async fn next(&mut self) -> Option<()> {
        self.updates.changed().await.ok()
    }
}

/// The changes of one server. They outlive its connections.
#[derive(Default)]
pub(super) struct Changes {
    /// Counts changes of the lists, by their kind
    lists: [watch::Sender<u64>; 3],
    observed: Mutex<HashMap<String, Observed>>,
    /// Counts changes of the observed resources, and of what the server knows of them
    observing: watch::Sender<u64>,
}

/// A resource that is observed.
struct Observed {
    updates: watch::Sender<u64>,
    observers: usize,
    state: Subscription,
}

/// Whether the server knows that a resource is observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subscription {
    /// It is not known yet
    Requested,
    /// The server sends updates
    Active,
    /// The server does not, for this reason
    Refused(String),
}

impl Changes {
    pub(super) fn of(&self, kind: ListKind) -> &watch::Sender<u64> {
        &self.lists[kind as usize]
    }

    /// Reports that a list may have changed.
    pub(super) fn list_changed(&self, kind: ListKind) {
        increment(self.of(kind));
    }

    /// Reports that every list may have changed, and every resource.
    pub(super) fn all_changed(&self) {
        for list in &self.lists {
            increment(list);
        }
        for observed in self.observed.lock().values() {
            increment(&observed.updates);
        }
    }

    /// Reports an update of a resource, or of one below it.
    pub(super) fn updated(&self, uri: &str) {
        let observed = self.observed.lock();
        if let Some(observed) = observed.get(uri) {
            return increment(&observed.updates);
        }
        for (_, above) in observed.iter().filter(|(above, _)| uri.starts_with(above.as_str())) {
            increment(&above.updates);
        }
    }

    /// Observes a resource.
    pub(super) fn observe(self: &Arc<Changes>, uri: &str) -> ResourceUpdates {
        let mut observed = self.observed.lock();
        let entry = observed.entry(uri.to_owned()).or_insert_with(|| Observed {
            updates: watch::Sender::new(0),
            observers: 0,
            state: Subscription::Requested,
        });
        entry.observers += 1;
        let updates = entry.updates.subscribe();
        drop(observed);
        increment(&self.observing);
        let guard = Observer { changes: Arc::downgrade(self), uri: uri.to_owned() };
        ResourceUpdates { updates, _guard: Some(Box::new(guard)) }
    }

    /// The resources that are observed, sorted.
    pub(super) fn observed(&self) -> Vec<String> {
        let mut uris: Vec<String> = self.observed.lock().keys().cloned().collect();
        uris.sort();
        uris
    }

    /// Whether the server knows that a resource is observed; `None` if it is not observed.
    pub(super) fn state(&self, uri: &str) -> Option<Subscription> {
        self.observed.lock().get(uri).map(|observed| observed.state.clone())
    }

    pub(super) fn set_state(&self, uri: &str, state: Subscription) {
        if let Some(observed) = self.observed.lock().get_mut(uri) {
            observed.state = state;
        }
        increment(&self.observing);
    }

    /// Changes with the observed resources and their states.
    pub(super) fn observing(&self) -> watch::Receiver<u64> {
        self.observing.subscribe()
    }
}

fn increment(count: &watch::Sender<u64>) {
    count.send_modify(|count| *count = count.wrapping_add(1));
}

/// One of those who observe a resource.
struct Observer {
    changes: std::sync::Weak<Changes>,
    uri: String,
}

impl Drop for Observer {
    fn drop(&mut self) {
        let Some(changes) = self.changes.upgrade() else { return };
        let mut observed = changes.observed.lock();
        let Some(entry) = observed.get_mut(&self.uri) else { return };
        entry.observers -= 1;
        if entry.observers == 0 {
            observed.remove(&self.uri);
            drop(observed);
            increment(&changes.observing);
        }
    }
}
