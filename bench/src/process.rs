//! The measured processes: started on their own cores, read from `/proc`.

mod child;
mod cores;
mod site;
mod usage;

pub(crate) use self::child::{Child, Serving};
pub(crate) use self::cores::{Cores, allow_many_files};
pub(crate) use self::site::{Site, get, mcp_table, page, upstream_table};
pub(crate) use self::usage::{Machine, Usage, descendants, files, resident};
