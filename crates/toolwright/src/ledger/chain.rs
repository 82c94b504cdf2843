//! The chain: each entry's link is a hash over the link before it, its place and its text.
//!
//! A chain shows that an entry was changed, removed, moved or put in between by somebody who did
//! not write all later links anew. Whoever can write the whole file can do that too, and can cut
//! off its end. Against both helps a [`Head`] that was kept elsewhere: nothing up to it can have
//! been changed unseen.

use std::fmt;
use std::str::FromStr;

/// A hash that stands for an entry and all before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link([u8; 32]);

/// The last entry of a chain: its place, and its link. Keep one elsewhere to know the ledger again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// How many entries there are
    pub sequence: u64,
    /// The link of the last
    pub link: Link,
}

/// A chain without damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// How many entries were looked at
    pub entries: u64,
    /// The last of them
    pub head: Head,
}

/// Where a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the ledger was tampered with at entry {sequence}: {why}")]
pub struct Broken {
    /// The first place that is not as it was written
    pub sequence: u64,
    /// What is wrong there
    pub why: Damage,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The entry's link does not follow from its text and the link before
    #[error("it or its place was changed")]
    Changed,
    /// The entry is not there
    #[error("it was removed")]
    Removed,
    /// The entry stands after the end
    #[error("it was added without the ledger")]
    Added,
    /// The columns by which it is found say something else than its text
    #[error("it is filed under what it does not say")]
    Misfiled,
    /// The text is no entry
    #[error("it cannot be read")]
    Unreadable,
    /// The head that was kept is of another chain
    #[error("its link is not the one that was kept")]
    Rewritten,
}

impl Link {
    /// What the first entry is chained to.
    pub fn start() -> Link {
        Link(*blake3::hash(b"toolwright ledger 1").as_bytes())
    }

    /// The link of the entry after this one.
    #[must_use]
    pub fn next(&self, sequence: u64, text: &str) -> Link {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(&sequence.to_le_bytes()).update(text.as_bytes());
        Link(*hasher.finalize().as_bytes())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A link by its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Link {
        Link(bytes)
    }
}

impl Head {
    /// Before the first entry.
    pub fn start() -> Head {
        Head { sequence: 0, link: Link::start() }
    }

    /// After one more.
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

/// The text is no head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a head: one is a number, a colon and 64 hexadecimal digits")]
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

/// Follows a chain entry by entry.
pub(super) struct Follower {
    from: u64,
    head: Head,
    kept: Option<Head>,
}

impl Follower {
    /// From a place on, to see whether the chain runs through a head that was kept.
    pub(super) fn new(from: Head, kept: Option<Head>) -> Follower {
        Follower { from: from.sequence, head: from, kept }
    }

    /// The next entry as it stands in the ledger.
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

    fn compare(&self) -> Result<(), Broken> {
        match self.kept {
            Some(kept) if kept.sequence == self.head.sequence && kept.link != self.head.link => {
                Err(Broken { sequence: kept.sequence, why: Damage::Rewritten })
            }
            _ => Ok(()),
        }
    }

    /// The end, which must be where the ledger says that it is.
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
        Ok(Verified { entries: self.head.sequence - self.from, head: self.head })
    }
}
