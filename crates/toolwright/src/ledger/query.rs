//! Which entries to read.

use super::{Entry, Kind};

/// Which entries to read: all that fit, up to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Of this kind
    pub kind: Option<Kind>,
    /// Of this run, or of the request with this id
    pub run: Option<String>,
    /// Of this tool: only calls have one
    pub tool: Option<String>,
    /// Of this caller
    pub caller: Option<String>,
    /// Of this tenant
    pub tenant: Option<String>,
    /// Behind this place in the order of reading: to go on where the last reading ended
    pub after: Option<u64>,
    /// In which order
    pub order: Order,
    /// At most so many
    pub limit: usize,
}

/// In which order entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// As they were recorded
    #[default]
    OldestFirst,
    /// The other way round
    NewestFirst,
}

impl Query {
    /// The first 100 entries.
    pub fn new() -> Query {
        Query {
            kind: None,
            run: None,
            tool: None,
            caller: None,
            tenant: None,
            after: None,
            order: Order::OldestFirst,
            limit: 100,
        }
    }

    /// Of a kind.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Query {
        self.kind = Some(kind);
        self
    }

    /// Of a run, or of the request with this id.
    #[must_use]
    pub fn with_run(mut self, run: impl Into<String>) -> Query {
        self.run = Some(run.into());
        self
    }

    /// Of a tool.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<String>) -> Query {
        self.tool = Some(tool.into());
        self
    }

    /// Of a caller.
    #[must_use]
    pub fn with_caller(mut self, caller: impl Into<String>) -> Query {
        self.caller = Some(caller.into());
        self
    }

    /// Of a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<String>) -> Query {
        self.tenant = Some(tenant.into());
        self
    }

    /// Behind a place.
    #[must_use]
    pub fn after(mut self, sequence: u64) -> Query {
        self.after = Some(sequence);
        self
    }

    /// The newest first.
    #[must_use]
    pub fn newest_first(mut self) -> Query {
        self.order = Order::NewestFirst;
        self
    }

    /// At most so many.
    #[must_use]
    pub fn with_limit(mut self, entries: usize) -> Query {
        self.limit = entries;
        self
    }

    /// Whether an entry at a place is asked for.
    pub(super) fn wants(&self, sequence: u64, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|w| w == own);
        let tool = entry.as_call().map(|call| &*call.tool);
        self.kind.is_none_or(|kind| kind == entry.kind())
            && is(&self.run, entry.run())
            && (self.tool.is_none() || self.tool.as_deref() == tool)
            && is(&self.caller, &entry.caller().id)
            && is(&self.tenant, &entry.caller().tenant)
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
