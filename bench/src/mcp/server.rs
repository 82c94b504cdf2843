//! An MCP server over streamable HTTP without a handshake (2026-07-28), as fast as a plain server can be: its
//! tools are prepared, and a call repeats the text that it was given.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use serde_json::{Value, json};

use super::{TOOLS, tool};
use crate::failure::Outcome;
use crate::serve::{self, Hangup, reply};

/// Serves until the process ends.
pub(crate) fn run() -> Outcome {
    let tools: &'static [Value] = Vec::leak((0..TOOLS).map(definition).collect());
    serve::forever("127.0.0.1:0", move |request, _| answer(request, tools))
}

async fn answer(
    request: Request<Incoming>,
    tools: &'static [Value],
) -> Result<Response<Full<Bytes>>, Hangup> {
    if request.method() != Method::POST {
        return Ok(json_reply(405, Bytes::new()));
    }
    let body = request.into_body().collect().await.map_err(|_| Hangup)?.to_bytes();
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return Ok(json_reply(400, Bytes::new()));
    };
    if message.get("id").is_none() {
        return Ok(json_reply(202, Bytes::new()));
    }
    let result = match message["method"].as_str() {
        Some("server/discover") => json!({"resultType": "complete", "supportedVersions":
            ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 60_000, "cacheScope": "public"}),
        Some("tools/list") => json!({"resultType": "complete", "tools": tools, "ttlMs": 60_000,
            "cacheScope": "public"}),
        Some("tools/call") => json!({"resultType": "complete", "content":
            [{"type": "text", "text": message["params"]["arguments"]["text"]}]}),
        _ => {
            let error = json!({"code": -32601, "message": "unknown method"});
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return Ok(json_reply(200, body.to_string().into()));
        }
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    Ok(json_reply(200, body.to_string().into()))
}

fn json_reply(status: u16, body: Bytes) -> Response<Full<Bytes>> {
    reply(status, "application/json", Full::new(body))
}

fn definition(number: usize) -> Value {
    json!({"name": tool(number), "description": "Finds the orders of a customer, newest first, and says \
        where each parcel is.", "inputSchema": {"type": "object", "properties": {
            "text": {"type": "string", "description": "What is looked for"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
            "status": {"type": "array", "items": {"type": "string", "enum": ["open", "sent", "late"]}}},
        "required": ["text"]}, "annotations": {"readOnlyHint": true}})
}
