//! Answers of a server: content for the caller, or an error.

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use toolwright_core::Json;
use toolwright_core::fault::Fault;

use super::media::{is_json, is_text};
use crate::error::ToolError;
use crate::handler::ToolResult;
use crate::output::Output;
use crate::redact::{self, MARK};
use crate::secret::SecretString;
use crate::transport::Incoming;

/// Maximum number of bytes of an answer.
const MAX_RESPONSE_BYTES: usize = 64 << 20;
/// Maximum number of bytes of an answer that an error repeats.
const MAX_ERROR_BYTES: usize = 2 << 10;
/// Shorter secrets are not looked for in answers, because they would be found everywhere.
const MIN_SECRET_BYTES: usize = 6;

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

/// Codes of faults where nothing was sent, and which may end by themselves.
const UNSENT: [&str; 2] = ["upstream_unreachable", "upstream_crowded"];

/// The error for a request without an answer.
pub(super) fn from_fault(fault: &Fault, is_repeatable: bool) -> ToolError {
    let code = fault.code.as_deref().unwrap_or_default();
    let is_transient = matches!(code, "upstream_timeout" | "upstream_broken");
    let is_retryable = UNSENT.contains(&code) || (is_repeatable && is_transient);
    let error = ToolError::new(fault.message.clone()).with_kind("HttpError");
    if is_retryable { error.retryable() } else { error }
}

/// Reads an answer. Secrets of the request that it repeats are redacted.
pub(super) async fn read(
    answer: Incoming,
    is_repeatable: bool,
    secrets: &[SecretString],
) -> ToolResult {
    let (status, headers) = (answer.status, answer.headers);
    let is_success = status.is_success();
    let failed = |fault| from_fault(&fault, is_repeatable);
    if is_success {
        let body = answer.body.collect(MAX_RESPONSE_BYTES).await.map_err(failed)?;
        return Ok(content(body, &headers, secrets));
    }
    let mut body = answer.body;
    let mut start = Vec::new();
    while start.len() < MAX_ERROR_BYTES {
        match body.next().await {
            Some(Ok(bytes)) => start.extend_from_slice(&bytes),
            _ => break,
        }
    }
    Err(failure(status, &headers, &start, is_repeatable, secrets))
}

fn content(body: Bytes, headers: &HeaderMap, secrets: &[SecretString]) -> Output {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if body.is_empty() {
        return Output::json(Json::Null);
    }
    let content_type = content_type.unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&body) else {
        let mime = if content_type.is_empty() { "application/octet-stream" } else { content_type };
        return Output::bytes(mime, &body[..]);
    };
    let text = without(text, secrets);
    if is_json(content_type) || content_type.is_empty() {
        if let Ok(value) = Json::parse(&text) {
            return Output::json(value);
        }
    } else if !is_text(content_type) {
        return Output::bytes(content_type, &body[..]);
    }
    Output::text(text)
}

fn failure(
    status: StatusCode,
    headers: &HeaderMap,
    start: &[u8],
    is_repeatable: bool,
    secrets: &[SecretString],
) -> ToolError {
    let mut message = format!("the server answered {status}");
    let shown = &start[..start.len().min(MAX_ERROR_BYTES)];
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if status.is_redirection() && headers.contains_key(LOCATION) {
        message.push_str(", a redirect that is not followed");
    }
    if !shown.is_empty() && content_type.is_none_or(|own| own.is_empty() || is_text(own)) {
        let text = redact::text(&without(&String::from_utf8_lossy(shown), secrets));
        let more = if start.len() >= MAX_ERROR_BYTES { "…" } else { "" };
        message = format!("{message}: {}{more}", text.trim());
    }
    let is_retryable = TRANSIENT
        .iter()
        .any(|(own, is_unprocessed)| *own == status && (*is_unprocessed || is_repeatable));
    let error = ToolError::new(message).with_kind(format!("HTTP_{}", status.as_u16()));
    if is_retryable { error.retryable() } else { error }
}

/// Returns a text without the secrets of the request, also as JSON and URLs write them.
fn without(text: &str, secrets: &[SecretString]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().map(SecretString::expose) {
        if secret.len() < MIN_SECRET_BYTES {
            continue;
        }
        let quoted = Json::from(secret.as_str()).compact();
        let forms = [
            secret.clone(),
            quoted[1..quoted.len() - 1].to_owned(),
            super::style::Escape::All.apply(secret),
        ];
        for form in forms {
            if text.contains(&form) {
                text = text.replace(&form, MARK);
            }
        }
    }
    text
}
