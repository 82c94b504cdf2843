//! The files under `fixtures/`.

use std::path::{Path, PathBuf};

use toolwright_json::Json;

/// The directory of all fixtures.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Reads a fixture with one document on each line.
pub fn lines(relative: &str) -> Vec<Json> {
    let text = std::fs::read_to_string(root().join(relative)).unwrap();
    text.lines().map(|line| Json::parse(line).unwrap()).collect()
}
