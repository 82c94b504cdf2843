//! What the tests of several crates need: seeds of properties, generated values, fixtures and golden files. It is not
//! published.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc
)]

#[cfg(feature = "oauth")]
pub mod authorization_server;
pub mod fixtures;
pub mod generate;
pub mod golden;
pub mod growth;
pub mod process;
pub mod seeds;
pub mod server;
#[cfg(feature = "runtime")]
pub mod tools;
