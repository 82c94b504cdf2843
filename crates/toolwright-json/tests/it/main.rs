//! Tests of the public interface.

#![allow(clippy::unwrap_used)]

mod json;
mod peek;
