//! Serves a gateway at the address of its configuration, with the work in the background that belongs to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use toolwright_runtime::call::journal::JournalError;
use toolwright_runtime::store::StoreError;

use super::Gateway;
use super::config::Config;
use super::router::Router;
use crate::http::{Control, Ended, ListenError, Renewal, Server, Tls, TlsError};
use crate::plans::routes::resume;

/// A gateway that is bound to its address.
pub struct GatewayServer {
    gateway: Arc<Gateway>,
    server: Server,
    /// Maximum time for requests and runs in progress after the server was told to stop
    drain_timeout: Duration,
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The certificate cannot be used
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A store in the data folder cannot be used
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal of effects cannot be used
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Config {
    /// Returns the settings of the server, with the certificate from its files.
    pub fn renewal(&self) -> Result<Renewal, TlsError> {
        let tls = self.tls.as_ref().map(|files| Tls::load(&files.cert, &files.key)).transpose()?;
        Ok(Renewal { limits: self.limits.clone(), tls })
    }
}

impl GatewayServer {
    /// Reads what the gateway has stored, and binds the address of the configuration.
    pub async fn bind(gateway: Arc<Gateway>, config: &Config) -> Result<Self, ServeError> {
        gateway.reasoning_cache.load(Instant::now()).await?;
        gateway.stores.journal.report_unfinished().await?;
        let renewal = config.renewal()?;
        let (address, connections) = (config.listen.to_string(), config.limits.connections);
        let server = Server::bind(&address, connections).await?;
        let server = server.with_budget(Arc::clone(&gateway.budget));
        server.control().renew(renewal);
        Ok(GatewayServer { gateway, server, drain_timeout: config.limits.drain_timeout })
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns what stops the server and changes its settings.
    pub fn control(&self) -> Control {
        self.server.control()
    }

    /// Serves until the server was told to stop and the requests in progress have ended. Runs of plans that have not
    /// ended by then are waited for, unless `impatient` is ready before.
    pub async fn run(self, impatient: impl Future<Output = ()>) -> Result<Ended, ServeError> {
        let (telemetry, responses) =
            (self.gateway.telemetry.clone(), Arc::clone(&self.gateway.responses));
        let (ended, stopped) = self.start();
        let ended = ended.await;
        tokio::select! {
            _ = stopped => {}
            () = impatient => {}
        }
        telemetry.flush().await?;
        responses.flush().await?;
        Ok(ended)
    }

    /// Starts the tasks beside the server. Returns the server, and the task that waits for runs of plans once it was
    /// told to stop.
    fn start(self) -> (BoxFuture<'static, Ended>, JoinHandle<()>) {
        let GatewayServer { gateway, server, drain_timeout } = self;
        gateway.live().follow(&gateway.announcer);
        tokio::spawn(gateway.telemetry.clone().watch());
        let journal = Arc::clone(&gateway.stores.journal);
        tokio::spawn(async move { journal.prune().await });
        let prefabs = Arc::clone(&gateway.prefabs);
        tokio::spawn(async move { prefabs.sweep().await });
        let plans = Arc::clone(&gateway.plans);
        tokio::spawn(async move { plans.prune().await });
        let resuming = Arc::clone(&gateway);
        tokio::spawn(resume(move || resuming.plan_state()));
        let (health, plans) = (server.health(), Arc::clone(&gateway.plans));
        let stopped = tokio::spawn(async move {
            health.draining().await;
            // What has not ended by then is interrupted.
            drop(tokio::time::timeout(drain_timeout, plans.stop()).await);
        });
        let router = Router::new(gateway, server.health(), server.address());
        (Box::pin(server.run(Arc::new(router))), stopped)
    }
}
