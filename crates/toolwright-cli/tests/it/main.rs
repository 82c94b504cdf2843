//! Integration tests of the command, in one binary.

#![allow(clippy::unwrap_used, clippy::panic)]

mod access;
mod args;
mod ask;
mod call;
mod catalog;
mod config;
mod data_folder;
mod endpoint;
mod exchange;
mod gateway;
mod hostile;
mod http;
mod key;
mod ledger;
mod mcp;
mod pipe;
mod plan;
mod plans;
mod prefabs;
mod process;
mod run;
mod serve;
mod telemetry;
mod translate;
