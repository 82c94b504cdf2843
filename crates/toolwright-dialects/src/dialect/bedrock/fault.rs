//! Faults: `{"message"}`, their type in a header; in a stream an exception frame of that type.

use toolwright_core::{Fault, FaultClass, wire_json};
use toolwright_json::{Json, Object, Path, object};

use super::wire::{DIALECT, REQUEST_ID};
use crate::codec::{Fields, WireReply};
use crate::frame::Frame;

/// The header with the error type; without it and `__type`, SDKs only use the status.
const ERROR_TYPE: &str = "x-amzn-errortype";

/// The error types, with their statuses. The first type of a class is its default.
const TYPES: &[(FaultClass, &str, u16)] = &[
    (FaultClass::Invalid, "ValidationException", 400),
    (FaultClass::Invalid, "ConflictException", 400),
    (FaultClass::Forbidden, "AccessDeniedException", 403),
    (FaultClass::NotFound, "ResourceNotFoundException", 404),
    (FaultClass::Timeout, "ModelTimeoutException", 408),
    (FaultClass::RateLimited, "ThrottlingException", 429),
    (FaultClass::RateLimited, "ServiceQuotaExceededException", 400),
    (FaultClass::Internal, "InternalServerException", 500),
    (FaultClass::Internal, "ModelErrorException", 424),
    (FaultClass::Internal, "ModelStreamErrorException", 424),
    (FaultClass::Overloaded, "ServiceUnavailableException", 503),
    (FaultClass::Overloaded, "ModelNotReadyException", 429),
    // Errors of AWS for unknown credentials, which precede the service.
    (FaultClass::Unauthenticated, "UnrecognizedClientException", 403),
    (FaultClass::Unauthenticated, "ExpiredTokenException", 403),
    // Encoded only: these classes have no own type here.
    (FaultClass::Billing, "AccessDeniedException", 403),
    (FaultClass::TooLarge, "ValidationException", 400),
];

/// The types that a stream can end with.
const STREAMED: &[&str] = &[
    "ValidationException",
    "ThrottlingException",
    "InternalServerException",
    "ModelStreamErrorException",
    "ServiceUnavailableException",
];

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    let seconds = wire.header("retry-after").and_then(|value| value.parse::<u64>().ok());
    let in_body = ["__type", "code"].iter().find_map(|key| wire.body.get(key)?.as_str());
    let word = wire.header(ERROR_TYPE).or(in_body).map(bare);
    let mut fault = Fault {
        status: Some(wire.status),
        retry_after_ms: seconds.map(|seconds| seconds.saturating_mul(1000)),
        request_id: wire.header(REQUEST_ID).map(str::to_owned),
        ..Fault::new(
            FaultClass::from_status(wire.status),
            format!("the upstream answered with status {}", wire.status),
        )
    };
    classify(&mut fault, word);
    read_body(&mut fault, wire.body);
    fault
}

/// Decodes an exception frame, whose name is the type in lower camel case.
pub(super) fn decode_frame(frame: &Frame) -> Fault {
    let mut fault = Fault::new(FaultClass::Internal, "the upstream's stream failed");
    classify(&mut fault, frame.name.as_deref().map(|name| recase(name, char::to_ascii_uppercase)));
    read_body(&mut fault, wire_json::parse(&frame.data).unwrap_or_default());
    fault
}

/// Removes the namespace before the type and the URL after it.
fn bare(word: &str) -> String {
    let word = word.split(':').next().unwrap_or_default();
    word.rsplit('#').next().unwrap_or_default().to_owned()
}

/// Sets the class by a type, and keeps the type if the class does not imply it.
fn classify(fault: &mut Fault, word: Option<String>) {
    let Some(word) = word.filter(|word| !word.is_empty()) else { return };
    if let Some((class, _, _)) = TYPES.iter().find(|(_, own, _)| *own == word) {
        fault.class = *class;
    }
    if row_of(fault.class).1 != word {
        fault.code = Some(word);
    }
}

fn read_body(fault: &mut Fault, body: Json) {
    let Ok(mut fields) = Fields::new(body, Path::ROOT, DIALECT) else { return };
    for key in ["message", "Message"] {
        if fields.tag(key).is_some()
            && let Some(Json::String(message)) = fields.take(key)
        {
            fault.message = message.into_string();
            break;
        }
    }
    fault.extra = fields.into_extra();
}

fn row_of(class: FaultClass) -> (FaultClass, &'static str, u16) {
    let internal = (FaultClass::Internal, "InternalServerException", 500);
    TYPES.iter().find(|(own, _, _)| *own == class).copied().unwrap_or(internal)
}

/// Returns the type and status of a fault: its code if that is a type of AWS, or else those of its
/// class.
fn type_of(fault: &Fault) -> (&str, u16) {
    let (_, known, status) = row_of(fault.class);
    match fault.code.as_deref().filter(|code| code.ends_with("Exception")) {
        None => (known, status),
        Some(own) => match TYPES.iter().find(|(_, word, _)| *word == own) {
            Some((_, word, status)) => (word, *status),
            None => (own, fault.status.unwrap_or(status)),
        },
    }
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let (word, status) = type_of(fault);
    let mut headers = vec![(ERROR_TYPE.to_owned(), word.to_owned())];
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    if let Some(id) = &fault.request_id {
        headers.push((REQUEST_ID.to_owned(), id.clone()));
    }
    WireReply { status, headers, body: Json::Object(encode_body(fault)) }
}

/// Encodes an exception frame.
pub(super) fn encode_frame(fault: &Fault) -> Frame {
    let (word, _) = type_of(fault);
    let word = STREAMED.iter().find(|own| **own == word).copied().unwrap_or(match fault.class {
        FaultClass::RateLimited => "ThrottlingException",
        FaultClass::Timeout | FaultClass::Overloaded => "ServiceUnavailableException",
        FaultClass::Internal => "InternalServerException",
        _ => "ValidationException",
    });
    let body = Json::Object(encode_body(fault));
    Frame::exception(recase(word, char::to_ascii_lowercase), body.to_string())
}

fn encode_body(fault: &Fault) -> Object {
    let mut object = object! {"message": fault.message.as_str()};
    fault.extra.write_into(DIALECT, &mut object);
    object
}

/// Changes the case of the first letter.
fn recase(word: &str, case: impl Fn(&char) -> char) -> String {
    word.chars().enumerate().map(|(at, own)| if at == 0 { case(&own) } else { own }).collect()
}
