//! The functions of GitHub's OpenAPI document, which are one large prefab, as two sets.
//!
//! The document is GitHub's (MIT), out of the package of npm that `openapi-report` uses, and is not in this repository.
//! The queries of the first set, fifty in the folder `github`, were written for this report: each means what a summary
//! of the document says, in other words. Those of the second set are the summaries.

use std::fs;
use std::path::PathBuf;

use crate::build;
use crate::openapi_report::{GITHUB, fetch};
use crate::run::{Outcome, Program, root};

/// The sets.
const FOLDERS: [&str; 2] = ["target/search-report/github", "target/search-report/its summaries"];

/// Fetches the document, imports it and returns the folders of the sets.
pub(super) fn write_sets() -> Outcome<[PathBuf; 2]> {
    let write = root().join(build::example("write_openapi_sets")?);
    Program::new(write).with(&[&fetch(GITHUB)?.concat()]).with(&FOLDERS).run()?;
    let folders = FOLDERS.map(|folder| root().join(folder));
    fs::write(folders[0].join("queries.jsonl"), include_str!("github/queries.jsonl"))?;
    fs::write(folders[0].join("qrels.jsonl"), include_str!("github/qrels.jsonl"))?;
    Ok(folders)
}
