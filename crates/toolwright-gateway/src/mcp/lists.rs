//! The last good lists of prompts and resources of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use toolwright_core::Json;
use toolwright_mcp::{Client, ClientError, ListKind};

/// How long a list is used before it is fetched again, if the server announces no change.
const FRESH: Duration = Duration::from_mins(1);

/// How long a request waits for the list of a server.
const LIST_DEADLINE: Duration = Duration::from_secs(5);

/// The last good lists of a server.
#[derive(Default)]
pub(super) struct Lists([Arc<List>; 3]);

impl Lists {
    /// Returns the entries of a listing, fetched if need be. A server that fails or takes too long keeps the last ones.
    pub(super) async fn entries(&self, client: &Client, listing: Listing) -> Arc<Vec<Json>> {
        self.0[listing as usize].entries(client, listing).await
    }
}

#[derive(Default)]
struct List {
    state: Mutex<ListState>,
    fetching: tokio::sync::Mutex<()>,
    /// Whether a request has waited for the server in vain
    is_slow: AtomicBool,
}

#[derive(Default)]
struct ListState {
    entries: Arc<Vec<Json>>,
    fetched: Option<Instant>,
    /// The number of changes that the list contains
    changes: u64,
}

/// A listing of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Prompts,
    Resources,
    Templates,
}

impl Listing {
    /// The member of a result that has the entries, and the member of an entry that names it.
    pub(super) fn members(self) -> (&'static str, &'static str) {
        match self {
            Listing::Prompts => ("prompts", "name"),
            Listing::Resources => ("resources", "uri"),
            Listing::Templates => ("resourceTemplates", "uriTemplate"),
        }
    }

    async fn fetch(self, client: &Client) -> Result<Vec<Json>, ClientError> {
        match self {
            Listing::Prompts => client.list_prompts().await,
            Listing::Resources => client.list_resources().await,
            Listing::Templates => client.list_resource_templates().await,
        }
    }
}

impl List {
    async fn entries(self: &Arc<List>, client: &Client, listing: Listing) -> Arc<Vec<Json>> {
        let kind =
            if listing == Listing::Prompts { ListKind::Prompts } else { ListKind::Resources };
        let changes = *client.changes(kind).borrow();
        if !self.is_fresh(changes) && !self.is_slow.load(Ordering::Relaxed) {
            let (list, client) = (self.clone(), client.clone());
            // A fetch goes on if the request that waits for it ends.
            let fetching = tokio::spawn(async move { list.fetch(&client, listing, changes).await });
            if timeout(LIST_DEADLINE, fetching).await.is_err() {
                self.is_slow.store(true, Ordering::Relaxed);
            }
        }
        self.state.lock().entries.clone()
    }

    async fn fetch(&self, client: &Client, listing: Listing, changes: u64) {
        let _guard = self.fetching.lock().await;
        if !self.is_fresh(changes) {
            let fetched = listing.fetch(client).await;
            let mut state = self.state.lock();
            match fetched {
                Ok(entries) => {
                    state.entries = Arc::new(entries);
                    state.fetched = Some(Instant::now());
                    state.changes = changes;
                }
                Err(error) => {
                    let (server, error) = (client.name(), error.operator_text());
                    tracing::debug!(
                        "the MCP server `{server}` cannot list its {}: {error}",
                        listing.members().0
                    );
                }
            }
        }
        self.is_slow.store(false, Ordering::Relaxed);
    }

    fn is_fresh(&self, changes: u64) -> bool {
        let state = self.state.lock();
        state.changes == changes && state.fetched.is_some_and(|at| at.elapsed() < FRESH)
    }
}
