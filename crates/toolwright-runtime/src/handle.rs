//! References to stored data: the model passes the reference, and the tool receives the value.
//!
//! A handle is written as `tw:` and 32 hexadecimal digits, with an optional JSON Pointer to a part
//! of the value after `#`. It belongs to a tenant and a conversation, cannot be guessed, and expires.
//!
//! ```text
//! a result  → budget → store → preview → the model
//! the model → (admit: the schema allows handles) → resolve → check → coerce → the tool
//! ```

mod admit;
mod budget;
mod form;
mod memory;
mod place;
mod preview;
mod resolve;
mod slot;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use admit::admit_in;
pub use admit::{add_hint, admit};
pub use budget::budget;
pub use memory::{Limits, MemoryHandles};
pub use place::{parts_output, read_output, write_output};
pub use preview::{PREVIEW_MAX, preview, shape};
#[cfg(feature = "builtin")]
pub(crate) use preview::{names, size};
pub use resolve::{HandleFailure, RESOLVED_MAX, conceal, find as find_handles, resolve};
pub(crate) use resolve::{handles, has_moved, resolve_as, shows};
pub use slot::{find_slot, has_slot, put_in_slot, reply};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteHandles;

use std::future::Future;
use std::pin::Pin;

use crate::output::Content;
pub use crate::reference::{Handle, HandleId, NotAHandle, Owner};

/// Why a handle cannot be resolved. A forged handle and a handle of another owner give the same
/// error, so that handles cannot be probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The handle does not exist or belongs to another owner
    #[error("no such handle")]
    Unknown,
    /// The value has expired or was evicted
    #[error("the handle has expired")]
    Expired,
    /// The pointer leads to nothing in the value
    #[error("the value has nothing at this pointer")]
    NoSuchPiece,
    /// The value is bytes, which have no parts and are valid only where base64 or a handle is
    /// expected
    #[error("the value is not JSON")]
    NotJson,
    /// The value is bytes that are not text
    #[error("the value is not text")]
    NotText,
    /// The values of one call are too large together
    #[error("too much data for one call")]
    TooLarge,
    /// The store failed; the value may still be there
    #[error("the handle store cannot be read")]
    Unavailable,
}

/// Why a value was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleStoreError {
    /// The value exceeds the capacity that the store has left for this tenant
    #[error("the handle store has no capacity for the value")]
    Full,
    /// The store failed
    #[error("handle store: {0}")]
    Failed(String),
}

/// A read or write of a handle store that is in progress.
pub type HandleFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Stores values behind handles. Its size is bounded; the oldest values are evicted first.
pub trait HandleStore: Send + Sync + 'static {
    /// Stores a value under an id, in place of an earlier one. The value can be found as soon as this returns.
    fn put_as<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
        value: Content,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>>;

    /// Stores a value and returns its id, which cannot be guessed.
    fn put<'a>(
        &'a self,
        owner: &'a Owner,
        value: Content,
    ) -> HandleFuture<'a, Result<HandleId, HandleStoreError>> {
        Box::pin(async move {
            let id = HandleId::random();
            let id = id.map_err(|error| HandleStoreError::Failed(error.to_string()))?;
            self.put_as(owner, id, value).await?;
            Ok(id)
        })
    }

    /// Returns how many bytes of memory it takes to find a value and to write its text; 0 if it is in memory or does
    /// not exist.
    fn size<'a>(&'a self, _owner: &'a Owner, _id: HandleId) -> HandleFuture<'a, usize> {
        Box::pin(std::future::ready(0))
    }

    /// Returns the value if it belongs to the owner, and restarts its lifetime. For any other owner the result is
    /// the same as for a handle that does not exist.
    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<Content, HandleError>>;
}
