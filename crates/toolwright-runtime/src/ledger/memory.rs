//! A ledger in memory, for the lifetime of the process.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::admit::Data;
use super::chain::{Broken, Follower, Head, Verified};
use super::query::{Order, Query};
use super::{Entry, Ledger, Recorded};

/// A ledger in memory. Clones share it.
///
/// It has the last 10 000 entries by default; older ones are dropped and counted. The chain
/// continues over dropped entries.
#[must_use]
#[derive(Debug, Clone)]
pub struct MemoryLedger {
    state: Arc<Mutex<State>>,
    data: Data,
    limit: usize,
}

#[derive(Debug)]
struct State {
    entries: VecDeque<Recorded>,
    /// The head before the first entry
    start: Head,
    head: Head,
}

/// Default maximum number of entries.
const LIMIT: usize = 10_000;

impl MemoryLedger {
    /// Creates an empty ledger that records no data.
    pub fn new() -> MemoryLedger {
        let (start, head) = (Head::start(), Head::start());
        let state = State { entries: VecDeque::new(), start, head };
        MemoryLedger { state: Arc::new(Mutex::new(state)), data: Data::Off, limit: LIMIT }
    }

    /// Records arguments and outcomes, with secrets redacted.
    pub fn with_data(mut self) -> MemoryLedger {
        self.data = Data::On;
        self
    }

    /// Sets the maximum number of entries.
    pub fn with_limit(mut self, entries: usize) -> MemoryLedger {
        self.limit = entries;
        self
    }

    /// Returns the number of dropped entries.
    pub fn dropped(&self) -> u64 {
        self.state.lock().start.sequence
    }

    /// Returns the end of the chain.
    pub fn head(&self) -> Head {
        self.state.lock().head
    }

    /// Returns the entries that match a query.
    pub fn entries(&self, query: &Query) -> Vec<Recorded> {
        let state = self.state.lock();
        let wanted = |each: &&Recorded| query.wants(each.sequence, &each.entry);
        let entries = state.entries.iter().filter(wanted);
        match query.order {
            Order::OldestFirst => entries.take(query.limit).cloned().collect(),
            Order::NewestFirst => entries.rev().take(query.limit).cloned().collect(),
        }
    }

    /// Verifies the chain over the stored entries.
    pub fn verify(&self) -> Result<Verified, Broken> {
        let state = self.state.lock();
        let mut chain = Follower::new(state.start, None);
        for Recorded { sequence, link, entry, .. } in &state.entries {
            chain.follow(Head { sequence: *sequence, link: *link }, &entry.text())?;
        }
        chain.finish(state.head)
    }
}

impl Default for MemoryLedger {
    fn default() -> MemoryLedger {
        MemoryLedger::new()
    }
}

impl Ledger for MemoryLedger {
    fn record(&self, entry: Entry) {
        let entry = self.data.admit(entry);
        let text = entry.text();
        let mut state = self.state.lock();
        state.head = state.head.next(&text);
        let Head { sequence, link } = state.head;
        state.entries.push_back(Recorded { sequence, link, data_digest: None, entry });
        while state.entries.len() > self.limit {
            let Some(oldest) = state.entries.pop_front() else { break };
            state.start = Head { sequence: oldest.sequence, link: oldest.link };
        }
    }

    fn wants_data(&self) -> bool {
        self.data == Data::On
    }
}
