//! The gateway and the command around it: any client's dialect in, any vendor's out, on one port.
//!
//! ```text
//! key → config → telemetry → http → prefabs → mcp → tools → proxy → gateway → router → cli
//! ```
//!
//! Each module imports only from modules to its left.
//!
//! - [`key`]: clients, their keys, their rights and their limits.
//! - [`config`]: `toolwright.toml` and the environment.
//! - [`telemetry`]: log, metrics, ledger, losses and traces of exchanges.
//! - [`http`]: the server, with limits, drain and reload.
//! - [`mcp`]: the clients of MCP servers.
//! - [`tools`]: the tools that the gateway runs itself.
//! - [`proxy`]: the exchange of a request and its reply.
//! - [`prefabs`]: the files and signatures of the prefab interface.
//! - [`gateway`]: the state, which a reload replaces.
//! - [`router`]: the endpoints.

pub mod config;
pub mod gateway;
pub mod http;
pub mod key;
pub mod mcp;
pub mod plans;
pub mod prefabs;
pub mod proxy;
pub mod router;
pub mod telemetry;
pub mod terminal;
pub mod tools;
