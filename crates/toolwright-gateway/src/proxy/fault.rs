//! A failure in the client's own dialect.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use toolwright_core::dialect::{ChatCodec, WireReply};
use toolwright_core::{Dialect, Fault, Json};

use crate::http::{Reply, ReplyBody};
use crate::telemetry::RequestId;

/// The header with our id of the request, in every dialect.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("toolwright-request-id");

/// A fault as a reply, under our id of the request.
pub fn reply(codec: &dyn ChatCodec, id: RequestId, mut fault: Fault) -> Reply {
    fault.request_id.get_or_insert_with(|| id.to_string());
    let mut reply = wire(codec.encode_fault(&fault));
    name(reply.headers_mut(), codec.dialect(), id);
    reply
}

/// A reply of a codec as one of HTTP.
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

/// A JSON document as a reply.
pub fn document(body: &Json) -> Reply {
    text(body.compact())
}

/// The text of a JSON document as a reply.
pub fn text(body: String) -> Reply {
    let mut reply = Reply::new(ReplyBody::full(Bytes::from(body)));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}

/// Puts our id of a request on its reply: under our name, and where the dialect's own SDK looks for
/// it if the vendor put none there.
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
