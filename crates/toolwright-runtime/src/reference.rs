//! References to stored contents: handles, and who owns them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

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

impl HandleId {
    /// Creates an id from a number, which must be random.
    pub const fn from_random(number: u128) -> HandleId {
        HandleId(number)
    }

    /// Returns the id of a value that its owner and these names determine. The purpose keeps ids of different uses
    /// apart.
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
    pub(crate) fn random() -> Result<HandleId, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
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
