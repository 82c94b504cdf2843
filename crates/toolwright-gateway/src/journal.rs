//! The journal of effects: what calls of tools began and finished, so that no retry or restart repeats an effect.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolwright_runtime::call::journal::{
    JournalError, MemoryJournal, SharedJournal, SqliteJournal, Unfinished,
};

/// How long finished effects stay in the journal: longer than a run is saved.
const JOURNAL_AGE: Duration = Duration::from_hours(7 * 24);

/// Interval at which finished effects are removed from the journal.
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);

/// Maximum number of unfinished effects that are logged at startup.
const MAX_REPORTED: usize = 20;

/// The journal of effects of a gateway.
pub struct EffectJournal {
    journal: SharedJournal,
    /// The journal for runs that nothing can repeat
    unrepeatable: SharedJournal,
    /// The journal, if it is a file
    file: Option<Arc<SqliteJournal>>,
}

/// In memory.
impl Default for EffectJournal {
    fn default() -> EffectJournal {
        let journal = SharedJournal::new(MemoryJournal::new());
        EffectJournal { unrepeatable: journal.clone(), journal, file: None }
    }
}

impl EffectJournal {
    /// Creates the journal of a file.
    pub fn in_file(journal: SqliteJournal) -> EffectJournal {
        let file = Arc::new(journal);
        let unrepeatable = SharedJournal::new(file.without_sync());
        let journal = SharedJournal::of(Arc::clone(&file));
        EffectJournal { journal, unrepeatable, file: Some(file) }
    }

    /// Returns the journal.
    pub fn shared(&self) -> SharedJournal {
        self.journal.clone()
    }

    /// Returns the journal for a request that its client may repeat, or for one with a run of its own, whose effects
    /// are recorded without waiting for the disk.
    pub fn of_request(&self, is_keyed: bool) -> SharedJournal {
        if is_keyed { self.shared() } else { self.unrepeatable.clone() }
    }

    /// Returns effects that a process began and did not finish, the oldest first.
    pub async fn unfinished(&self) -> Result<Vec<Unfinished>, JournalError> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let since = SystemTime::now().checked_sub(JOURNAL_AGE);
        let mut unfinished = file.unfinished().await?;
        unfinished.retain(|effect| since.is_none_or(|since| effect.begun > since));
        Ok(unfinished)
    }

    /// Logs effects that an earlier process began and did not finish.
    pub async fn report_unfinished(&self) -> Result<(), JournalError> {
        let unfinished = self.unfinished().await?;
        for effect in unfinished.iter().rev().take(MAX_REPORTED) {
            tracing::warn!(
                run = &*effect.intent.run,
                tool = &*effect.intent.tool,
                call = &*effect.intent.call_id,
                "the gateway ended during this call: its effect is unknown, and the call will not \
                 be repeated"
            );
        }
        if unfinished.len() > MAX_REPORTED {
            tracing::warn!("{} unfinished calls in all", unfinished.len());
        }
        Ok(())
    }

    /// Removes finished effects periodically. Returns at once if the journal is in memory.
    pub async fn prune(&self) {
        let Some(file) = &self.file else { return };
        loop {
            if let Err(error) = file.prune(JOURNAL_AGE).await {
                tracing::warn!("{error}");
            }
            tokio::time::sleep(PRUNE_INTERVAL).await;
        }
    }
}
