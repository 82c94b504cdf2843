//! The identity of a call: its position in the turn, its id and its idempotency key.

use std::sync::Arc;

use toolwright_core::Call;

use crate::handler::ToolDigest;
use crate::session::Session;

/// The position of a call in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallPosition {
    /// Its index among the calls of the turn
    pub(crate) index: usize,
    /// Number of earlier calls with the same id: some models repeat ids
    pub(crate) repeats: usize,
}

/// Maximum length, in bytes, of an id that is used as it is; a longer one is hashed. What happens to a step of a plan
/// within a call is recorded under the id of the call: up to eight ids of steps, each of 64 characters, with positions
/// of items.
const MAX_ID_BYTES: usize = 2400;

impl CallPosition {
    /// The internal id of the call: the model's own if it is unique in the turn.
    pub fn id(self, session: &Session, call: &Call) -> Arc<str> {
        match (call.id.as_deref(), self.repeats) {
            (None | Some(""), _) => format!("call_{}_{}", session.turn, self.index).into(),
            // A model must not be able to grow journals and ledgers without bound.
            (Some(id), repeats) if id.len() > MAX_ID_BYTES => {
                digest(&[id, &repeats.to_string()]).to_hex()[..].into()
            }
            (Some(id), 0) => id.into(),
            (Some(id), repeats) => format!("{id}#{}", repeats + 1).into(),
        }
    }
}

/// The keys of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallKeys {
    /// The idempotency key: the same for every attempt at a call, also after a restart, and different
    /// for every other call and every other version of the tool
    pub(crate) key: Arc<str>,
    /// The key without the tool's digest, which finds the call of an earlier version of the tool
    pub(crate) unversioned: blake3::Hash,
}

impl CallKeys {
    /// Computes the keys. They include the tenant, because tenants may use the same run names.
    pub(crate) fn new(
        session: &Session,
        call_id: &str,
        tool: &str,
        digest: ToolDigest,
        canonical: &str,
    ) -> CallKeys {
        let (tenant, turn) = (&session.caller.tenant, session.turn.to_string());
        let mut hasher = hasher(&[tenant, &session.run, &turn, call_id, tool, canonical]);
        let unversioned = hasher.finalize();
        hasher.update(digest.as_bytes());
        CallKeys { key: hasher.finalize().to_hex()[..].into(), unversioned }
    }
}

/// Hashes texts, each prefixed with its length, so that their boundaries count.
pub fn digest(texts: &[&str]) -> blake3::Hash {
    hasher(texts).finalize()
}

fn hasher(texts: &[&str]) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher
}
