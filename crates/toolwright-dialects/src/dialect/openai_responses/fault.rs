//! Faults: `{"error":{"message","type","param","code"}}`, in streams also flat or in a response.

use toolwright_core::{Fault, FaultClass, note};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result, WireReply};

/// The codes that determine the class if there is no status: those of `response.failed`.
const CODES: &[(FaultClass, &str)] = &[
    (FaultClass::Internal, "server_error"),
    (FaultClass::RateLimited, "rate_limit_exceeded"),
    (FaultClass::Invalid, "invalid_prompt"),
    (FaultClass::Timeout, "vector_store_timeout"),
    (FaultClass::Forbidden, "bio_policy"),
    (FaultClass::Forbidden, "misalignment_policy_violation"),
    (FaultClass::Forbidden, "data_residency_mismatch"),
];

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(Some("x-request-id"), decode_body)
}

fn decode_body(body: Json, class: FaultClass) -> Result<Fault> {
    let mut outer = Fields::new(body, Path::ROOT, DIALECT)?;
    // Compatible vendors may send a string instead.
    if let Some(text) = outer.tag("error") {
        return Ok(Fault::new(class, text));
    }
    let mut inner = Fields::new(outer.need("error")?, Path::ROOT.key("error"), DIALECT)?;
    let mut fault = decode_error(&mut inner, class)?;
    outer.put_back_rest("error", inner.into_object());
    fault.extra = outer.into_extra();
    Ok(fault)
}

/// Decodes an error event of a stream, flat as the vendor sends it or with an inner `error`.
pub(super) fn decode_event(mut event: Fields<'_>) -> Result<Fault> {
    event.take("type");
    event.take("sequence_number");
    if event.peek("error").is_some() {
        let body = Json::Object(event.into_object());
        return Ok(classed(decode_body(body, FaultClass::Internal)?));
    }
    let mut fault = classed(decode_error(&mut event, FaultClass::Internal)?);
    let rest = event.into_object();
    if !rest.is_empty() {
        fault.extra.insert(DIALECT, "error", rest);
    }
    Ok(fault)
}

/// Decodes the failure of a response.
pub(super) fn decode_failed(response: &mut Fields<'_>) -> Result<Fault> {
    if response.peek("error").is_none() {
        return Ok(Fault::new(FaultClass::Internal, "the upstream's response failed"));
    }
    let error = object! {"error": response.need("error")?};
    Ok(classed(decode_body(Json::Object(error), FaultClass::Internal)?))
}

/// Sets the class by the code, if there is no status.
fn classed(mut fault: Fault) -> Fault {
    let code = fault.code.as_deref().unwrap_or_default();
    match CODES.iter().find(|(_, own)| *own == code) {
        Some((class, _)) => fault.class = *class,
        None if code.contains("image") => fault.class = FaultClass::Invalid,
        None => {}
    }
    fault
}

fn decode_error(error: &mut Fields<'_>, class: FaultClass) -> Result<Fault> {
    let mut fault = Fault::new(class, error.need_string("message")?);
    fault.param = error.string("param")?;
    // Compatible vendors send numbers, which are encoded unchanged.
    if error.tag("code").is_some() {
        fault.code = error.string("code")?;
    }
    if error.tag("type") == Some(type_of(class)) {
        error.take("type");
    }
    Ok(fault)
}

/// Returns the error type of a class.
fn type_of(class: FaultClass) -> &'static str {
    match class {
        FaultClass::Invalid => "invalid_request_error",
        FaultClass::Unauthenticated => "authentication_error",
        FaultClass::Billing => "insufficient_quota",
        FaultClass::Forbidden => "permission_error",
        FaultClass::NotFound => "not_found_error",
        FaultClass::TooLarge => "request_too_large",
        FaultClass::RateLimited => "rate_limit_error",
        FaultClass::Timeout => "timeout_error",
        FaultClass::Overloaded => "overloaded_error",
        FaultClass::Internal => "server_error",
    }
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after-ms".to_owned(), wait.to_string()));
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    if let Some(id) = &fault.request_id {
        headers.push(("x-request-id".to_owned(), id.clone()));
    }
    let extra = fault.extra.get(DIALECT, "error").and_then(Json::as_object);
    let own = |key: &str| extra.and_then(|extra| extra.get(key)).cloned();
    let error = object! {
        "message": fault.message.as_str(),
        "type": own("type").unwrap_or_else(|| type_of(fault.class).into()),
        "param": fault.param.as_deref(),
        "code": own("code").unwrap_or_else(|| fault.code.as_deref().into()),
    };
    let mut body = object! {"error": error};
    fault.extra.write_into(DIALECT, &mut body);
    let status = fault.status.filter(|status| FaultClass::from_status(*status) == fault.class);
    let status = status.unwrap_or_else(|| fault.class.status());
    WireReply { status, headers, body: Json::Object(body) }
}

/// Encodes an error event of a stream.
pub(super) fn encode_event(fault: &Fault) -> Object {
    let mut event = object! {
        "code": fault.code.as_deref(),
        "message": fault.message.as_str(),
        "param": fault.param.as_deref(),
    };
    if let Some(Json::Object(rest)) = fault.extra.get(DIALECT, "error") {
        note::merge(&mut event, rest);
    }
    event
}

/// Encodes the failure of a response. The SDK's type has no other codes than those of the table and
/// some about images.
pub(super) fn encode_failed(fault: &Fault) -> Object {
    let known = |code: &&str| code.contains("image") || CODES.iter().any(|(_, own)| own == code);
    let own = fault.code.as_deref().filter(known);
    let by_class = match fault.class {
        FaultClass::RateLimited => "rate_limit_exceeded",
        FaultClass::Invalid => "invalid_prompt",
        _ => "server_error",
    };
    let mut error = object! {
        "code": own.unwrap_or(by_class),
        "message": fault.message.as_str(),
    };
    error.insert_some("param", fault.param.as_deref());
    if let Some(Json::Object(rest)) = fault.extra.get(DIALECT, "error") {
        note::merge(&mut error, rest);
    }
    error
}
