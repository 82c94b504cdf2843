//! Integration tests of the core, in one binary.

#![allow(clippy::unwrap_used, clippy::panic, clippy::case_sensitive_file_extension_comparisons)]

mod args;
mod check;
mod growing;
mod repair;
mod schema;
