//! Stored JSON documents: saved runs, approvals, policies, cached reasoning, entries of the ledger
//! and the journal.
//!
//! [`ObjectReader`] reads the members of an object, with errors that have a path. Parts, calls and
//! outcomes have the same form in all documents.

mod part;
mod reader;

pub use part::{
    read_call, read_dialect, read_extra, read_outcome, read_part, read_usage, write_call,
    write_extra, write_outcome, write_part,
};
pub use reader::{DocumentError, ObjectReader, items, text};
