//! Integration tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Most tools of the tests need no description.
#![allow(deprecated)]

// The macros write the name of the crate that users depend on.
extern crate toolwright_runtime as toolwright;

mod catalog;
mod http_function;
mod openapi;
