//! The hash chain: the link of an entry is a hash of the previous link, its position and its text.
//!
//! The chain reveals an entry that was changed, removed, moved or inserted without recomputing all
//! later links. An attacker with write access to the file can recompute them, or truncate the file.
//! A [`Head`] that is stored elsewhere reveals both: no entry up to it can be changed undetected.

use std::fmt;
use std::str::FromStr;

/// A hash that covers an entry and all entries before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link([u8; 32]);

/// The last position of a chain and its link. Store it elsewhere to verify the ledger later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// Number of entries
    pub sequence: u64,
    /// The link of the last entry
    pub link: Link,
}

/// The checkpoint of a ledger: it stands for the removed entries at the start of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The last removed entry
    pub head: Head,
    /// Number of removed entries
    pub removed: u64,
}

/// The result of verifying an intact chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Number of verified entries
    pub entries: u64,
    /// What stands for removed entries, if there are any. A head before it cannot be verified
    pub checkpoint: Option<Checkpoint>,
    /// The last verified entry
    pub head: Head,
}

/// A damaged position in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the ledger was tampered with at entry {sequence}: {why}")]
pub struct Broken {
    /// The first damaged position
    pub sequence: u64,
    /// What is wrong with it
    pub why: Damage,
}

/// The kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The link does not match the text and the previous link
    #[error("it or its position was changed")]
    Changed,
    /// The entry is missing
    #[error("it was removed")]
    Removed,
    /// The entry is after the head
    #[error("it was added without the ledger")]
    Added,
    /// The index columns differ from the text
    #[error("its index columns differ from its text")]
    Misfiled,
    /// The text is not a valid entry
    #[error("it cannot be read")]
    Unreadable,
    /// The recorded data differs from its digest in the text
    #[error("its data was changed")]
    DataChanged,
    /// The checkpoint is not signed with the key of the folder
    #[error("its checkpoint is not signed with signing.key in the folder of the ledger")]
    Forged,
    /// The expected head belongs to another chain
    #[error("its link differs from the expected head")]
    Rewritten,
}

impl Link {
    /// Returns the link before the first entry.
    pub fn start() -> Link {
        Link(*blake3::hash(b"toolwright ledger 1").as_bytes())
    }

    /// Returns the link of the next entry.
    #[must_use]
    pub fn next(&self, sequence: u64, text: &str) -> Link {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(&sequence.to_le_bytes()).update(text.as_bytes());
        Link(*hasher.finalize().as_bytes())
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Creates a link from bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Link {
        Link(bytes)
    }
}

impl Head {
    /// Returns the head of an empty chain.
    pub fn start() -> Head {
        Head { sequence: 0, link: Link::start() }
    }

    /// Returns the head after one more entry.
    #[must_use]
    pub fn next(&self, text: &str) -> Head {
        let sequence = self.sequence + 1;
        Head { sequence, link: self.link.next(sequence, text) }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The text is not a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a head: expected a number, a colon and 64 hexadecimal digits")]
pub struct NotAHead;

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.sequence, self.link)
    }
}

impl FromStr for Head {
    type Err = NotAHead;

    fn from_str(text: &str) -> Result<Head, NotAHead> {
        let (sequence, digits) = text.split_once(':').ok_or(NotAHead)?;
        let sequence = sequence.parse().map_err(|_| NotAHead)?;
        let hash = blake3::Hash::from_hex(digits).map_err(|_| NotAHead)?;
        Ok(Head { sequence, link: Link(*hash.as_bytes()) })
    }
}

/// Verifies a chain entry by entry.
pub(super) struct Follower {
    from: u64,
    /// The last verified position
    pub(super) head: Head,
    kept: Option<Head>,
}

impl Follower {
    /// Starts after a position. With `kept`, the chain must contain that head.
    pub(super) fn new(from: Head, kept: Option<Head>) -> Follower {
        Follower { from: from.sequence, head: from, kept }
    }

    /// Verifies the next entry.
    pub(super) fn follow(&mut self, at: Head, text: &str) -> Result<(), Broken> {
        let next = self.head.next(text);
        if at.sequence != next.sequence {
            return Err(Broken { sequence: next.sequence, why: Damage::Removed });
        }
        if at.link != next.link {
            return Err(Broken { sequence: next.sequence, why: Damage::Changed });
        }
        self.head = next;
        self.compare()
    }

    /// Compares the position with the expected head.
    pub(super) fn compare(&self) -> Result<(), Broken> {
        match self.kept {
            Some(kept) if kept.sequence == self.head.sequence && kept.link != self.head.link => {
                Err(Broken { sequence: kept.sequence, why: Damage::Rewritten })
            }
            _ => Ok(()),
        }
    }

    /// Verifies the end against the head of the ledger.
    pub(super) fn finish(self, end: Head) -> Result<Verified, Broken> {
        self.compare()?;
        let furthest = self.kept.map_or(0, |kept| kept.sequence).max(end.sequence);
        if self.head.sequence < furthest {
            return Err(Broken { sequence: self.head.sequence + 1, why: Damage::Removed });
        }
        if self.head.sequence > end.sequence {
            return Err(Broken { sequence: end.sequence + 1, why: Damage::Added });
        }
        if self.head.link != end.link {
            return Err(Broken { sequence: end.sequence, why: Damage::Rewritten });
        }
        Ok(Verified { entries: self.head.sequence - self.from, checkpoint: None, head: self.head })
    }
}
