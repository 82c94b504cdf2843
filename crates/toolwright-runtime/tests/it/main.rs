//! Integration tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Most tools of the tests need no description.
#![allow(deprecated)]

// The macros write the name of the crate that users depend on.
extern crate toolwright_runtime as toolwright;

#[cfg(feature = "builtin")]
mod builtin;
mod call;
mod chat;
#[cfg(feature = "sqlite")]
mod crash;
mod handle;
mod journal;
mod ledger;
mod macros;
#[cfg(feature = "offline")]
mod offline;
mod run;
mod secret;
mod source;
mod toolbox;
#[cfg(feature = "upstream")]
mod upstream;
