//! Runs of plans: the engine, and those who watch runs. The journal is opened when it is first needed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{OnceCell, broadcast};
use toolwright::Toolbox;
use toolwright::plan::journal::SqlitePlanJournal;
use toolwright::plan::{LocalEngine, Observer, PlanEvent};
use toolwright_core::{Fault, FaultClass};

use crate::config;

/// The file in the data folder for runs of plans.
pub const PLAN_FILE: &str = "plans.sqlite";

/// Interval between two removals of runs that ended long ago.
const PRUNE_INTERVAL: Duration = Duration::from_mins(10);

/// Number of events that a slow watcher may be behind before it misses some.
const MAX_BEHIND: usize = 1024;

/// The runs that are watched, and by how many drives: one may start while another one records its end.
type Watched = HashMap<Arc<str>, (broadcast::Sender<PlanEvent>, usize)>;

/// Lets a run be watched. Dropping the last one of a run ends the streams of its events.
pub struct WatchGuard {
    run: Arc<str>,
    watched: Arc<Mutex<Watched>>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, drives)) = watched.get_mut(&self.run) {
            *drives -= 1;
            if *drives == 0 {
                watched.remove(&self.run);
            }
        }
    }
}

/// The runs of a gateway.
#[derive(Default)]
pub struct Plans {
    /// The data folder; without one, runs end with the process
    data: Option<PathBuf>,
    /// How long runs are kept
    retention: Mutex<config::Plans>,
    engine: OnceCell<LocalEngine>,
    /// The runs that are being driven
    watched: Arc<Mutex<Watched>>,
}

impl Plans {
    /// Creates the runs of a data folder, which must exist.
    pub fn new(data: PathBuf, retention: config::Plans) -> Plans {
        Plans { data: Some(data), retention: Mutex::new(retention), ..Plans::default() }
    }

    /// Sets how long runs are kept.
    pub fn configure(&self, retention: config::Plans) {
        *self.retention.lock().unwrap_or_else(PoisonError::into_inner) = retention;
    }

    /// Removes runs that ended long ago, from time to time, if the data folder has any. Never returns.
    pub async fn prune(&self) {
        loop {
            let file = self.data.as_ref().map(|data| data.join(PLAN_FILE));
            if file.is_some_and(|file| file.exists())
                && let Ok(engine) = self.engine(Toolbox::default()).await
            {
                let retention = *self.retention.lock().unwrap_or_else(PoisonError::into_inner);
                let since = SystemTime::now().checked_sub(retention.max_age);
                let since = since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
                let since =
                    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default();
                if let Err(error) = engine.journal().prune(since, retention.max_runs).await {
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
            let Some(data) = self.data.clone() else { return Ok(engine) };
            let opened =
                tokio::task::spawn_blocking(move || SqlitePlanJournal::open(data.join(PLAN_FILE)));
            let opened = opened.await.map_err(|error| error.to_string())?;
            Ok(engine.with_journal(Arc::new(opened.map_err(|error| error.to_string())?)))
        });
        let engine = engine.await.map_err(|why: String| {
            tracing::warn!("the journal of plans cannot be opened: {why}");
            let message = "The gateway cannot use its data folder now. Its log says why.";
            Fault { status: Some(503), ..Fault::new(FaultClass::Internal, message) }
        })?;
        Ok(engine.with_toolbox(toolbox))
    }

    /// Lets a run be watched until the guard is dropped. The observer passes its events on.
    pub fn observe(&self, run: &Arc<str>) -> (Observer, WatchGuard) {
        let mut watched = self.watched();
        let (sender, drives) = watched
            .entry(Arc::clone(run))
            .or_insert_with(|| (broadcast::Sender::new(MAX_BEHIND), 0));
        *drives += 1;
        let sender = sender.clone();
        let guard = WatchGuard { run: Arc::clone(run), watched: Arc::clone(&self.watched) };
        // Nobody may be watching.
        (Arc::new(move |event: &PlanEvent| drop(sender.send(event.clone()))), guard)
    }

    /// Watches a run, if it is being driven.
    pub fn watch(&self, run: &str) -> Option<broadcast::Receiver<PlanEvent>> {
        self.watched().get(run).map(|(sender, _)| sender.subscribe())
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
