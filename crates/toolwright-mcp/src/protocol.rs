//! Names of the protocol: versions, methods, members of `_meta`, headers, error codes.

#![allow(missing_docs, reason = "a name of the protocol says what it is")]

use toolwright_core::object;
use toolwright_json::Object;

/// The newest version.
pub const LATEST: &str = "2026-07-28";

/// The newest version with a handshake.
pub const LATEST_HANDSHAKE: &str = "2025-11-25";

/// The first version whose results have links.
pub const LINKS_SINCE: &str = "2025-06-18";

/// The only version with batches.
pub const BATCH_VERSION: &str = "2025-03-26";

/// All versions that are spoken, the newest first.
pub const VERSIONS: [&str; 5] =
    [LATEST, LATEST_HANDSHAKE, LINKS_SINCE, BATCH_VERSION, "2024-11-05"];

pub const DISCOVER: &str = "server/discover";
pub const INITIALIZE: &str = "initialize";
pub const INITIALIZED: &str = "notifications/initialized";
pub const CANCELLED: &str = "notifications/cancelled";
pub const PROGRESS: &str = "notifications/progress";
pub const LOG: &str = "notifications/message";
pub const SAMPLE: &str = "sampling/createMessage";
pub const LIST_ROOTS: &str = "roots/list";
pub const ELICIT: &str = "elicitation/create";
pub const PING: &str = "ping";
pub const SET_LOG_LEVEL: &str = "logging/setLevel";
pub const SUBSCRIBE: &str = "resources/subscribe";
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub const LISTEN: &str = "subscriptions/listen";
pub const LIST_TOOLS: &str = "tools/list";
pub const CALL_TOOL: &str = "tools/call";
pub const LIST_RESOURCES: &str = "resources/list";
pub const LIST_TEMPLATES: &str = "resources/templates/list";
pub const READ_RESOURCE: &str = "resources/read";
pub const GET_PROMPT: &str = "prompts/get";
pub const LIST_PROMPTS: &str = "prompts/list";
pub const COMPLETE: &str = "completion/complete";
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// Members of `_meta`.
pub mod meta {
    pub const META: &str = "_meta";
    /// The conversation that a request belongs to, a member of our own
    pub const CONVERSATION: &str = "toolwright-conversation";
    pub const PROGRESS_TOKEN: &str = "progressToken";
    pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub const SERVER: &str = "io.modelcontextprotocol/serverInfo";
}

/// Headers of requests over HTTP.
pub mod header {
    use http::HeaderName;

    /// The session, in versions with a handshake
    pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
    pub const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
    /// The method of the message
    pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// The name of what the message is about, such as a tool
    pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
    /// The last event that was received of a stream
    pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
}

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// There is no such session
pub const SESSION_NOT_FOUND: i64 = -32001;
/// There is no such resource, in versions with a handshake
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Headers and body of a request differ
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak the version of the request
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The user has to visit URLs before the request is repeated, in versions with a handshake
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Whether only servers without a handshake answer with this code.
pub fn is_stateless_error(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// Name and version of this implementation.
pub fn implementation() -> Object {
    object! {"name": "toolwright", "version": env!("CARGO_PKG_VERSION")}
}
