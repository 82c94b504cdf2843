//! Signals. SIGTERM and SIGINT drain, and a second one aborts; SIGHUP reloads the configuration,
//! and an invalid one changes nothing.

use std::io;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config::Limits;
use super::drain::Control;
use super::tls::Tls;

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

/// The handled signals. Once created, none of them kills the process.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
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

    /// Handles signals until the server is aborted.
    pub async fn obey(mut self, control: Control, reload: impl Reload) {
        let reload = Arc::new(reload);
        let mut stopping = false;
        loop {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                _ = self.hang_up.recv() => {
                    renew(&control, Arc::clone(&reload)).await;
                    continue;
                }
            }
            if stopping {
                return control.cut();
            }
            tracing::info!(
                "stopping: requests in flight are finished; a second signal exits at once"
            );
            control.drain();
            stopping = true;
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
