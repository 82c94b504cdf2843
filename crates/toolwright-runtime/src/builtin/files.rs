//! File tools within a root, one per file. Results are bounded, and a truncated result is marked as such.

mod list;
mod read;
mod search;
mod walk;
mod write;

pub use list::list_files;
pub use read::read_file;
pub use search::search_files;
pub use write::write_file;

use crate::error::ToolError;
use crate::session::Scope;

/// Stops long work if the call was cancelled.
fn still_wanted(scope: &Scope) -> Result<(), ToolError> {
    if scope.cancel.is_cancelled() {
        return Err(ToolError::new("The call was cancelled before it finished."));
    }
    Ok(())
}
