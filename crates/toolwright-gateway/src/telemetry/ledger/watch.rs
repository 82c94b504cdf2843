//! Looks at the ledger's file at the start and while the gateway runs.
//!
//! The end of the chain is kept in a file beside the ledger, so that a ledger that was deleted,
//! replaced or cut off while no gateway ran is noticed at the next start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright::ledger::{Head, SqliteLedger};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Logs what a quick look shows at the start. Then writes what waits and checks that the file is in
/// its place, each second.
pub(super) async fn watch(ledger: Arc<SqliteLedger>) {
    let kept_at = ledger.path().with_extension("head");
    // A gateway that was killed may have left it.
    drop(std::fs::remove_file(unfinished(&kept_at)));
    let mut kept = read(&kept_at);
    start(&ledger, kept).await;
    let ledger = Arc::downgrade(&ledger);
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(ledger) = ledger.upgrade() else { return };
        // A failure is logged by the ledger's observer.
        let Ok(head) = ledger.head().await else { continue };
        if kept != Some(head) && keep(kept_at.clone(), head).await {
            kept = Some(head);
        }
    }
}

/// Logs damage, and what is missing.
async fn start(ledger: &SqliteLedger, kept: Option<Head>) {
    if let Err(error) = ledger.inspect().await {
        tracing::error!(%error, "the ledger is damaged; `toolwright ledger verify` tells more");
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

/// Where the end of the chain is written before it replaces the one that is kept.
fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("head.new")
}

/// Writes the end of the chain in one step. Returns whether it is kept; if not, nothing is left behind.
async fn keep(path: PathBuf, head: Head) -> bool {
    let write = move || {
        let half = unfinished(&path);
        let written = std::fs::write(&half, format!("{head}\n"));
        let kept = written.and_then(|()| std::fs::rename(&half, &path)).is_ok();
        if !kept {
            drop(std::fs::remove_file(&half));
        }
        kept
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
        assert!(!keep(path.clone(), Head::start()).await);
        assert!(!unfinished(&path).exists());
        std::fs::remove_dir(&path).unwrap();
        assert!(keep(path.clone(), Head::start()).await);
        assert_eq!(read(&path), Some(Head::start()));
    }
}
