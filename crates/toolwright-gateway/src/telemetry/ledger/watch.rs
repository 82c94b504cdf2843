//! Checks the ledger's file at startup and while the gateway runs.
//!
//! The head of the chain is stored in a file beside the ledger, so that a ledger that was deleted,
//! replaced or truncated while no gateway ran is detected at the next start.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use toolwright_runtime::ledger::{Head, SqliteLedger};
use toolwright_transport::private_file;

use crate::telemetry::config::LedgerSettings;

/// Interval of the checks.
const LOOK: Duration = Duration::from_secs(1);

/// Interval at which old entries are removed.
const REMOVAL_INTERVAL: Duration = Duration::from_hours(1);

/// Logs the result of a quick check at startup. Then flushes the ledger and checks that the file
/// was not moved, every second. Removes old entries.
pub(super) async fn watch(ledger: &SqliteLedger, config: &LedgerSettings, each: impl Fn()) {
    let kept_at = ledger.path().with_extension("head");
    // A killed gateway may have left it.
    drop(std::fs::remove_file(unfinished(&kept_at)));
    let mut kept = read(&kept_at);
    start(ledger, kept).await;
    let mut removed: Option<Instant> = None;
    loop {
        if let Some(time) = config.max_age.and_then(|age| SystemTime::now().checked_sub(age))
            && removed.is_none_or(|last| last.elapsed() >= REMOVAL_INTERVAL)
        {
            removed = Some(Instant::now());
            if let Err(error) = ledger.remove_before(time).await {
                tracing::error!(%error, "old entries of the ledger cannot be removed");
            }
        }
        // The ledger's observer logs the failure.
        if let Ok(head) = ledger.head().await
            && kept != Some(head)
            && write_head(kept_at.clone(), head).await
        {
            kept = Some(head);
        }
        tokio::time::sleep(LOOK).await;
        each();
    }
}

/// Logs damage and gaps.
async fn start(ledger: &SqliteLedger, kept: Option<Head>) {
    if let Err(error) = ledger.inspect().await {
        tracing::error!(%error, "the ledger is damaged; run `toolwright ledger verify` for \
                                 details");
    }
    if let Some(kept) = kept
        && let Ok(false) = ledger.holds(&kept).await
    {
        tracing::error!(
            "the ledger lacks entry {}, which it had when the gateway ran last: it was deleted, \
             replaced or cut off",
            kept.sequence
        );
    }
    for gap in ledger.gaps().await.unwrap_or_default() {
        tracing::warn!("the ledger has a gap {gap}");
    }
}

fn read(path: &Path) -> Option<Head> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The temporary file of the head, which is then renamed.
fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("head.new")
}

/// Writes the head atomically. Returns whether it was written; if not, no file is left behind.
async fn write_head(path: PathBuf, head: Head) -> bool {
    let write = move || {
        private_file::replace(&path, &unfinished(&path), format!("{head}\n").as_bytes()).is_ok()
    };
    tokio::task::spawn_blocking(write).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_that_cannot_be_kept_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.head");
        std::fs::create_dir(&path).unwrap();
        assert!(!write_head(path.clone(), Head::start()).await);
        assert!(!unfinished(&path).exists());
        std::fs::remove_dir(&path).unwrap();
        assert!(write_head(path.clone(), Head::start()).await);
        assert_eq!(read(&path), Some(Head::start()));
    }
}
