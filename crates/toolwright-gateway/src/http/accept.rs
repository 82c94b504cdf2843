//! The server: takes connections as they come, as many at once as the limits allow, until it is
//! told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::arrival::Service;
use super::budget::Budget;
use super::connection::{self, Line};
use super::drain::{Control, Ended, Health, Phase};
use super::limits::Limits;
use super::listen::{ListenError, listen};
use super::pulse::Pulse;

/// How long accepting pauses when the system has no room for another socket.
const PAUSE: Duration = Duration::from_millis(100);

/// How long connections that are cut may take to be gone.
const CUTTING: Duration = Duration::from_secs(1);

/// A port that is listened at.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Arc<Mutex<Arc<Settings>>>,
    control: Control,
}

/// What connections are served by. A reload puts new ones in place, for connections to come.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) limits: Limits,
    pub(super) http1: http1::Builder,
    pub(super) http2: http2::Builder<TokioExecutor>,
}

impl Settings {
    fn new(limits: Limits) -> Settings {
        let mut http1 = http1::Builder::new();
        // The pulse keeps the time of heads, without a timer for each.
        http1.header_read_timeout(None).max_header_size(limits.header_bytes);
        // Saying what hyper does anyway would cost an allocation for each request.
        if limits.headers != Limits::default().headers {
            http1.max_headers(limits.headers);
        }
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .max_concurrent_streams(256)
            .initial_stream_window_size(256 << 10)
            .initial_connection_window_size(1 << 20)
            .max_send_buf_size(64 << 10)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        Settings { limits, http1, http2 }
    }
}

impl Server {
    /// Listens at an address such as `127.0.0.1:8000`.
    pub async fn bind(address: &str) -> Result<Server, ListenError> {
        let (listener, address) = listen(address).await?;
        let settings = Arc::new(Mutex::new(Arc::new(Settings::new(Limits::default()))));
        Ok(Server { listener, address, settings, control: Control::new() })
    }

    /// With limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Server {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(Settings::new(limits));
        self
    }

    /// The address, with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends the server.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// What tells others how the server is.
    pub fn health(&self) -> Health {
        self.control.health()
    }

    /// Serves until it is told to stop.
    pub async fn run(self, service: Arc<impl Service>) -> Ended {
        let Server { listener, settings, control, .. } = self;
        let first = current(&settings);
        let most = first.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        let budget = Budget::new(first.limits.memory);
        drop(first);
        let slots = Arc::new(Semaphore::new(most));
        let mut watch = control.watch();
        loop {
            let (socket, peer, slot) = tokio::select! {
                biased;
                () = watch.reached(Phase::Draining) => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            // Small frames of a stream must not wait for the acknowledgement of those before.
            let _unchanged = socket.set_nodelay(true);
            let line = Line {
                peer,
                secure: false,
                settings: current(&settings),
                budget: Arc::clone(&budget),
                pulse: Pulse::new(),
            };
            let (service, watch) = (Arc::clone(&service), control.watch());
            tokio::spawn(async move {
                connection::serve(socket, line, service, watch).await;
                drop(slot);
            });
        }
        drop(listener);
        let patience = current(&settings).limits.drain;
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        tokio::select! {
            _all = slots.acquire_many(all) => return Ended::Drained,
            () = sleep(patience) => {}
            () = watch.reached(Phase::Cut) => {}
        }
        let left = most - slots.available_permits();
        control.cut();
        let _gone = timeout(CUTTING, slots.acquire_many(all)).await;
        Ended::Cut(left)
    }
}

fn current(settings: &Mutex<Arc<Settings>>) -> Arc<Settings> {
    Arc::clone(&settings.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Waits for room, then for a connection.
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
                sleep(PAUSE).await;
            }
        }
    }
}

/// Whether the client left before it was accepted.
fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
