//! The Model Context Protocol: tools of other processes and servers, in both eras of the protocol.
//!
//! | | until 2025-11-25 | since 2026-07-28 |
//! |---|---|---|
//! | opens with | `initialize`, which creates a session | nothing; `server/discover` is optional |
//! | version and capabilities | agreed once | in the `_meta` of every request |
//! | the server asks for input | by a request of its own | by a result `input_required` |
//! | changes of the tools | a notification | a notification of `subscriptions/listen` |
//!
//! A [`Client`] is the client of one server, over stdio or HTTP. It connects when it is needed, connects
//! again when the server has ended, and speaks the era of the server. [`McpSource`] offers the tools of a server to
//! a [`Toolbox`](toolwright_runtime::Toolbox); prompts, resources and completion are methods of the client.
//!
//! The other side is a [`Server`](server::Server): it offers a toolbox to the clients that a host connects to it.
//!
//! ```
//! # extern crate toolwright_runtime as toolwright;
//! use std::sync::Arc;
//!
//! use tokio::io::{AsyncBufReadExt, BufReader, duplex};
//! use toolwright_mcp::server::{Announcer, Exchange, NoFeatures, Server, serve_stdio};
//! use toolwright_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(left: i64, right: i64) -> i64 {
//!     left + right
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let toolbox = Toolbox::new([add::handler()])?;
//! let announcer = Announcer::default();
//! let exchange = |outbox| Exchange {
//!     session: Session::new("first"),
//!     toolbox: toolbox.clone(),
//!     features: Arc::new(NoFeatures),
//!     outbox,
//!     changes: announcer.subscribe(),
//!     may_approve: Arc::new(|_: &str| false),
//! };
//! // A client writes one message on each line; a program passes its stdin and stdout.
//! let meta = r#"{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities": {}}"#.replace('\n', " ");
//! let call = format!(
//!     r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
//!         "params": {{"name": "add", "arguments": {{"left": 2, "right": 3}}, "_meta": {meta}}}}}"#
//! );
//! let (output, answers) = duplex(64 * 1024);
//! serve_stdio(Server::new(), exchange, call.replace('\n', " ").as_bytes(), output).await?;
//!
//! let answer = BufReader::new(answers).lines().next_line().await?.unwrap_or_default();
//! let answer = Json::parse(&answer)?;
//! let text = answer.pointer("/result/content/0/text");
//! assert_eq!(text.and_then(|text| text.as_str()), Some("5"), "{answer}");
//! # Ok(())
//! # }
//! ```
//!
//! Messages are read into exact JSON (`message`), so numbers keep their digits in both directions. The crate promises no
//! stability of its own: depend on `toolwright`, which exports it.

pub mod client;
mod header;
mod interaction;
mod message;
mod output;
mod pins;
pub mod protocol;
mod redaction;
pub mod server;
mod source;

pub use client::{Client, ClientError, ListKind, ResourceUpdates, ServerInfo};
pub use header::header_mismatch;
pub use interaction::{
    ElicitationModes, InputAnswer, InputFuture, InputHandler, InputRequest, Interaction,
    NotificationHandler, complete_form,
};
pub use message::{InvalidMessage, Message, Notification, Payload, Request, Response, RpcError};
pub use output::{map_resource_uris, read_result};
pub use pins::{DefinitionPins, definition_digest};
pub use source::{ClientSelector, McpSource, SelectFuture, legal_tool_name};
