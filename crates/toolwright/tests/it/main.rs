//! Integration tests of the crate, in one binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Most tools of the tests need no description.
#![allow(deprecated)]

#[cfg(feature = "builtin")]
mod builtin;
mod call;
#[cfg(feature = "catalog")]
mod catalog;
mod chat;
#[cfg(feature = "sqlite")]
mod crash;
mod handle;
#[cfg(feature = "catalog")]
mod http_function;
mod journal;
mod ledger;
mod macros;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(feature = "offline")]
mod offline;
#[cfg(feature = "catalog")]
mod openapi;
#[cfg(feature = "sqlite")]
mod plan;
#[cfg(feature = "sqlite")]
mod process;
mod run;
mod secret;
#[cfg(feature = "transport")]
mod server;
mod source;
mod support;
mod toolbox;
#[cfg(feature = "transport")]
mod transport;
#[cfg(feature = "upstream")]
mod upstream;
