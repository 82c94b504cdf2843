//! JSON documents that are stored and read again: saved runs, approvals, policies, kept reasoning,
//! entries of the ledger and the journal.
//!
//! [`Fields`] reads the members of an object and reports where something else was expected. Parts,
//! calls and outcomes have one stored form, wherever they are stored.

mod fields;
mod part;

pub use fields::{DocumentError, Fields, items, text};
pub use part::{
    read_call, read_dialect, read_extra, read_outcome, read_part, write_call, write_extra,
    write_outcome, write_part,
};
