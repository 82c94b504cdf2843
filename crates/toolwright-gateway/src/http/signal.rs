//! Signals. SIGTERM and SIGINT drain, and a second one aborts; SIGHUP reloads the configuration,
//! and an invalid one changes nothing.

use std::io;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::drain::Control;
use super::tls::Tls;
use crate::config::Limits;

/// The settings that a reload applies to new connections. The address, the number of connections
/// and the memory budget change only at a restart.
#[derive(Debug, Clone)]
pub struct Renewal {
    /// The limits
    pub limits: Limits,
    /// The certificate, for TLS
    pub tls: Option<Tls>,
}

/// Reloads the configuration. On failure nothing changes, and the reason is logged.
pub trait Reload: Send + Sync + 'static {
    /// Reads and applies the configuration. It may block.
    fn reload(&self) -> Result<Renewal, String>;
}

impl<F: Fn() -> Result<Renewal, String> + Send + Sync + 'static> Reload for F {
    fn reload(&self) -> Result<Renewal, String> {
        self()
    }
}

/// The handled signals. Once created, none of them kills the process.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

enum Order {
    Stop,
    Reload,
}

impl Signals {
    /// Installs the signal handlers.
    pub fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Order {
        tokio::select! {
            _ = self.terminate.recv() => Order::Stop,
            _ = self.interrupt.recv() => Order::Stop,
            _ = self.hang_up.recv() => Order::Reload,
        }
    }

    /// Handles signals until the server is aborted.
    pub async fn obey(mut self, control: Control, reload: impl Reload) {
        let reload = Arc::new(reload);
        let mut stopping = false;
        loop {
            match self.next().await {
                Order::Stop if stopping => return control.cut(),
                Order::Stop => {
                    tracing::info!(
                        "stopping: requests in flight are finished; a second signal \
                                    exits at once"
                    );
                    control.drain();
                    stopping = true;
                }
                Order::Reload => renew(&control, Arc::clone(&reload)).await,
            }
        }
    }
}

async fn renew(control: &Control, reload: Arc<impl Reload>) {
    let renewal = tokio::task::spawn_blocking(move || reload.reload()).await;
    match renewal.unwrap_or_else(|_| Err("the reload panicked".to_owned())) {
        Ok(renewal) => {
            control.renew(renewal);
            tracing::info!("the configuration was reloaded");
        }
        Err(reason) => {
            tracing::error!(reason, "the configuration was not reloaded: the old one stays");
        }
    }
}
