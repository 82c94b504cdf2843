//! Faults: `{"error":{"code","message","status","details"}}`, google.rpc's status.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{self, DIALECT};
use crate::codec::{Result, WireReply};

/// The status word of each class.
const WORDS: &[(FaultClass, &str)] = &[
    (FaultClass::Invalid, "INVALID_ARGUMENT"),
    (FaultClass::Unauthenticated, "UNAUTHENTICATED"),
    (FaultClass::Forbidden, "PERMISSION_DENIED"),
    (FaultClass::NotFound, "NOT_FOUND"),
    (FaultClass::RateLimited, "RESOURCE_EXHAUSTED"),
    (FaultClass::Timeout, "DEADLINE_EXCEEDED"),
    (FaultClass::Overloaded, "UNAVAILABLE"),
    (FaultClass::Internal, "INTERNAL"),
    // Encoded only: these classes have no own word here.
    (FaultClass::Billing, "FAILED_PRECONDITION"),
    (FaultClass::TooLarge, "INVALID_ARGUMENT"),
];

/// The detail with the retry delay.
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(None, |body, class| decode_body(unwrap(body), class))
}

/// Removes the array around some errors.
pub(super) fn unwrap(body: Json) -> Json {
    match body {
        Json::Array(mut items) if items.len() == 1 => items.pop().unwrap_or_default(),
        body => body,
    }
}

/// Decodes an error object, from a reply or a stream. Its code takes precedence over its word,
/// which several codes share.
pub(super) fn decode_body(body: Json, class: FaultClass) -> Result<Fault> {
    let mut outer = wire::open(body, Path::ROOT)?;
    let mut inner = wire::open(outer.need("error")?, Path::ROOT.key("error"))?;
    let mut fault = Fault::new(class, inner.need_string("message")?);
    let code = inner.u64("code")?;
    let word = inner.string("status")?;
    let known = WORDS.iter().find(|(_, own)| Some(*own) == word.as_deref());
    match code.and_then(|code| u16::try_from(code).ok()) {
        Some(status) => fault.class = FaultClass::from_status(status),
        None => fault.class = known.map_or(class, |(class, _)| *class),
    }
    if let Some(code) = code.filter(|code| *code != u64::from(fault.class.status())) {
        inner.put_back("code", code);
    }
    if let Some(word) = word.filter(|word| *word != usual(fault.class)) {
        inner.put_back("status", word.as_str());
        fault.code = Some(word);
    }
    fault.retry_after_ms = inner.peek("details").and_then(retry_after);
    outer.put_back_rest("error", inner.into_object());
    fault.extra = outer.into_extra();
    Ok(fault)
}

fn usual(class: FaultClass) -> &'static str {
    WORDS.iter().find(|(own, _)| *own == class).map_or("INTERNAL", |(_, word)| *word)
}

fn retry_after(details: &Json) -> Option<u64> {
    let is_info = |detail: &&Json| detail.get("@type").and_then(Json::as_str) == Some(RETRY_INFO);
    let delay = |info: &Json| millis(wire::member(info.as_object()?, "retryDelay")?.as_str()?);
    details.as_array()?.iter().filter(is_info).find_map(delay)
}

/// Decodes a duration: seconds with up to nine decimals and an `s`.
fn millis(text: &str) -> Option<u64> {
    let text = text.strip_suffix('s')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

/// Encodes a duration.
fn duration(millis: u64) -> String {
    match millis % 1000 {
        0 => format!("{}s", millis / 1000),
        rest => format!("{}.{rest:03}s", millis / 1000),
    }
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    let own = own_code(fault).and_then(|code| u16::try_from(code).ok());
    let status = own.unwrap_or(fault.class.status());
    WireReply { status, headers, body: Json::Object(encode_body(fault)) }
}

/// Returns the vendor's code, if its class has another.
fn own_code(fault: &Fault) -> Option<u64> {
    fault.extra.get(DIALECT, "error").and_then(|own| own.get("code")).and_then(Json::as_u64)
}

/// Encodes an error object.
pub(super) fn encode_body(fault: &Fault) -> Object {
    let own = fault.extra.get(DIALECT, "error").and_then(|own| own.get("status")?.as_str());
    let mut error = object! {
        "code": own_code(fault).unwrap_or(u64::from(fault.class.status())),
        "message": fault.message.as_str(),
        "status": own.unwrap_or(usual(fault.class)),
    };
    let extra = fault.extra.get(DIALECT, "error").and_then(|own| own.get("details"));
    if let Some(wait) = fault.retry_after_ms.filter(|_| extra.and_then(retry_after).is_none()) {
        let mut details = extra.and_then(Json::as_array).unwrap_or_default().to_vec();
        let info = object! {"@type": RETRY_INFO, "retryDelay": duration(wait)};
        details.push(Json::Object(info));
        error.insert("details", details);
    }
    let mut object = object! {"error": error};
    fault.extra.write_into(DIALECT, &mut object);
    object
}
