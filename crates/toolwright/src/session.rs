//! What the calls of one run share, and what one call knows of itself.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::handle::Owner;

/// Who calls: the owner of handles, the subject of policies, the name in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The person or service
    pub id: Arc<str>,
    /// Whose data it may see; handles never cross this border
    pub tenant: Arc<str>,
}

impl Caller {
    /// A caller of the tenant `local`.
    pub fn new(id: impl Into<Arc<str>>) -> Caller {
        Caller { id: id.into(), tenant: "local".into() }
    }

    /// With a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: impl Into<Arc<str>>) -> Caller {
        self.tenant = tenant.into();
        self
    }
}

impl Default for Caller {
    fn default() -> Caller {
        Caller::new("local")
    }
}

/// What the calls of one run share. Clones are the same session.
#[derive(Debug, Clone)]
pub struct Session {
    /// The run that calls belong to; part of every idempotency key
    pub run: Arc<str>,
    /// The turn of the run, part of every idempotency key: vendors count call ids anew in each
    pub turn: u64,
    /// Who calls
    pub caller: Caller,
    /// Values that no model sees
    pub context: Context,
    /// Ends every call of the session
    pub cancel: CancellationToken,
}

impl Session {
    /// A session of a run that has a name. The same name after a restart means the same run: calls
    /// that were recorded are not made again.
    pub fn new(run: impl Into<Arc<str>>) -> Session {
        Session {
            run: run.into(),
            turn: 0,
            caller: Caller::default(),
            context: Context::new(),
            cancel: CancellationToken::new(),
        }
    }

    /// To whom the handles of this session belong.
    pub fn owner(&self) -> Owner {
        Owner { tenant: self.caller.tenant.clone(), run: self.run.clone() }
    }

    /// In a turn of the run. What asks the model again counts on by one.
    #[must_use]
    pub fn with_turn(mut self, turn: u64) -> Session {
        self.turn = turn;
        self
    }

    /// With a caller.
    #[must_use]
    pub fn with_caller(mut self, caller: Caller) -> Session {
        self.caller = caller;
        self
    }

    /// With a context.
    #[must_use]
    pub fn with_context(mut self, context: Context) -> Session {
        self.context = context;
        self
    }
}

/// What one call knows of itself; a tool gets it with `#[scope]`.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The session
    pub session: Session,
    /// The tool's name
    pub tool: Arc<str>,
    /// The call's id
    pub call_id: Arc<str>,
    /// The same for every attempt at this call, in this process or the next: a service that honours
    /// idempotency keys gets this one
    pub key: Arc<str>,
    /// Which attempt this is, from 1
    pub attempt: u32,
    /// When the call will be given up
    pub deadline: Instant,
    /// Set when the call was cancelled or given up; long work should look at it
    pub cancel: CancellationToken,
}
