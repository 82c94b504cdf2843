//! Translates a complete reply of an upstream.

use http::{HeaderMap, StatusCode};
use toolwright_core::{Fault, FaultClass, Response};
use toolwright_dialects::dialect::{ChatCodec, WireReply};
use toolwright_dialects::frame::Framing;
use toolwright_dialects::translate::decode_response;
use toolwright_runtime::upstream::Remote;

/// Decodes a reply. Some vendors report a failure with a success status.
pub fn read(remote: &Remote, wire: WireReply) -> Result<Response, Fault> {
    let upstream = remote.id();
    let failed = wire.body.get("error").is_some_and(|error| !error.is_null());
    let status = StatusCode::BAD_GATEWAY.as_u16();
    let failure = failed.then(|| WireReply { status, ..wire.clone() });
    let error = match decode_response(remote.codec(), wire, remote.has_think_tags()) {
        Ok(response) => return Ok(response),
        Err(error) => error,
    };
    Err(match failure {
        Some(wire) => Fault { status: Some(status), ..remote.codec().decode_fault(wire) },
        None => no_answer(format!(
            "Upstream '{upstream}' answered with a body that is no reply ({error}). Check its \
             dialect and its base_url."
        )),
    })
}

/// Creates the fault of an invalid upstream reply.
pub(super) fn no_answer(message: String) -> Fault {
    let code = Some("upstream_answer".to_owned());
    Fault { status: Some(502), code, ..Fault::new(FaultClass::Internal, message) }
}

/// Whether a reply has the framing of its dialect's streams.
pub fn is_stream(codec: &dyn ChatCodec, headers: &HeaderMap) -> bool {
    // Some servers send a stream as plain text or without a content type.
    const LAX: [&str; 3] = ["", "text/plain", "application/octet-stream"];
    let kind = content_type(headers);
    kind.eq_ignore_ascii_case(codec.framing().content_type()) || LAX.contains(&kind)
}

/// Returns the framing of a reply: the requested one, or the dialect's default.
pub fn framing(codec: &dyn ChatCodec, asked: Framing, headers: &HeaderMap) -> Option<Framing> {
    if content_type(headers).eq_ignore_ascii_case(asked.content_type()) {
        return Some(asked);
    }
    is_stream(codec, headers).then(|| codec.framing())
}

/// Whether a reply has another form than requested: a stream instead of a complete reply, or the
/// reverse.
pub fn is_other(codec: &dyn ChatCodec, headers: &HeaderMap, stream: bool) -> bool {
    let other = if stream { "application/json" } else { codec.framing().content_type() };
    content_type(headers).eq_ignore_ascii_case(other)
}

/// Returns the media type of a reply, without parameters.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
