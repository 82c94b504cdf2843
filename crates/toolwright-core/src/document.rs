//! JSON documents of this project.
//!
//! Stored documents, such as saved runs, approvals and entries of the journal, were written by this program: an
//! [`ObjectReader`] reads the members of an object, and the first error ends it. Parts, calls and outcomes have the same form
//! in all of them. Documents that people and models write, such as plans and manifests, are read as [`Node`]s and
//! [`Fields`], which collect every fault.

mod node;
mod part;
mod reader;

pub use node::{DocumentFault, Faults, Fields, Node, positions};
pub use part::{
    read_call, read_dialect, read_extra, read_outcome, read_part, read_usage, write_call,
    write_extra, write_outcome, write_part,
};
use reader::Result;
pub use reader::{DocumentError, ObjectReader, items, text};
