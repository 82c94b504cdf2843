//! Graceful shutdown: no new connections, requests in flight finish, and are aborted after a
//! timeout.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use tokio::sync::watch;

use super::config::Limits;
use super::reply::{Reply, typed_reply};
use super::settings::{Current, Settings};
use super::signal::Renewal;

/// The phase of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Accepts connections
    Open,
    /// Finishes requests in flight
    Draining,
    /// Aborts requests in flight
    Cut,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All requests in flight finished
    Drained,
    /// This many connections were aborted
    Cut(usize),
}

/// Stops or reconfigures a server. Clones control the same server.
#[derive(Debug, Clone)]
pub struct Control {
    phase: Arc<watch::Sender<Phase>>,
    pub(super) settings: Current,
}

impl Control {
    pub(super) fn new() -> Control {
        let settings = Current::new(Settings::new(Limits::default(), None));
        Control { phase: Arc::new(watch::Sender::new(Phase::Open)), settings }
    }

    /// Stops accepting, and finishes requests in flight within `limits.drain_timeout`.
    pub fn drain(&self) {
        self.advance(Phase::Draining);
    }

    /// Aborts requests in flight.
    pub fn cut(&self) {
        self.advance(Phase::Cut);
    }

    /// Applies other settings to new connections.
    pub fn renew(&self, renewal: Renewal) {
        self.settings.set(Settings::new(renewal.limits, renewal.tls));
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let further = *phase < to;
            if further {
                *phase = to;
            }
            further
        });
    }

    /// Returns the health of the server.
    pub fn health(&self) -> Health {
        Health { phase: self.phase.subscribe() }
    }

    pub(super) fn watch(&self) -> Watch {
        Watch(self.phase.subscribe())
    }
}

/// Receives the phases of the server.
#[derive(Debug, Clone)]
pub(super) struct Watch(watch::Receiver<Phase>);

impl Watch {
    /// Waits until a phase is reached.
    pub(super) async fn reached(&mut self, phase: Phase) {
        // An error means that the server, which owns the sender, has ended.
        let _ended = self.0.wait_for(|now| *now >= phase).await;
    }

    /// Waits for the next change of the phase and returns it.
    pub(super) async fn changed(&mut self) -> Phase {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => Phase::Cut,
        }
    }

    /// Returns the current phase and marks it as seen.
    pub(super) fn now(&mut self) -> Phase {
        *self.0.borrow_and_update()
    }
}

/// The health of a server.
#[derive(Debug, Clone)]
pub struct Health {
    phase: watch::Receiver<Phase>,
}

impl Health {
    /// Whether the server accepts requests.
    pub fn is_ready(&self) -> bool {
        *self.phase.borrow() == Phase::Open
    }

    /// Waits until the server drains.
    pub async fn draining(&self) {
        let mut phase = self.phase.clone();
        // An error means that the server has ended.
        let _ended = phase.wait_for(|now| *now > Phase::Open).await;
    }

    /// The reply to `/healthz`: the process runs.
    pub fn healthz(&self) -> Reply {
        plain(StatusCode::OK, "ok\n")
    }

    /// The reply to `/readyz` for another reason than draining: 503 with that reason.
    pub fn unready(&self, why: impl Into<Bytes>) -> Reply {
        plain(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    /// The reply to `/readyz`: 200, or 503 while the server drains.
    pub fn readyz(&self) -> Reply {
        if self.is_ready() {
            plain(StatusCode::OK, "ready\n")
        } else {
            plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n")
        }
    }
}

/// Creates a plain-text reply.
fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = typed_reply("text/plain; charset=utf-8", text);
    *reply.status_mut() = status;
    reply
}
