//! Integration tests of the crate, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::case_sensitive_file_extension_comparisons
)]
// Most tools of the tests need no description.
#![allow(deprecated)]

// The macros write the name of the crate that users depend on.
extern crate toolwright_runtime as toolwright;

mod plan;
mod plan_arazzo;
mod plan_draw;
#[cfg(feature = "sqlite")]
mod run;
