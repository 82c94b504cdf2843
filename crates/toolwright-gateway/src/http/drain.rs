//! The end of serving: nothing new is accepted, what is under way is finished, and after a while it
//! is cut.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use tokio::sync::watch;

use super::reply::{Reply, ReplyBody};
use super::settings::{Current, Settings};
use super::signal::Renewal;
use crate::config::Limits;

/// How far the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It accepts
    Open,
    /// It finishes what is under way
    Draining,
    /// It drops what is under way
    Cut,
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything under way was finished
    Drained,
    /// This many connections were cut
    Cut(usize),
}

/// Ends or renews a server from elsewhere. Clones order the same server.
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

    /// Stops accepting and finishes what is under way, within `limits.drain`.
    pub fn drain(&self) {
        self.advance(Phase::Draining);
    }

    /// Drops what is under way.
    pub fn cut(&self) {
        self.advance(Phase::Cut);
    }

    /// Serves connections to come by other settings.
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

    /// What tells others how the server is.
    pub fn health(&self) -> Health {
        Health { phase: self.phase.subscribe() }
    }

    pub(super) fn watch(&self) -> Watch {
        Watch(self.phase.subscribe())
    }
}

/// Waits for the server's next phase.
#[derive(Debug, Clone)]
pub(super) struct Watch(watch::Receiver<Phase>);

impl Watch {
    /// Waits until the phase is at least this one.
    pub(super) async fn reached(&mut self, phase: Phase) {
        // The sender lives as long as the server: an error is its end.
        let _ended = self.0.wait_for(|now| *now >= phase).await;
    }

    /// Waits until the phase has changed since it was last seen, and gives it.
    pub(super) async fn changed(&mut self) -> Phase {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => Phase::Cut,
        }
    }

    /// The phase now. A change that came before is not told again.
    pub(super) fn now(&mut self) -> Phase {
        *self.0.borrow_and_update()
    }
}

/// Answers those who ask how the server is.
#[derive(Debug, Clone)]
pub struct Health {
    phase: watch::Receiver<Phase>,
}

impl Health {
    /// Whether new requests are welcome.
    pub fn is_ready(&self) -> bool {
        *self.phase.borrow() == Phase::Open
    }

    /// The answer to `/healthz`: the process lives.
    pub fn healthz(&self) -> Reply {
        plain(StatusCode::OK, "ok\n")
    }

    /// The answer to `/readyz` while something else than draining keeps requests out: 503, in words.
    pub fn unready(&self, why: &'static str) -> Reply {
        plain(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    /// The answer to `/readyz`: 200, or 503 once the server drains.
    pub fn readyz(&self) -> Reply {
        if self.is_ready() {
            plain(StatusCode::OK, "ready\n")
        } else {
            plain(StatusCode::SERVICE_UNAVAILABLE, "draining\n")
        }
    }
}

/// A reply in plain words.
fn plain(status: StatusCode, text: &'static str) -> Reply {
    let mut reply = Reply::new(ReplyBody::full(Bytes::from_static(text.as_bytes())));
    *reply.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, text);
    reply
}
