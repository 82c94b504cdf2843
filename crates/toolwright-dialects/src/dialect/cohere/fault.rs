//! Faults: `{"id","message"}` with a status; in a stream, the last event's `error`.

use toolwright_core::{Fault, FaultClass};
use toolwright_json::{Json, Path, object};

use super::wire::DIALECT;
use crate::codec::{Fields, Result, WireReply};

/// The statuses that the SDK has a class for. Several share one canonical class, so the status of a
/// decoded fault is encoded again.
const STATUSES: &[u16] = &[400, 401, 403, 404, 422, 429, 498, 499, 500, 501, 503, 504];

/// Decodes a reply that is not a success.
pub(super) fn decode(wire: WireReply) -> Fault {
    wire.into_fault(None, decode_body)
}

fn decode_body(body: Json, class: FaultClass) -> Result<Fault> {
    let mut fields = Fields::new(body, Path::ROOT, DIALECT)?;
    let mut fault = Fault::new(class, fields.need_string("message")?);
    fault.request_id = fields.string("id")?;
    fault.extra = fields.into_extra();
    Ok(fault)
}

/// Encodes a reply.
pub(super) fn encode(fault: &Fault) -> WireReply {
    let mut headers = Vec::new();
    if let Some(wait) = fault.retry_after_ms {
        headers.push(("retry-after".to_owned(), wait.div_ceil(1000).to_string()));
    }
    let own = fault.status.filter(|status| {
        STATUSES.contains(status) && FaultClass::from_status(*status) == fault.class
    });
    let mut body = object! {"message": fault.message.as_str()};
    body.insert_some("id", fault.request_id.as_deref());
    fault.extra.write_into(DIALECT, &mut body);
    let status = own.unwrap_or_else(|| fault.class.status());
    WireReply { status, headers, body: Json::Object(body) }
}
