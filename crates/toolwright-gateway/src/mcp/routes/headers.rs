//! Headers that repeat a part of the message (2026-07-28).

use http::HeaderMap;
use toolwright_core::Json;
use toolwright_mcp::protocol::CALL_TOOL;
use toolwright_mcp::{Request, RpcError, header_mismatch};
use toolwright_runtime::Toolbox;

/// Checks that the headers of a request say what its message says.
pub(super) fn check(
    headers: &HeaderMap,
    request: &Request,
    toolbox: &Toolbox,
) -> Result<(), RpcError> {
    let header = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes);
    let schema = match (request.method.as_str(), request.params.get("name").and_then(Json::as_str))
    {
        (CALL_TOOL, Some(name)) => toolbox.definition_of(name),
        _ => None,
    };
    let schema = schema.as_ref().and_then(|tool| tool.parameters());
    header_mismatch(header, request, schema).map_or(Ok(()), Err)
}
