//! The snapshot of an index in the data folder.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use toolwright_search::Index;
use toolwright_transport::private_file;

use crate::store::Catalog;

/// The snapshot in the data folder.
const SNAPSHOT_FILE: &str = "catalog-search.bin";

impl Catalog {
    /// Writes the snapshot.
    pub(crate) fn save_index(&self) {
        let snapshot = {
            let state = self.search_index().state.read();
            state.index.as_ref().map(Index::to_snapshot)
        };
        if let Some(bytes) = snapshot {
            self.write_snapshot(&bytes);
        }
    }

    fn snapshot_path(&self) -> PathBuf {
        self.path().with_file_name(SNAPSHOT_FILE)
    }

    /// Reads the snapshot. Without one, the index is empty.
    pub(super) fn read_snapshot(&self) -> Index {
        let bytes = fs::read(self.snapshot_path()).ok();
        bytes.and_then(|bytes| Index::from_snapshot(&bytes).ok()).unwrap_or_default()
    }

    /// Replaces the snapshot. Several threads and processes may do so at once.
    pub(super) fn write_snapshot(&self, bytes: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (path, count) = (self.snapshot_path(), COUNT.fetch_add(1, Ordering::Relaxed));
        let temporary = path.with_extension(format!("{}-{count}.tmp", std::process::id()));
        // Without a snapshot the next process takes longer.
        let _written = private_file::replace(&path, &temporary, bytes);
    }
}
