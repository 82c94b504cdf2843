//! `list_files`: the entries of a folder.

use super::still_wanted;
use super::walk::{Entry, Walk};
use crate::builtin::root::Root;
use crate::prelude::*;

/// What is in a folder.
#[data]
#[non_exhaustive]
pub struct Listing {
    /// In order, folder by folder
    pub entries: Vec<Entry>,
    /// Whether there is more than is listed
    pub more: bool,
}

/// Lists the files and folders in a folder, with their sizes.
#[tool(read_only)]
pub fn list_files(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// The folder, relative to the root
    #[default(".".to_owned())]
    path: String,
    /// How many levels to go down; 1 lists the folder alone
    #[default(1)]
    #[schemars(range(min = 1, max = 20))]
    depth: usize,
    /// The most entries to return
    #[default(200)]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
) -> Result<Listing, ToolError> {
    let mut walk = Walk::new(root, &path, depth)?;
    let mut entries = Vec::new();
    while let Some(folder) = walk.next() {
        still_wanted(scope)?;
        for (_, entry) in folder.entries {
            if entries.len() == limit {
                return Ok(Listing { entries, more: true });
            }
            entries.push(entry);
        }
    }
    Ok(Listing { entries, more: walk.more })
}
