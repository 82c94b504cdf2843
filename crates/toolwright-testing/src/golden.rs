//! Files that hold what a test expects. `TOOLWRIGHT_GOLDEN=write cargo test` writes them again; review the difference.

use std::path::Path;

/// Compares a file with the bytes, or writes it.
pub fn compare(path: &Path, bytes: &[u8]) {
    if std::env::var("TOOLWRIGHT_GOLDEN").is_ok_and(|mode| mode == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let golden = std::fs::read(path).unwrap_or_default();
    let (golden, now) = (String::from_utf8_lossy(&golden), String::from_utf8_lossy(bytes));
    assert!(golden == now, "{} differs; it would now be:\n{now}", path.display());
}
