//! References that stand for data: the model passes the reference, the tool gets the value.
//!
//! A handle is written `tw:` and 32 hexadecimal digits, with a JSON Pointer after `#` for a piece
//! of the value. It belongs to a tenant and a run, cannot be guessed, and expires.
//!
//! ```text
//! a result  → budget → keep → preview → the model
//! the model → (admit: its schema says so) → resolve → coerce → check → the tool
//! ```

mod admit;
mod budget;
mod preview;
mod resolve;
mod slot;
mod store;

pub use admit::admit;
pub use budget::budget;
pub use preview::{PREVIEW_MAX, preview};
#[cfg(feature = "builtin")]
pub(crate) use preview::{names, size};
pub use resolve::{HandleFailure, RESOLVED_MAX, conceal, resolve};
pub(crate) use resolve::{handles, has_moved, shows};
pub use store::{Limits, MemoryHandles};

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use toolwright_core::Json;
use toolwright_core::json::Key;

use crate::output::Blob;

/// The name of a kept value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandleId(u128);

/// A kept value, whole or a piece of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle {
    /// Which value
    pub id: HandleId,
    /// JSON Pointer into it; empty for the whole
    pub pointer: String,
}

/// What a handle stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// A JSON value
    Json(Arc<Json>),
    /// Bytes
    Bytes(Blob),
}

/// To whom a handle belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The tenant
    pub tenant: Arc<str>,
    /// The run
    pub run: Arc<str>,
}

impl Kept {
    /// A JSON value.
    pub fn json(value: impl Into<Json>) -> Kept {
        Kept::Json(Arc::new(value.into()))
    }

    /// About how many bytes of memory this takes.
    pub fn weight(&self) -> usize {
        match self {
            Kept::Json(value) => weight(value),
            Kept::Bytes(blob) => blob.bytes.len() + blob.mime.len(),
        }
    }
}

/// About how many bytes of memory a value takes.
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
    /// An id by its number, which must be random.
    pub const fn from_random(number: u128) -> HandleId {
        HandleId(number)
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

/// The text is no handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a handle: one is tw: and 32 hexadecimal digits, and perhaps # and a JSON Pointer")]
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

/// Why a handle has no value for whoever asks. All that a stranger learns is that it is not theirs
/// to use: a forged handle and somebody else's look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// There is none of this name, or it belongs to somebody else
    #[error("no such handle")]
    Unknown,
    /// It was there, and is not any more: its time was over, or room was needed
    #[error("the handle has expired")]
    Expired,
    /// The value has nothing at the pointer
    #[error("the value has nothing at this pointer")]
    NoSuchPiece,
    /// The value is bytes, which have no pieces and fit only where base64 or a handle is asked for
    #[error("the value is not JSON")]
    NotJson,
    /// The values that one call asks for are too large together
    #[error("too much data for one call")]
    TooLarge,
}

/// Why a value was not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    /// It is more than the store may hold, or may hold beside what others have there
    #[error("the handle store has no room for the value")]
    NoRoom,
    /// The store could not do it
    #[error("handle store: {0}")]
    Failed(String),
}

/// Where values are kept. Bounded in size; old ones make room for new ones.
pub trait HandleStore: Send + Sync + 'static {
    /// Keeps a value and gives its name.
    fn keep(&self, owner: &Owner, value: Kept) -> Result<HandleId, NotKept>;

    /// The value for its owner. Whoever does not own it learns what they would learn of a handle
    /// that never was.
    fn find(&self, owner: &Owner, id: HandleId) -> Result<Kept, HandleError>;
}
