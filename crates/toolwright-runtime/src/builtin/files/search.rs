//! `search_files`: the lines that contain a text.

use std::io::Read;

use super::still_wanted;
use super::walk::{Kind, Walk};
use crate::builtin::root::{Root, open_file};
use crate::prelude::*;

/// Maximum size of a file that is searched.
const FILE_MAX: u64 = 4 << 20;

/// Maximum number of files that are searched.
const FILES_MAX: usize = 20_000;

/// Maximum number of bytes of a line in the result.
const LINE_MAX: usize = 300;

/// What was found.
#[data]
#[non_exhaustive]
pub struct Found {
    /// In order, folder by folder
    pub matches: Vec<Match>,
    /// Whether the search ended before everything was looked at
    pub more: bool,
}

/// A line with the words.
#[data]
#[non_exhaustive]
pub struct Match {
    /// The file, relative to the root
    pub path: String,
    /// The number of the line, from 1
    pub line: usize,
    /// The line
    pub text: String,
}

/// Finds the lines of text files that contain some words, in a folder and all folders in it.
#[tool(read_only)]
pub fn search_files(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// The words as they are written; not a pattern
    #[schemars(length(min = 1, max = 1000))]
    text: String,
    /// The folder to search, relative to the root
    #[default(".".to_owned())]
    path: String,
    /// Whether upper and lower case are the same
    #[default(false)]
    ignore_case: bool,
    /// The most lines to return
    #[default(50)]
    #[schemars(range(min = 1, max = 500))]
    limit: usize,
) -> Result<Found, ToolError> {
    let fold = |text: &str| if ignore_case { text.to_lowercase() } else { text.to_owned() };
    let wanted = fold(&text);
    let mut walk = Walk::new(root, &path, usize::MAX)?;
    let mut matches = Vec::new();
    let mut files = 0;
    while let Some(folder) = walk.next() {
        for (name, entry) in &folder.entries {
            still_wanted(scope)?;
            if entry.kind != Kind::File || entry.size.is_none_or(|size| size > FILE_MAX) {
                continue;
            }
            files += 1;
            if files > FILES_MAX {
                return Ok(Found { matches, more: true });
            }
            let place = folder.place.join(name);
            let Ok((file, _)) = open_file(&folder.dir, name, &place) else { continue };
            let mut content = String::new();
            // Skip files that are not text.
            if file.take(FILE_MAX).read_to_string(&mut content).is_err() {
                continue;
            }
            for (index, line) in content.lines().enumerate() {
                if !fold(line).contains(&wanted) {
                    continue;
                }
                if matches.len() == limit {
                    return Ok(Found { matches, more: true });
                }
                let text = line[..line.floor_char_boundary(LINE_MAX)].to_owned();
                matches.push(Match { path: entry.path.clone(), line: index + 1, text });
            }
        }
    }
    Ok(Found { matches, more: walk.more })
}
