//! Encodes failures in the client's dialect.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use toolwright_core::{Dialect, Fault, FaultClass, Json};
use toolwright_dialects::dialect::{ChatCodec, WireReply};

use crate::http::{Reply, typed_reply};
use crate::telemetry::RequestId;

/// The header with the gateway's request id, in every dialect.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("toolwright-request-id");

/// Creates the reply for a fault, with the request id.
pub fn reply(codec: &dyn ChatCodec, id: RequestId, mut fault: Fault) -> Reply {
    fault.request_id.get_or_insert_with(|| id.to_string());
    let mut reply = wire(codec.encode_fault(&fault));
    name(reply.headers_mut(), codec.dialect(), id);
    reply
}

/// Converts a codec's reply to an HTTP reply.
pub fn wire(wire: WireReply) -> Reply {
    let WireReply { status, headers, body } = wire;
    let mut reply = document(&body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in headers {
        let name = HeaderName::try_from(name).ok();
        if let Some((name, value)) = name.zip(HeaderValue::try_from(value).ok()) {
            reply.headers_mut().insert(name, value);
        }
    }
    reply
}

/// Creates a reply with a JSON document.
pub fn document(body: &Json) -> Reply {
    text(body.compact())
}

/// Creates a reply with the text of a JSON document.
pub fn text(body: String) -> Reply {
    typed_reply("application/json", body)
}

/// Adds the request id to a reply: in the gateway's header, and in the header that the dialect's
/// SDK reads, unless the vendor set it.
pub fn name(headers: &mut HeaderMap, dialect: Dialect, id: RequestId) {
    let Ok(value) = HeaderValue::try_from(id.to_string()) else { return };
    let own = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Deepseek => "x-request-id",
        Dialect::Anthropic => "request-id",
        Dialect::Bedrock => "x-amzn-requestid",
        _ => "",
    };
    if !own.is_empty() && !headers.contains_key(own) {
        headers.insert(HeaderName::from_static(own), value.clone());
    }
    headers.insert(REQUEST_ID, value);
}

/// The fault of a store that cannot be used. The reason, which may contain paths, is in the log only.
pub fn unavailable(why: &str) -> Fault {
    tracing::warn!("the data folder cannot be used: {why}");
    let message = "The gateway cannot use its data folder now. Its log says why.";
    Fault { status: Some(503), ..Fault::new(FaultClass::Internal, message) }
}

/// The fault of a parameter or member that is invalid.
pub fn invalid(parameter: &str, message: impl Into<String>) -> Fault {
    Fault { param: Some(parameter.to_owned()), ..Fault::new(FaultClass::Invalid, message) }
}
