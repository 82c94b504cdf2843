//! What can happen in a chaos run, and what the driver saw of it.

use std::collections::BTreeMap;
use std::time::Duration;

/// The name of a change that follows another.
pub(crate) const FREED: &str = "disk freed";

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Kill,
    Restart,
    FillDisk,
    KillOnFullDisk,
    ResetUpstreams,
    StallUpstreams,
    Reload,
    BadReload,
    DropClients,
}

impl Change {
    /// One round of changes, before it is shuffled.
    pub(crate) const DECK: [Change; 11] = [
        Change::Kill,
        Change::Kill,
        Change::Kill,
        Change::Restart,
        Change::FillDisk,
        Change::KillOnFullDisk,
        Change::ResetUpstreams,
        Change::StallUpstreams,
        Change::Reload,
        Change::BadReload,
        Change::DropClients,
    ];

    /// Whether the process of the gateway ends.
    pub(crate) fn ends_process(self) -> bool {
        matches!(self, Change::Kill | Change::Restart | Change::KillOnFullDisk)
    }

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Change::Kill => "kill -9 and restart",
            Change::Restart => "SIGTERM and restart",
            Change::FillDisk => "disk full",
            Change::KillOnFullDisk => "kill -9 and restart on a full disk",
            Change::ResetUpstreams => "upstreams killed and restarted",
            Change::StallUpstreams => "upstreams stalled",
            Change::Reload => "new configuration",
            Change::BadReload => "bad configuration",
            Change::DropClients => "all clients dropped",
        }
    }
}

/// How often something happened, and how long `/readyz` took at most to be right.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reaction {
    /// How often
    pub(crate) count: u64,
    /// The slowest
    pub(crate) slowest: Duration,
}

/// What the driver did and saw.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// By the name of the change
    pub(crate) reactions: BTreeMap<&'static str, Reaction>,
    /// Where `/readyz` or the configuration was not right
    pub(crate) wrong: Vec<String>,
    /// How often the gateway was killed
    pub(crate) kills: u64,
    /// Requests with an effect that were not answered when the gateway was killed
    pub(crate) pending_at_kills: usize,
}
