//! The gateway and the command around it: any client's dialect in, any vendor's out, on one port.
//!
//! ```text
//! http (accept, read, route) → key (who, how much) → proxy (exchange) → upstream → proxy → client
//! ```
//!
//! - [`config`] reads `toolwright.toml` and what the environment tells.
//! - [`gateway`] is its state, which a reload replaces.
//! - [`http`] listens, reads requests within limits, drains and reloads.
//! - [`key`] knows the clients: their keys, what each may use and how much of it.
//! - [`proxy`] is the exchange: decode, fit, encode, send, and the way back.
//! - [`telemetry`] tells what happened: logs, metrics, the ledger, losses.
//! - [`tools`] are those that the gateway runs itself.
//! - [`cli`] is the command.

pub mod cli;
pub mod config;
pub mod gateway;
pub mod http;
pub mod key;
pub mod proxy;
pub mod telemetry;
mod terminal;
pub mod tools;
