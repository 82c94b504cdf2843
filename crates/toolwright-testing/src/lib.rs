//! What the tests of several crates need: seeds of properties, generated values, fixtures and golden files. It is not
//! published.

#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc)]

pub mod fixtures;
pub mod generate;
pub mod golden;
pub mod growth;
pub mod seeds;
