//! Data that the calls of one run share, and the scope of one call.

mod pauses;

use std::any::Any;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::handle::Owner;
use crate::redact::known::KnownSecrets;
pub use pauses::{Pause, Pauses};

/// The caller of tools: the owner of handles, the subject of policies, the name in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The person or service
    pub id: Arc<str>,
    /// The tenant; handles are not shared between tenants
    pub tenant: Arc<str>,
}

impl Caller {
    /// Creates a caller of the tenant `local`.
    pub fn new(id: impl Into<Arc<str>>) -> Caller {
        Caller { id: id.into(), tenant: "local".into() }
    }

    /// Sets the tenant.
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

/// Data that the calls of one run share. Clones refer to the same session.
#[must_use]
#[derive(Debug, Clone)]
pub struct Session {
    /// The run of the calls; part of every idempotency key
    pub run: Arc<str>,
    /// The turn of the run; part of every idempotency key, because vendors restart call ids in each
    /// turn
    pub turn: u64,
    /// The conversation that owns the handles, if it is wider than the run
    pub conversation: Option<Arc<str>>,
    /// The caller
    pub caller: Caller,
    /// Values for tools that models do not see
    pub context: Context,
    /// Whether tools may use slots. A host that cannot tell the conversations of a client apart sets it to false,
    /// because one of them would read the slots of another
    pub has_slots: bool,
    /// Whether arguments must satisfy their schema as they are written: nothing is repaired or coerced
    pub exact_arguments: bool,
    /// Cancels every call of the session
    pub cancel: CancellationToken,
}

impl Session {
    /// Creates a session for a run id. The same id after a restart means the same run: recorded
    /// calls do not run again.
    pub fn new(run: impl Into<Arc<str>>) -> Session {
        Session {
            run: run.into(),
            turn: 0,
            conversation: None,
            caller: Caller::default(),
            context: Context::new(),
            has_slots: true,
            exact_arguments: false,
            cancel: CancellationToken::new(),
        }
    }

    /// Returns the owner of this session's handles: its conversation, or its run outside of a conversation.
    pub fn owner(&self) -> Owner {
        let conversation = self.conversation.as_ref().unwrap_or(&self.run).clone();
        Owner { tenant: self.caller.tenant.clone(), conversation }
    }

    /// Whether a text names a conversation: 1 to 128 letters, digits and the characters `-_.:`.
    pub fn is_conversation_name(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        (1..=128).contains(&text.len()) && text.bytes().all(is_plain)
    }

    /// Sets the conversation. Its runs share their handles and slots.
    pub fn with_conversation(mut self, conversation: impl Into<Arc<str>>) -> Session {
        self.conversation = Some(conversation.into());
        self
    }

    /// Sets the turn of the run. Increase it by one for each request to the model.
    pub fn with_turn(mut self, turn: u64) -> Session {
        self.turn = turn;
        self
    }

    /// Sets the caller.
    pub fn with_caller(mut self, caller: Caller) -> Session {
        self.caller = caller;
        self
    }

    /// Sets the context.
    pub fn with_context(mut self, context: Context) -> Session {
        self.context = context;
        self
    }

    /// Refuses tools that use slots.
    pub fn without_slots(mut self) -> Session {
        self.has_slots = false;
        self
    }

    /// Requires arguments that satisfy their schema as they are written, for callers that are programs
    /// and not models: nothing is repaired or coerced. Handles are still replaced by their values, and defaults are
    /// filled in.
    pub fn with_exact_arguments(mut self) -> Session {
        self.exact_arguments = true;
        self
    }
}

/// The scope of one call; a tool receives it with `#[scope]`.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The session
    pub session: Session,
    /// The tool's name
    pub tool: Arc<str>,
    /// The call's id
    pub call_id: Arc<str>,
    /// The idempotency key: the same for every attempt at this call, also after a restart. Pass it
    /// to services that honour idempotency keys
    pub key: Arc<str>,
    /// The number of this attempt, from 1
    pub attempt: u32,
    /// The deadline of the call
    pub deadline: Instant,
    /// Cancelled when the call is cancelled or times out; long-running tools should check it
    pub cancel: CancellationToken,
    /// Extends the deadline while a person is asked
    pub(crate) pauses: Pauses,
    /// Secrets that fill parameters of the tool
    pub(crate) secrets: Arc<KnownSecrets>,
    /// The running call, for [nested calls](Scope::call); the toolbox knows its type
    pub(crate) active: Option<Arc<dyn Any + Send + Sync>>,
}

impl Scope {
    /// Returns the pauses of the deadline, while a person is asked.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Returns the secrets that fill parameters of the tool. They redact what repeats them.
    pub fn known_secrets(&self) -> &Arc<KnownSecrets> {
        &self.secrets
    }

    /// Creates the scope of a first attempt at a call. A toolbox does this; use it to run a
    /// [handler](crate::Handler::run) without one, where no other tools can be called.
    pub fn new(
        session: Session,
        tool: impl Into<Arc<str>>,
        call_id: impl Into<Arc<str>>,
        key: impl Into<Arc<str>>,
        deadline: Instant,
    ) -> Scope {
        let (tool, call_id, key) = (tool.into(), call_id.into(), key.into());
        let cancel = session.cancel.child_token();
        Scope {
            session,
            tool,
            call_id,
            key,
            attempt: 1,
            deadline,
            cancel,
            pauses: Pauses::default(),
            secrets: Arc::default(),
            active: None,
        }
    }
}
