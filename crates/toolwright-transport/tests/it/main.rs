//! Integration tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "http")]
mod transport;
