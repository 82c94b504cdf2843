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
//! Messages are read into exact JSON (`message`), so numbers keep their digits in both directions.

pub mod client;
mod header;
mod interaction;
mod message;
mod output;
mod pins;
mod protocol;
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
