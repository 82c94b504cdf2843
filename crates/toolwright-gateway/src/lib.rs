//! The gateway as a library: any client's dialect in, any vendor's out, on one port.
//!
//! A [`Config`] is read from `toolwright.toml` or made in a program; a [`Gateway`] is its state, and a
//! [`GatewayServer`] serves it. A program [adds](Additions) tools of its own, which chat requests, MCP clients and
//! plans then use.
//!
//! ```
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::TcpStream;
//! use toolwright_gateway::telemetry::Telemetry;
//! use toolwright_gateway::{Config, Gateway, GatewayServer};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { listen: "127.0.0.1:0".parse()?, ..Config::default() };
//! let environment = |_: &str| None;
//! let gateway = Gateway::new(&config, &environment, Telemetry::default())?;
//! let server = GatewayServer::bind(gateway.into(), &config).await?;
//! let (address, control) = (server.address(), server.control());
//! let serving = tokio::spawn(server.run(std::future::pending()));
//!
//! // Any SDK would do.
//! let body = r#"{"model": "offline/rules", "messages": [{"role": "user", "content": "hello"}]}"#;
//! let head = format!(
//!     "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
//!     body.len()
//! );
//! let mut connection = TcpStream::connect(address).await?;
//! connection.write_all(format!("{head}{body}").as_bytes()).await?;
//! let mut reply = String::new();
//! connection.read_to_string(&mut reply).await?;
//! assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("chat.completion"), "{reply}");
//!
//! control.drain();
//! serving.await??;
//! # Ok(())
//! # }
//! ```
//!
//! Each feature is a folder with its tables of the configuration, its state and its routes; [`gateway`] puts them
//! together. A module imports only from lower ones: `cargo xtask tidy` has their order.
//!
//! The crate promises no stability: the program `toolwright` and its endpoints do.

pub mod approvals;
pub mod catalog;
pub mod config;
pub mod conversation;
pub mod exchange;
pub mod fault;
pub mod gateway;
pub mod handles;
pub mod http;
pub mod idempotency;
pub mod inputs;
pub mod journal;
pub mod key;
pub mod mcp;
pub mod models;
pub mod monitoring;
pub mod plans;
pub mod proxy;
pub mod query;
pub mod responses;
pub mod telemetry;
pub mod terminal;
pub mod tool_runs;
pub mod tools;

pub use gateway::config::Config;
pub use gateway::serve::{GatewayServer, ServeError};
pub use gateway::{Additions, Gateway};
