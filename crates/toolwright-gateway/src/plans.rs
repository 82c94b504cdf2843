//! Runs of plans: the engine, and those who watch runs. The journal is opened when it is first needed.

pub mod config;
pub mod routes;

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::sync::{OnceCell, RwLock, broadcast};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolwright_core::{Fault, FaultClass};
use toolwright_plan::journal::SqlitePlanJournal;
use toolwright_plan::{LocalEngine, Observer, PlanEvent, PlanThreads};
use toolwright_runtime::Toolbox;

use crate::fault::unavailable;

/// The file in the data folder for runs of plans.
pub const PLAN_FILE: &str = "plans.sqlite";

/// Interval between two removals of runs that ended long ago.
const PRUNE_INTERVAL: Duration = Duration::from_mins(10);

/// Number of events that a slow watcher may be behind before it misses some.
const MAX_BEHIND: usize = 1024;

/// The runs that are watched, until their last drive ends: one may start while another one records its end.
type Watched = HashMap<Arc<str>, broadcast::WeakSender<PlanEvent>>;

/// The runs of a gateway.
#[derive(Default)]
pub struct Plans {
    /// The data folder; without one, runs end with the process
    data: OnceLock<PathBuf>,
    settings: Mutex<config::PlanSettings>,
    engine: OnceCell<LocalEngine>,
    /// The runs that are being driven
    watched: Mutex<Watched>,
    /// Cancelled when no further call may start
    stop: CancellationToken,
    /// Held by each drive
    drives: Arc<RwLock<()>>,
    /// The threads that work on runs
    pub threads: PlanThreads,
}

impl Plans {
    /// Stores runs in a data folder, which must exist, before the first run.
    pub fn set_data(&self, data: PathBuf) {
        let _ = self.data.set(data);
    }

    /// Changes the settings.
    pub fn configure(&self, settings: config::PlanSettings) {
        *self.settings.lock() = settings;
    }

    /// Returns the settings.
    pub fn settings(&self) -> config::PlanSettings {
        *self.settings.lock()
    }

    /// Whether there may be runs.
    pub fn has_runs(&self) -> bool {
        self.data.get().is_some_and(|data| data.join(PLAN_FILE).exists())
    }

    /// Works on the threads of runs. If the caller stops waiting, the work ends.
    pub async fn work<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Fault> {
        AbortOnDropHandle::new(self.threads.spawn(work)).await.map_err(|error| {
            tracing::error!("work on a plan was interrupted: {error}");
            Fault::new(
                FaultClass::Internal,
                "The request was interrupted. The gateway's log says why.",
            )
        })
    }

    /// Drives a run in the background, with `drive`, whose future the observer of the run is given to.
    pub fn spawn<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        run: &Arc<str>,
        drive: impl FnOnce(Observer) -> F,
    ) -> JoinHandle<T> {
        let (drive, drives) = (drive(self.observe(run)), Arc::clone(&self.drives));
        let task = async move {
            let _under_way = drives.read_owned().await;
            drive.await
        };
        self.threads.spawn(task)
    }

    /// Lets runs end after their calls in progress. The future is ready when they have ended.
    pub async fn stop(&self) {
        self.stop.cancel();
        drop(self.drives.write().await);
    }

    /// Removes runs that ended long ago, from time to time, if the data folder has any. Never returns.
    pub async fn prune(&self) {
        loop {
            if self.has_runs()
                && let Ok(engine) = self.engine(Toolbox::default()).await
            {
                let since = SystemTime::now().checked_sub(self.settings().max_age);
                let since = since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
                let since =
                    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default();
                if let Err(error) = engine.journal().prune(since).await {
                    tracing::warn!("runs of plans that ended long ago cannot be removed: {error}");
                }
            }
            tokio::time::sleep(PRUNE_INTERVAL).await;
        }
    }

    /// Returns the engine with the tools of a caller.
    pub async fn engine(&self, toolbox: Toolbox) -> Result<LocalEngine, Fault> {
        let engine = self.engine.get_or_try_init(|| async {
            let engine = LocalEngine::new(Toolbox::default());
            let engine = engine.with_stop(self.stop.clone()).with_resumed_runs();
            let Some(data) = self.data.get().cloned() else { return Ok(engine) };
            let opened =
                tokio::task::spawn_blocking(move || SqlitePlanJournal::open(data.join(PLAN_FILE)));
            let opened = opened.await.map_err(|error| error.to_string())?;
            Ok(engine.with_journal(Arc::new(opened.map_err(|error| error.to_string())?)))
        });
        let engine = engine.await.map_err(|why: String| unavailable(&why))?;
        Ok(engine.with_toolbox(toolbox))
    }

    /// Lets a run be watched until the observer is dropped, which passes its events on.
    fn observe(&self, run: &Arc<str>) -> Observer {
        let mut watched = self.watched.lock();
        watched.retain(|_, sender| sender.strong_count() > 0);
        let sender = watched.get(run).and_then(broadcast::WeakSender::upgrade);
        let sender = sender.unwrap_or_else(|| broadcast::Sender::new(MAX_BEHIND));
        watched.insert(Arc::clone(run), sender.downgrade());
        // Nobody may be watching.
        Arc::new(move |event: &PlanEvent| drop(sender.send(event.clone())))
    }

    /// Watches a run, if it is being driven.
    pub fn watch(&self, run: &str) -> Option<broadcast::Receiver<PlanEvent>> {
        Some(self.watched.lock().get(run)?.upgrade()?.subscribe())
    }
}
