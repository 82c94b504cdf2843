//! The clients' observations in a chaos run, for the checks at its end.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::nonce::Nonce;

/// An exchange whose head a client received.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The request id assigned by the gateway
    pub(crate) id: String,
    /// When the client had received all of it, or lost it
    pub(crate) ended: SystemTime,
}

/// What a reply reports about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// It happened
    Done,
    /// The tool failed: it did not happen
    Failed,
    /// It is not known
    Unknown,
}

/// The observations so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Every exchange
    pub(crate) exchanges: Vec<Exchange>,
    /// The effects that were acknowledged, by the digits of their nonces
    pub(crate) effects: HashMap<[u8; 16], Effect>,
    /// The number of attempts by result
    pub(crate) attempts: BTreeMap<String, u64>,
    /// Requests by the client's dialect, and attempts at them
    pub(crate) requests: BTreeMap<&'static str, (u64, u64)>,
    /// Failures: their number, and the first few
    pub(crate) wrong: (u64, Vec<String>),
}

impl Seen {
    /// Records a failure.
    pub(crate) fn wrong(&mut self, what: String) {
        self.wrong.0 += 1;
        if self.wrong.1.len() < 10 {
            self.wrong.1.push(what);
        }
    }

    /// Records the result of an attempt.
    pub(crate) fn attempt(&mut self, how: &str) {
        *self.attempts.entry(how.to_owned()).or_default() += 1;
    }

    /// Records what a reply reported about an effect.
    pub(crate) fn acknowledge(&mut self, nonce: Nonce, effect: Effect) {
        self.effects.insert(*nonce.digits(), effect);
    }
}

/// State that clients and driver share.
#[derive(Debug)]
pub(crate) struct Record {
    seen: Mutex<Seen>,
    /// Requests with an effect that have begun and are not answered
    pub(crate) pending: AtomicUsize,
    /// Changes when all clients shall disconnect
    pub(crate) leave: watch::Sender<u64>,
    /// Whether the run has failed, and clients shall stop
    pub(crate) failed: AtomicBool,
}

impl Record {
    /// Creates an empty record.
    pub(crate) fn new() -> Record {
        Record {
            seen: Mutex::default(),
            pending: AtomicUsize::new(0),
            leave: watch::Sender::new(0),
            failed: AtomicBool::new(false),
        }
    }

    /// The observations so far.
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock()
    }

    /// Whether clients shall stop.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The number of unanswered requests with an effect.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }
}
