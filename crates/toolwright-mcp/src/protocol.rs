//! Names of the protocol: versions, methods, members of `_meta`, error codes.

use toolwright_core::object;
use toolwright_json::Object;

/// The newest version.
pub(super) const LATEST: &str = "2026-07-28";

/// The newest version with a handshake.
pub(super) const LATEST_HANDSHAKE: &str = "2025-11-25";

/// The only version with batches.
pub(super) const BATCH_VERSION: &str = "2025-03-26";

/// All versions that are spoken, the newest first.
pub(super) const VERSIONS: [&str; 5] =
    [LATEST, LATEST_HANDSHAKE, "2025-06-18", BATCH_VERSION, "2024-11-05"];

pub(super) const DISCOVER: &str = "server/discover";
pub(super) const INITIALIZE: &str = "initialize";
pub(super) const INITIALIZED: &str = "notifications/initialized";
pub(super) const CANCELLED: &str = "notifications/cancelled";
pub(super) const PROGRESS: &str = "notifications/progress";
pub(super) const LOG: &str = "notifications/message";
pub(super) const SAMPLE: &str = "sampling/createMessage";
pub(super) const LIST_ROOTS: &str = "roots/list";
pub(super) const ELICIT: &str = "elicitation/create";
pub(super) const PING: &str = "ping";
pub(super) const SET_LOG_LEVEL: &str = "logging/setLevel";
pub(super) const SUBSCRIBE: &str = "resources/subscribe";
pub(super) const UNSUBSCRIBE: &str = "resources/unsubscribe";
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
pub(super) const LISTEN: &str = "subscriptions/listen";
pub(super) const LIST_TOOLS: &str = "tools/list";
pub(super) const CALL_TOOL: &str = "tools/call";
pub(super) const LIST_RESOURCES: &str = "resources/list";
pub(super) const LIST_TEMPLATES: &str = "resources/templates/list";
pub(super) const READ_RESOURCE: &str = "resources/read";
pub(super) const GET_PROMPT: &str = "prompts/get";
pub(super) const LIST_PROMPTS: &str = "prompts/list";
pub(super) const COMPLETE: &str = "completion/complete";
pub(super) const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub(super) const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub(super) const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
pub(super) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// Members of `_meta`.
pub(super) mod meta {
    pub(crate) const META: &str = "_meta";
    /// The conversation that a request belongs to, a member of our own
    pub(crate) const CONVERSATION: &str = "toolwright-conversation";
    pub(crate) const PROGRESS_TOKEN: &str = "progressToken";
    pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub(crate) const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
    pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(crate) const SERVER: &str = "io.modelcontextprotocol/serverInfo";
}

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
/// There is no such resource, in versions with a handshake
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;
/// Headers and body of a request differ
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare
pub(super) const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak the version of the request
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// The user has to visit URLs before the request is repeated, in versions with a handshake
pub(super) const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Whether only servers without a handshake answer with this code.
pub(super) fn is_stateless_error(code: i64) -> bool {
    matches!(code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
}

/// Name and version of this implementation.
pub(super) fn implementation() -> Object {
    object! {"name": "toolwright", "version": env!("CARGO_PKG_VERSION")}
}
