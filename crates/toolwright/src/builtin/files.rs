//! Files within a root, one verb a file. What they give back is bounded, and the model is told
//! where it ends.

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

/// Ends long work that nobody waits for any more.
fn still_wanted(scope: &Scope) -> Result<(), ToolError> {
    if scope.cancel.is_cancelled() {
        return Err(ToolError::new("The call was given up before it was done."));
    }
    Ok(())
}
