//! Integration tests of the search for tools.

#![allow(clippy::expect_used)]

mod dictionary;
mod properties;
mod rank;
mod snapshot;
mod vectors;
