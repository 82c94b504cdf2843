//! A whole answer of a vendor, translated.

use http::{HeaderMap, StatusCode};
use toolwright::upstream::{Incoming, Remote};
use toolwright_core::dialect::{ChatCodec, WireReply};
use toolwright_core::event::watch::Watch;
use toolwright_core::translate::{Report, Translated};
use toolwright_core::{Fault, FaultClass, Json, Response};

use super::headers;
use super::prepare::{Translation, refused};

/// The longest answer that is translated.
pub const LONGEST: usize = 64 << 20;

/// An answer in the client's words, and what is to be noted of it.
pub struct Whole {
    /// The reply
    pub reply: WireReply,
    /// What was seen of it, before it was fitted to the client
    pub watch: Watch,
    /// What it lost
    pub report: Report,
}

/// Reads the rest of a reply.
pub async fn collect(incoming: Incoming) -> Result<WireReply, Fault> {
    let Incoming { status, headers, body } = incoming;
    let bytes = body.collect(LONGEST).await?;
    let body = Json::parse_bytes(&bytes).unwrap_or(Json::Null);
    Ok(WireReply { status: status.as_u16(), headers: headers::told(&headers), body })
}

/// Reads an answer in a vendor's words. Some report a failure under the status of a success.
pub fn read(remote: &Remote, wire: WireReply) -> Result<Response, Fault> {
    let upstream = remote.id();
    if wire.body.is_null() {
        return Err(not_json(upstream, wire.header("content-type").unwrap_or_default()));
    }
    let failed = wire.body.get("error").is_some_and(|error| !error.is_null());
    let status = StatusCode::BAD_GATEWAY.as_u16();
    let failure = failed.then(|| WireReply { status, ..wire.clone() });
    let why = match remote.codec().decode_response(wire) {
        Ok(response) if !is_empty(&response) => return Ok(response),
        Ok(_) => format!(
            "Upstream '{upstream}' answered with JSON that is no answer. Check its dialect and \
             its base_url."
        ),
        Err(error) => {
            format!("Upstream '{upstream}' answered something that cannot be read: {error}.")
        }
    };
    Err(match failure {
        Some(wire) => Fault { status: Some(status), ..remote.codec().decode_fault(wire) },
        None => no_answer(why),
    })
}

/// Whether nothing was found that an answer has.
fn is_empty(response: &Response) -> bool {
    let Response { id, model, parts, usage, .. } = response;
    id.is_none() && model.is_none() && parts.is_empty() && usage.is_none()
}

/// Says an answer in the client's words.
pub fn answer(translation: &Translation, response: Response) -> Result<Whole, Fault> {
    let watch = Watch::of(&response);
    let Translated { value, report } = translation.back().answer(response).map_err(refused)?;
    Ok(Whole { reply: value, watch, report })
}

/// What came instead of JSON, by its own account.
fn not_json(upstream: &str, kind: &str) -> Fault {
    let kind = kind.split(';').next().unwrap_or_default().chars();
    let kind: String = kind.filter(char::is_ascii_graphic).take(60).collect();
    no_answer(match kind.as_str() {
        "application/json" => format!("Upstream '{upstream}' answered with JSON that is damaged."),
        _ => format!(
            "Upstream '{upstream}' answered with {} instead of JSON. Check its base_url: something \
             else may be listening there.",
            if kind.is_empty() { "something" } else { &kind }
        ),
    })
}

/// The upstream is at fault and not we.
fn no_answer(message: String) -> Fault {
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

/// Whether a reply comes in the other form than the one that was asked for: a stream in place of a
/// whole answer, or a whole answer in place of a stream.
pub fn is_other(codec: &dyn ChatCodec, headers: &HeaderMap, stream: bool) -> bool {
    let other = if stream { "application/json" } else { codec.framing().content_type() };
    content_type(headers).eq_ignore_ascii_case(other)
}

fn content_type(headers: &HeaderMap) -> &str {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}
