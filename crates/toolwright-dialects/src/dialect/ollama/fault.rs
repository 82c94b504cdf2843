//! Faults: `{"error":"text"}`, with a status or as a line of a stream.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Object, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result, WireReply};

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(None, decode_body)
}

/// Decodes an error object, from a reply or a stream.
pub(super) fn decode_body(body: Json, class: FaultClass) -> Result<Fault> {
    let mut fields = Fields::new(body, Path::ROOT, DIALECT)?;
    let message = fields.need_string("error")?;
    Ok(Fault { extra: fields.into_extra(), ..Fault::new(class, message) })
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    WireReply { status: fault.class.status(), headers, body: Json::Object(encode_body(fault)) }
}

/// Encodes an error object.
pub(super) fn encode_body(fault: &Fault) -> Object {
    let mut object = object! {"error": fault.message.as_str()};
    fault.extra.write_into(DIALECT, &mut object);
    object
}
