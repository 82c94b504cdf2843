//! Answers of a server: content for the caller, or an error.

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use toolwright_core::Json;
use toolwright_plan::Reservation;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::redact::known::KnownSecrets;
use toolwright_runtime::{Output, ToolError};
use toolwright_transport::{HttpFault, Incoming};

use super::media::{is_json, is_text};

/// Maximum number of bytes of an answer.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// Maximum number of bytes of an answer that an error repeats.
const MAX_ERROR_BYTES: usize = 2 << 10;

/// Statuses after which the same request may succeed, and whether the server did nothing with the first one.
const TRANSIENT: [(StatusCode, bool); 7] = [
    (StatusCode::REQUEST_TIMEOUT, false),
    (StatusCode::TOO_EARLY, true),
    (StatusCode::TOO_MANY_REQUESTS, true),
    (StatusCode::INTERNAL_SERVER_ERROR, false),
    (StatusCode::BAD_GATEWAY, false),
    (StatusCode::SERVICE_UNAVAILABLE, true),
    (StatusCode::GATEWAY_TIMEOUT, false),
];

/// Whether a server that answers with a status did nothing with the request.
pub(crate) fn is_unprocessed(status: StatusCode) -> bool {
    let is_refused = status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT;
    is_refused || TRANSIENT.contains(&(status, true))
}

/// The error for a request without an answer.
pub(super) fn from_fault(fault: &HttpFault, is_repeatable: bool) -> ToolError {
    let is_retryable = fault.is_transient() && (is_repeatable || fault.is_unsent());
    let error = ToolError::new(fault.message.clone()).with_kind("HttpError");
    if is_retryable { error.retryable() } else { error }
}

/// Reads an answer. Secrets of the request that it repeats are redacted.
pub(super) async fn read(
    answer: Incoming,
    is_repeatable: bool,
    known: &KnownSecrets,
    memory: &Reservation,
) -> ToolResult {
    let (status, headers) = (answer.status, answer.headers);
    let is_success = status.is_success();
    let failed = |fault| from_fault(&fault, is_repeatable);
    let mut body = answer.body;
    if is_success {
        let mut whole = BytesMut::new();
        while let Some(bytes) = body.next().await.transpose().map_err(failed)? {
            if whole.len() + bytes.len() > MAX_RESPONSE_BYTES {
                return Err(failed(body.too_large(MAX_RESPONSE_BYTES)));
            }
            memory.grow_for_result(bytes.len()).await?;
            whole.extend_from_slice(&bytes);
        }
        return Ok(content(whole.freeze(), &headers, known));
    }
    let mut start = Vec::new();
    let max = MAX_ERROR_BYTES + known.margin();
    while start.len() < max {
        match body.next().await {
            Some(Ok(bytes)) => start.extend_from_slice(&bytes),
            _ => break,
        }
    }
    Err(failure(status, &headers, &start, is_repeatable, known))
}

fn content(body: Bytes, headers: &HeaderMap, known: &KnownSecrets) -> Output {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if body.is_empty() {
        return Output::json(Json::Null);
    }
    let content_type = content_type.unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&body) else {
        let mime = if content_type.is_empty() { "application/octet-stream" } else { content_type };
        return Output::bytes(mime, &body[..]);
    };
    if (is_json(content_type) || content_type.is_empty())
        && let Ok(value) = Json::parse(text)
    {
        return Output::json(known.json(value));
    }
    let text = known.text(text);
    if content_type.is_empty() || is_text(content_type) {
        Output::text(text)
    } else {
        Output::bytes(content_type, text.as_bytes())
    }
}

fn failure(
    status: StatusCode,
    headers: &HeaderMap,
    start: &[u8],
    is_repeatable: bool,
    known: &KnownSecrets,
) -> ToolError {
    let mut message = format!("the server answered {status}");
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if status.is_redirection() && headers.contains_key(LOCATION) {
        message.push_str(", a redirect that is not followed");
    }
    if !start.is_empty() && content_type.is_none_or(|own| own.is_empty() || is_text(own)) {
        let is_truncated = start.len() >= MAX_ERROR_BYTES + known.margin();
        let text = known.beginning(start, is_truncated);
        let shown = &text[..text.floor_char_boundary(MAX_ERROR_BYTES)];
        let more = if is_truncated || shown.len() < text.len() { "…" } else { "" };
        message = format!("{message}: {}{more}", shown.trim());
    }
    let is_retryable = TRANSIENT
        .iter()
        .any(|(own, is_unprocessed)| *own == status && (*is_unprocessed || is_repeatable));
    let error = ToolError::new(message).with_kind(format!("HTTP_{}", status.as_u16()));
    if is_retryable { error.retryable() } else { error }
}
