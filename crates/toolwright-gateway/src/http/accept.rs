//! The server: accepts connections up to a limit, until it drains.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::budget::Budget;
use super::config::Limits;
use super::connection::{self, ConnectionContext, ConnectionEnd};
use super::drain::{Control, Ended, Health, Phase};
use super::listen::{ListenError, listen};
use super::request::Service;
use super::settings::Settings;
use super::tls::Tls;
use super::watchdog::Watchdog;

/// Delay before the next accept when the system is out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Maximum time for aborted connections to end.
const CUT_TIMEOUT: Duration = Duration::from_secs(1);

/// A bound server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    control: Control,
    budget: Option<Arc<Budget>>,
}

impl Server {
    /// Listens on an address such as `127.0.0.1:8000`, with a backlog for `connections`.
    pub async fn bind(address: &str, connections: usize) -> Result<Server, ListenError> {
        let (listener, address) = listen(address, connections).await?;
        Ok(Server { listener, address, control: Control::new(), budget: None })
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Server {
        let tls = self.control.settings.get().tls.clone();
        self.control.settings.set(Settings::new(limits, tls));
        self
    }

    /// Sets the memory budget; otherwise it is that of the limits.
    #[must_use]
    pub fn with_budget(mut self, budget: Arc<Budget>) -> Server {
        self.budget = Some(budget);
        self
    }

    /// Sets a certificate: connections use TLS only.
    #[must_use]
    pub fn with_tls(self, tls: Tls) -> Server {
        let limits = self.control.settings.get().limits.clone();
        self.control.settings.set(Settings::new(limits, Some(tls)));
        self
    }

    /// Returns the bound address with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the control that stops the server.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Returns the health of the server.
    pub fn health(&self) -> Health {
        self.control.health()
    }

    /// Serves until the server is stopped.
    pub async fn run(self, service: Arc<impl Service>) -> Ended {
        let Server { listener, control, budget, .. } = self;
        let first = control.settings.get();
        let most = first.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        let budget = budget.unwrap_or_else(|| Budget::new(first.limits.budget()));
        drop(first);
        let slots = Arc::new(Semaphore::new(most));
        let cuts = Arc::new(AtomicUsize::new(0));
        let mut watch = control.watch();
        loop {
            let (socket, peer, slot) = tokio::select! {
                biased;
                () = watch.reached(Phase::Draining) => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            // Small frames of a stream must not wait for acknowledgements.
            let _unchanged = socket.set_nodelay(true);
            let settings = control.settings.get();
            let secure = settings.tls.is_some();
            let (budget, watchdog) = (Arc::clone(&budget), Watchdog::new());
            let context = ConnectionContext { peer, secure, settings, budget, watchdog };
            let (service, watch) = (Arc::clone(&service), control.watch());
            let cuts = Arc::clone(&cuts);
            tokio::spawn(async move {
                if connection::open(socket, context, service, watch).await == ConnectionEnd::Cut {
                    cuts.fetch_add(1, Ordering::Relaxed);
                }
                drop(slot);
            });
        }
        drop(listener);
        let patience = control.settings.get().limits.drain_timeout;
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        // All of them may have been aborted.
        let gone = tokio::select! {
            all = slots.acquire_many(all) => all.is_ok(),
            () = sleep(patience) => false,
            () = watch.reached(Phase::Cut) => false,
        };
        control.cut();
        let gone = gone || timeout(CUT_TIMEOUT, slots.acquire_many(all)).await.is_ok();
        let stuck = if gone { 0 } else { most - slots.available_permits() };
        match cuts.load(Ordering::Relaxed) + stuck {
            0 => Ended::Drained,
            cut => Ended::Cut(cut),
        }
    }
}

/// Waits for a free slot, then for a connection.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => return (socket, peer, slot),
            Err(error) if is_theirs(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// Whether the error means that the client disconnected before it was accepted.
fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
