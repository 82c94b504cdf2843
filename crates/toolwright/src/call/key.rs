//! The identity of a call: its position in the turn, its id and its idempotency key.

use std::sync::Arc;

use toolwright_core::Call;

use crate::session::Session;

/// Where a call stands among those of its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// Its position, from 0
    pub(crate) position: usize,
    /// How many calls before it have the same id: some models repeat them
    pub(crate) repeats: usize,
}

/// The longest id that is kept as it is.
const ID_MAX: usize = 256;

impl Place {
    /// The id by which the call is known inside: the model's own where that names one call only.
    pub(crate) fn id(self, session: &Session, call: &Call) -> Arc<str> {
        match (call.id.as_deref(), self.repeats) {
            (None | Some(""), _) => format!("call_{}_{}", session.turn, self.position).into(),
            // Journals and ledgers have it with every call, so it is not for a model to say how
            // large they grow.
            (Some(id), repeats) if id.len() > ID_MAX => {
                digest(&[id, &repeats.to_string()]).to_hex()[..].into()
            }
            (Some(id), 0) => id.into(),
            (Some(id), repeats) => format!("{id}#{}", repeats + 1).into(),
        }
    }
}

/// The idempotency key: the same for every attempt at a call, in this process or the next, and
/// different for every other call. Tenants may name their runs alike, and still share nothing.
pub(crate) fn key(session: &Session, call_id: &str, tool: &str, canonical: &str) -> Arc<str> {
    let (tenant, turn) = (&session.caller.tenant, session.turn.to_string());
    digest(&[tenant, &session.run, &turn, call_id, tool, canonical]).to_hex()[..].into()
}

/// The hash of some texts, each with its length, so that none runs into the next.
pub(crate) fn digest(texts: &[&str]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize()
}
