//! Queries of a ledger.

use std::time::SystemTime;

use super::{Entry, Kind};

/// A query: all entries that match, up to a limit.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The kind of entry
    pub kind: Option<Kind>,
    /// The run, or the request id
    pub run: Option<String>,
    /// The tool; only calls match
    pub tool: Option<String>,
    /// The caller
    pub caller: Option<String>,
    /// The tenant
    pub tenant: Option<String>,
    /// Only entries that began at this time or later
    pub since: Option<SystemTime>,
    /// Only entries that began before this time
    pub until: Option<SystemTime>,
    /// Whether the data of entries is read, if it is beside the chain
    pub with_data: bool,
    /// Only entries after this position in the order of the query, to continue an earlier query
    pub after: Option<u64>,
    /// The order
    pub order: Order,
    /// Maximum number of entries
    pub limit: usize,
}

/// The order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// In the order of recording
    #[default]
    OldestFirst,
    /// In the reverse order
    NewestFirst,
}

impl Query {
    /// Creates a query for the first 100 entries.
    pub fn new() -> Query {
        Query {
            kind: None,
            run: None,
            tool: None,
            caller: None,
            tenant: None,
            since: None,
            until: None,
            with_data: true,
            after: None,
            order: Order::OldestFirst,
            limit: 100,
        }
    }

    /// Restricts the query to a kind.
    pub fn with_kind(mut self, kind: Kind) -> Query {
        self.kind = Some(kind);
        self
    }

    /// Restricts the query to a run, or to the request with this id.
    pub fn with_run(mut self, run: impl Into<String>) -> Query {
        self.run = Some(run.into());
        self
    }

    /// Restricts the query to a tool.
    pub fn with_tool(mut self, tool: impl Into<String>) -> Query {
        self.tool = Some(tool.into());
        self
    }

    /// Restricts the query to a caller.
    pub fn with_caller(mut self, caller: impl Into<String>) -> Query {
        self.caller = Some(caller.into());
        self
    }

    /// Restricts the query to a tenant.
    pub fn with_tenant(mut self, tenant: impl Into<String>) -> Query {
        self.tenant = Some(tenant.into());
        self
    }

    /// Starts after a position.
    pub fn after(mut self, sequence: u64) -> Query {
        self.after = Some(sequence);
        self
    }

    /// Returns the newest entries first.
    pub fn newest_first(mut self) -> Query {
        self.order = Order::NewestFirst;
        self
    }

    /// Sets the maximum number of entries.
    pub fn with_limit(mut self, entries: usize) -> Query {
        self.limit = entries;
        self
    }

    /// Whether an entry at a position matches.
    pub(super) fn wants(&self, sequence: u64, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|w| w == own);
        let tool = entry.as_call().map(|call| &*call.tool);
        self.kind.is_none_or(|kind| kind == entry.kind())
            && is(&self.run, entry.run())
            && (self.tool.is_none() || self.tool.as_deref() == tool)
            && is(&self.caller, &entry.caller().id)
            && is(&self.tenant, &entry.caller().tenant)
            && self.since.is_none_or(|since| entry.time() >= since)
            && self.until.is_none_or(|until| entry.time() < until)
            && self.after.is_none_or(|after| match self.order {
                Order::OldestFirst => sequence > after,
                Order::NewestFirst => sequence < after,
            })
    }
}

impl Default for Query {
    fn default() -> Query {
        Query::new()
    }
}
