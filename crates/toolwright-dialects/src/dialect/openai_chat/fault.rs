//! Faults: `{"error": {"message", "type", "param", "code"}}`.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Object, Path, object};

use super::Quirks;
use crate::codec::{Fields, Result, WireReply};

/// The type of each class.
const TYPES: &[(FaultClass, &str)] = &[
    (FaultClass::Invalid, "invalid_request_error"),
    (FaultClass::Unauthenticated, "authentication_error"),
    (FaultClass::Billing, "insufficient_quota"),
    (FaultClass::Forbidden, "permission_error"),
    (FaultClass::NotFound, "not_found_error"),
    (FaultClass::TooLarge, "request_too_large"),
    (FaultClass::RateLimited, "rate_limit_error"),
    (FaultClass::Timeout, "timeout_error"),
    (FaultClass::Overloaded, "overloaded_error"),
    (FaultClass::Internal, "server_error"),
];

/// Codes that determine the class within a stream, where there is no status.
const CODES: &[(FaultClass, &str)] = &[
    (FaultClass::Unauthenticated, "invalid_api_key"),
    (FaultClass::NotFound, "model_not_found"),
    (FaultClass::RateLimited, "rate_limit_exceeded"),
];

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply, quirks: &Quirks) -> Fault {
    wire.into_fault(Some("x-request-id"), |body, class| decode_body(body, Some(class), quirks))
}

/// Decodes an error within a stream.
pub(super) fn decode_stream(body: Json, quirks: &Quirks) -> Fault {
    decode_body(body, None, quirks)
        .unwrap_or_else(|_| Fault::new(FaultClass::Internal, "the upstream reported an error"))
}

/// Decodes an error object. LM Studio sends a string instead; vLLM once sent the fields without the
/// object.
fn decode_body(body: Json, class: Option<FaultClass>, quirks: &Quirks) -> Result<Fault> {
    let mut outer = Fields::new(body, Path::ROOT, quirks.dialect)?;
    let internal = class.unwrap_or(FaultClass::Internal);
    let mut inner = match outer.take("error") {
        Some(Json::String(text)) => return Ok(Fault::new(internal, text)),
        Some(error) => Fields::new(error, Path::ROOT.key("error"), quirks.dialect)?,
        None => {
            let message = outer.need_string("message")?;
            return Ok(Fault { extra: outer.into_extra(), ..Fault::new(internal, message) });
        }
    };
    let message = inner.need_string("message")?;
    // A numeric code stays extra.
    let code = match inner.tag("code") {
        Some(_) => inner.string("code")?,
        None => None,
    };
    let param = inner.string("param")?;
    let word = inner.string("type")?;
    let find = |words: &[(FaultClass, &str)], word: &Option<String>| {
        words.iter().find(|(_, own)| Some(*own) == word.as_deref()).map(|(class, _)| *class)
    };
    let class = class.or_else(|| find(CODES, &code)).or_else(|| find(TYPES, &word));
    let mut fault = Fault::new(class.unwrap_or(FaultClass::Internal), message);
    if let Some(word) = word.filter(|word| Some(word.as_str()) != type_of(fault.class)) {
        inner.put_back("type", word);
    }
    (fault.code, fault.param) = (code, param);
    outer.put_back_rest("error", inner.into_object());
    fault.extra = outer.into_extra();
    Ok(fault)
}

fn type_of(class: FaultClass) -> Option<&'static str> {
    TYPES.iter().find(|(own, _)| *own == class).map(|(_, word)| *word)
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault, quirks: &Quirks) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
        headers.push(("retry-after-ms".to_owned(), wait.to_string()));
    }
    if let Some(id) = &fault.request_id {
        headers.push(("x-request-id".to_owned(), id.clone()));
    }
    let own = fault.status.filter(|status| FaultClass::from_status(*status) == fault.class);
    let status = own.unwrap_or_else(|| fault.class.status());
    WireReply { status, headers, body: Json::Object(encode_body(fault, quirks)) }
}

/// Encodes an error object; all four keys are always present.
pub(super) fn encode_body(fault: &Fault, quirks: &Quirks) -> Object {
    let own = fault.extra.get(quirks.dialect, "error");
    let said = |key| own.and_then(|own| own.get(key)).cloned();
    let error = object! {
        "message": fault.message.as_str(),
        "type": said("type").unwrap_or_else(|| type_of(fault.class).into()),
        "param": fault.param.as_deref(),
        "code": said("code").unwrap_or_else(|| fault.code.as_deref().into()),
    };
    let mut object = object! {"error": error};
    fault.extra.write_into(quirks.dialect, &mut object);
    object
}
