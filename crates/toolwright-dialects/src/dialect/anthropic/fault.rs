//! Faults: `{"type":"error","error":{"type","message"},"request_id"}`.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result, WireReply};

/// The error types, with the status that each comes with.
const TYPES: &[(FaultClass, &str, u16)] = &[
    (FaultClass::Invalid, "invalid_request_error", 400),
    (FaultClass::Unauthenticated, "authentication_error", 401),
    (FaultClass::Billing, "billing_error", 402),
    (FaultClass::Forbidden, "permission_error", 403),
    (FaultClass::NotFound, "not_found_error", 404),
    (FaultClass::TooLarge, "request_too_large", 413),
    (FaultClass::RateLimited, "rate_limit_error", 429),
    (FaultClass::Internal, "api_error", 500),
    (FaultClass::Timeout, "timeout_error", 504),
    (FaultClass::Overloaded, "overloaded_error", 529),
];

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(Some("request-id"), decode_body)
}

/// Decodes an error object, from a reply or a stream.
pub(super) fn decode_body(body: Json, class: FaultClass) -> Result<Fault> {
    let mut outer = Fields::new(body, Path::ROOT, DIALECT)?;
    let mut inner = Fields::new(outer.need("error")?, Path::ROOT.key("error"), DIALECT)?;
    let mut fault = Fault::new(class, inner.need_string("message")?);
    let word = inner.need_string("type")?;
    if let Some((class, _, _)) = TYPES.iter().find(|(_, own, _)| *own == word) {
        fault.class = *class;
    } else {
        inner.put_back("type", word.as_str());
        fault.code = Some(word);
    }
    fault.request_id = outer.string("request_id")?;
    outer.take("type");
    outer.put_back_rest("error", inner.into_object());
    fault.extra = outer.into_extra();
    Ok(fault)
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    if let Some(id) = &fault.request_id {
        headers.push(("request-id".to_owned(), id.clone()));
    }
    let known = TYPES.iter().find(|(class, _, _)| *class == fault.class).map(|row| row.2);
    // A type that is not in the table has its own status.
    let own = fault.status.filter(|_| own_type(fault).is_some());
    WireReply {
        status: own.or(known).unwrap_or(500),
        headers,
        body: Json::Object(encode_body(fault)),
    }
}

/// Returns the vendor's type, if it is not in the table.
fn own_type(fault: &Fault) -> Option<&str> {
    fault.extra.get(DIALECT, "error")?.get("type")?.as_str()
}

/// Encodes an error object.
pub(super) fn encode_body(fault: &Fault) -> Object {
    let known = TYPES.iter().find(|(class, _, _)| *class == fault.class).map(|(_, word, _)| *word);
    let error = object! {
        "type": own_type(fault).or(known).unwrap_or("api_error"),
        "message": fault.message.as_str(),
    };
    let mut object = object! {"type": "error", "error": error};
    object.insert_some("request_id", fault.request_id.as_deref());
    fault.extra.write_into(DIALECT, &mut object);
    object
}
