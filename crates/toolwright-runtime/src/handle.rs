//! References to stored data: the model passes the reference, and the tool receives the value.
//!
//! A handle is written as `tw:` and 32 hexadecimal digits, with an optional JSON Pointer to a part
//! of the value after `#`. It belongs to a tenant and a conversation, cannot be guessed, and expires.
//!
//! ```text
//! a result  → budget → keep → preview → the model
//! the model → (admit: the schema allows handles) → resolve → coerce → check → the tool
//! ```

mod admit;
mod budget;
mod complete;
mod form;
mod memory;
mod preview;
mod resolve;
mod slot;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use admit::add_hint;
pub use admit::admit;
pub(crate) use admit::admit_in;
pub use budget::budget;
pub(crate) use budget::budget_complete;
pub use complete::{CompleteOutput, Piece, Root};
pub use memory::{Limits, MemoryHandles};
pub use preview::shape;
pub use preview::{PREVIEW_MAX, preview};
#[cfg(feature = "builtin")]
pub(crate) use preview::{names, size};
pub use resolve::find as find_handles;
pub use resolve::{HandleFailure, RESOLVED_MAX, conceal, resolve};
pub(crate) use resolve::{handles, has_moved, resolve_as, shows};
pub use slot::{content_json, stored_media};
pub use slot::{find_slot, has_slot, put_in_slot, reply};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteHandles;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use toolwright_core::Json;
use toolwright_json::Key;

use crate::output::Blob;

/// Identifies a stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandleId(u128);

/// A reference to a stored value or to a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Handle {
    /// The stored value
    pub id: HandleId,
    /// JSON Pointer into the value; empty for all of it
    pub pointer: String,
}

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredValue {
    /// A JSON value
    Json(Arc<Json>),
    /// Bytes
    Bytes(Blob),
}

/// The owner of a handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The tenant
    pub tenant: Arc<str>,
    /// The conversation, which may have several runs; a run without one is its own conversation
    pub conversation: Arc<str>,
}

impl From<HandleId> for Handle {
    /// A reference to all of a value.
    fn from(id: HandleId) -> Handle {
        Handle { id, pointer: String::new() }
    }
}

impl StoredValue {
    /// A JSON value.
    pub fn json(value: impl Into<Json>) -> StoredValue {
        StoredValue::Json(Arc::new(value.into()))
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        match self {
            StoredValue::Json(value) => weight(value),
            StoredValue::Bytes(blob) => blob.bytes.len() + blob.mime.len(),
        }
    }
}

/// Returns the approximate size of a value in memory, in bytes.
fn weight(value: &Json) -> usize {
    size_of::<Json>()
        + match value {
            Json::Null | Json::Bool(_) => 0,
            Json::Number(number) => number.as_str().len(),
            Json::String(text) => text.len(),
            Json::Array(items) => items.iter().map(weight).sum(),
            Json::Object(object) => {
                object.iter().map(|(key, value)| size_of::<Key>() + key.len() + weight(value)).sum()
            }
        }
}

impl HandleId {
    /// Creates an id from a number, which must be random.
    pub const fn from_random(number: u128) -> HandleId {
        HandleId(number)
    }

    /// Returns the id of a value that its owner and these names determine. The purpose keeps ids of different uses apart.
    pub fn derive(purpose: &str, owner: &Owner, names: &[&str]) -> HandleId {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        for text in [&*owner.tenant, &*owner.conversation].into_iter().chain(names.iter().copied())
        {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        HandleId::from_random(u128::from_le_bytes(bytes))
    }

    /// Creates an id that cannot be guessed.
    fn random() -> Result<HandleId, HandleStoreError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| HandleStoreError::Failed(error.to_string()))?;
        Ok(HandleId::from_random(u128::from_le_bytes(random)))
    }
}

impl fmt::Display for HandleId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tw:{:032x}", self.0)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(formatter, "{}", self.id),
            pointer => write!(formatter, "{}#{pointer}", self.id),
        }
    }
}

/// The text is not a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a handle: expected tw: and 32 hexadecimal digits, optionally followed by # and a \
         JSON Pointer"
)]
pub struct NotAHandle;

impl FromStr for Handle {
    type Err = NotAHandle;

    fn from_str(text: &str) -> Result<Handle, NotAHandle> {
        let text = text.strip_prefix("tw:").ok_or(NotAHandle)?;
        let (digits, pointer) = text.split_once('#').unwrap_or((text, ""));
        let is_hex = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !(pointer.is_empty() || pointer.starts_with('/')) {
            return Err(NotAHandle);
        }
        let number = u128::from_str_radix(digits, 16).map_err(|_| NotAHandle)?;
        Ok(Handle { id: HandleId(number), pointer: pointer.to_owned() })
    }
}

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
        value: StoredValue,
    ) -> HandleFuture<'a, Result<(), HandleStoreError>>;

    /// Stores a value and returns its id, which cannot be guessed.
    fn put<'a>(
        &'a self,
        owner: &'a Owner,
        value: StoredValue,
    ) -> HandleFuture<'a, Result<HandleId, HandleStoreError>> {
        Box::pin(async move {
            let id = HandleId::random()?;
            self.put_as(owner, id, value).await?;
            Ok(id)
        })
    }

    /// Returns how many bytes are read to find a value; 0 if it is in memory or does not exist.
    fn size<'a>(&'a self, _owner: &'a Owner, _id: HandleId) -> HandleFuture<'a, usize> {
        Box::pin(std::future::ready(0))
    }

    /// Returns the value if it belongs to the owner, and restarts its lifetime. For any other owner the result is
    /// the same as for a handle that does not exist.
    fn find<'a>(
        &'a self,
        owner: &'a Owner,
        id: HandleId,
    ) -> HandleFuture<'a, Result<StoredValue, HandleError>>;
}
