//! The changes of a chaos run, and the driver's observations.

use std::collections::BTreeMap;
use std::time::Duration;

/// The name of the change that follows a full disk.
pub(crate) const FREED: &str = "disk freed";

/// A change around the gateway.
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

    /// Whether the change ends the gateway's process.
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

/// How often a change happened, and the maximum time until `/readyz` was correct.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reaction {
    /// Number of times
    pub(crate) count: u64,
    /// The maximum time
    pub(crate) slowest: Duration,
}

/// The actions and observations of the driver.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// By the name of the change
    pub(crate) reactions: BTreeMap<&'static str, Reaction>,
    /// Wrong results of `/readyz` or of the configuration
    pub(crate) wrong: Vec<String>,
    /// Number of kills
    pub(crate) kills: u64,
    /// Number of starts that a full disk ended
    pub(crate) failed_starts: u64,
    /// Requests with an effect that were pending when the gateway was killed
    pub(crate) pending_at_kills: usize,
}
