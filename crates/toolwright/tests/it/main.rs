//! Integration tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod handle;
mod journal;
mod macros;
#[cfg(feature = "sqlite")]
mod process;
mod support;
mod toolbox;
