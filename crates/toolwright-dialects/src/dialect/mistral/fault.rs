//! Faults: `{"object":"error","message","type","param","code"}`, or the `{"detail":[…]}` of the web
//! framework, which is encoded unchanged.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result, WireReply};

/// The types for encoding; other types are accepted, and the status decides.
const TYPES: &[(FaultClass, &str)] = &[
    (FaultClass::Invalid, "invalid_request_error"),
    (FaultClass::Unauthenticated, "unauthorized"),
    (FaultClass::Billing, "payment_required"),
    (FaultClass::Forbidden, "forbidden"),
    (FaultClass::NotFound, "not_found"),
    (FaultClass::TooLarge, "request_too_large"),
    (FaultClass::RateLimited, "rate_limited"),
    (FaultClass::Timeout, "timeout"),
    (FaultClass::Overloaded, "service_unavailable"),
    (FaultClass::Internal, "internal_server_error"),
];

/// Whether a frame is a fault.
pub(super) fn is_fault(value: &Json) -> bool {
    value.get("object").and_then(Json::as_str) == Some("error")
        || value.get("choices").is_none()
            && ["error", "detail"].iter().any(|key| value.get(key).is_some())
}

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(None, |body, class| decode_body(body, Some(class)))
}

/// Decodes an error object, from a reply or from a stream, where the type determines the class.
/// Values that are not strings stay extra.
pub(super) fn decode_body(body: Json, class: Option<FaultClass>) -> Result<Fault> {
    let mut fields = Fields::new(body, Path::ROOT, DIALECT)?;
    let message = ["message", "detail", "error"].iter().find_map(|key| fields.peek(key));
    let message = message.map(words).ok_or_else(|| fields.missing("message"))?;
    let word = fields.tag("type");
    let known = TYPES.iter().find(|(_, own)| Some(*own) == word).map(|(class, _)| *class);
    let class = class.or(known).unwrap_or(FaultClass::Internal);
    let mut fault = Fault::new(class, message);
    if known == Some(class) {
        fields.take("type");
    }
    if fields.tag("message").is_some() {
        fields.take("message");
    }
    if fields.tag("object") == Some("error") {
        fields.take("object");
    }
    match fields.take("code") {
        Some(Json::String(code)) => fault.code = Some(code.into_string()),
        Some(code) => {
            fault.code = Some(code.to_string());
            fields.put_back("code", code);
        }
        None => {}
    }
    fault.param = fields.string("param")?;
    fault.extra = fields.into_extra();
    Ok(fault)
}

/// Returns the text of a message: its own, or those of the invalid fields.
fn words(message: &Json) -> String {
    match message {
        Json::String(text) => text.as_str().to_owned(),
        Json::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("; "),
        Json::Object(item) => {
            let inner = ["msg", "message", "detail"].iter().find_map(|key| item.get(key));
            let text = inner.map(words).unwrap_or_default();
            match item.get("loc").and_then(Json::as_array) {
                Some(place) => {
                    let steps = place.iter().map(|step| match step {
                        Json::String(step) => step.as_str().to_owned(),
                        step => step.to_string(),
                    });
                    format!("{}: {text}", steps.collect::<Vec<_>>().join("."))
                }
                None => text,
            }
        }
        _ => String::new(),
    }
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    // Statuses above 511 are those of other vendors.
    let own = fault.status.filter(|status| *status <= 511);
    let own = own.filter(|status| FaultClass::from_status(*status) == fault.class);
    let status = own.unwrap_or_else(|| fault.class.status());
    WireReply { status, headers, body: Json::Object(encode_body(fault)) }
}

/// Encodes an error object.
pub(super) fn encode_body(fault: &Fault) -> Object {
    let own = |key| fault.extra.get(DIALECT, key).cloned();
    let mut object = Object::new();
    let told = ["detail", "error"].iter().find_map(|key| own(key).filter(|told| !told.is_null()));
    let told = told.map(|told| words(&told));
    if told.as_ref() != Some(&fault.message) {
        let known = TYPES.iter().find(|(class, _)| *class == fault.class).map(|(_, word)| *word);
        object = object! {
            "object": "error",
            "message": own("message").unwrap_or_else(|| fault.message.as_str().into()),
            "type": own("type").or(known.map(Json::from)),
            "param": fault.param.as_deref(),
            "code": own("code").or(fault.code.as_deref().map(Json::from)),
        };
    }
    fault.extra.write_into(DIALECT, &mut object);
    object
}
