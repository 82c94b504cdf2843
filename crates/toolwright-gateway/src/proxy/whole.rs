//! A whole answer of a vendor, translated.

use http::{HeaderMap, StatusCode};
use toolwright::upstream::Remote;
use toolwright_core::dialect::ResponseSummary;
use toolwright_core::dialect::{ChatCodec, WireReply};
use toolwright_core::frame::Framing;
use toolwright_core::translate::{Report, Translated, decode_response};
use toolwright_core::{Fault, FaultClass, Response};

use super::prepare::{Translation, refused};

/// An answer in the client's words, and what is to be noted of it.
pub struct Whole {
    /// The reply
    pub reply: WireReply,
    /// What was seen of it, before it was fitted to the client
    pub watch: ResponseSummary,
    /// What it lost
    pub report: Report,
}

/// Reads an answer in a vendor's words. Some report a failure under the status of a success.
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

/// Says an answer in the client's words.
pub fn answer(translation: &Translation, response: Response) -> Result<Whole, Fault> {
    let watch = ResponseSummary::from_response(&response);
    let Translated { value, report } = translation.back().answer(response).map_err(refused)?;
    Ok(Whole { reply: value, watch, report })
}

/// The upstream is at fault and not we.
pub(super) fn no_answer(message: String) -> Fault {
    let mut fault = Fault::new(FaultClass::Internal, message);
    fault.status = Some(StatusCode::BAD_GATEWAY.as_u16());
    fault.code = Some("upstream_answer".to_owned());
    fault
}

/// Whether a reply comes in the framing in which its dialect streams.
pub fn is_stream(codec: &dyn ChatCodec, headers: &HeaderMap) -> bool {
    // Servers of little ambition call a stream plain text, or nothing at all.
    const LAX: [&str; 3] = ["", "text/plain", "application/octet-stream"];
    let kind = content_type(headers);
    kind.eq_ignore_ascii_case(codec.framing().content_type()) || LAX.contains(&kind)
}

/// The framing in which a reply comes that was asked for in one: that, or its dialect's usual one.
pub fn framing(codec: &dyn ChatCodec, asked: Framing, headers: &HeaderMap) -> Option<Framing> {
    if content_type(headers).eq_ignore_ascii_case(asked.content_type()) {
        return Some(asked);
    }
    is_stream(codec, headers).then(|| codec.framing())
}

/// Whether a reply comes in the other form than the one that was asked for: a stream in place of a
/// whole answer, or a whole answer in place of a stream.
pub fn is_other(codec: &dyn ChatCodec, headers: &HeaderMap, stream: bool) -> bool {
    let other = if stream { "application/json" } else { codec.framing().content_type() };
    content_type(headers).eq_ignore_ascii_case(other)
}

/// The media type of a reply, without its parameters.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
