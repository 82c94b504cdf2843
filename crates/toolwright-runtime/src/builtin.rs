//! Built-in tools: files within a root, git, and tables whose cells the model does not see.
//!
//! They are defined with `#[tool]` like any other tool and serve as examples: the root is context,
//! results are bounded, and an error message says how to correct the call.

pub mod csv;
pub mod data;
pub mod files;
pub mod git;
mod root;
mod table;

pub use root::{PathError, RelativePath, Root, Shown};
pub use table::{Table, TableError};

use crate::handler::Handler;

/// Returns all built-in tools for a root. Tables are passed as handles, so the toolbox needs a
/// handle store.
pub fn handlers(root: Root) -> Vec<Handler> {
    let rooted = [
        files::list_files::handler(),
        files::read_file::handler(),
        files::write_file(root.clone()),
        files::search_files::handler(),
        git::git_status::handler(),
        git::git_diff::handler(),
        git::git_log::handler(),
        git::git_add::handler(),
        git::git_commit::handler(),
    ];
    let rooted = rooted.into_iter().map(|handler| handler.with_own(root.clone()));
    rooted.chain(data::by_handle(&root)).collect()
}
