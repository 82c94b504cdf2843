//! The JSON form of the last response and of usage.

use toolwright_core::{Json, Response, Stop, StopReason, Usage, object};
use toolwright_json::Object;

use toolwright_core::document::{
    DocumentError, ObjectReader, read_extra, read_part, read_usage, write_extra, write_part,
};

pub(super) fn write(response: &Response) -> Object {
    let parts: Vec<Object> = response.parts.iter().map(write_part).collect();
    let stop = &response.stop;
    let mut written = object! {
        "reason": stop.reason.name(),
        "sequence": stop.sequence.clone(),
        "details": stop.details.clone(),
    };
    written.insert_some("extra", write_extra(&stop.extra));
    let mut out = object! {
        "id": response.id.clone(),
        "model": response.model.clone(),
        "parts": parts,
        "stop": written,
        "usage": response.usage.as_ref().map(write_usage),
    };
    out.insert_some("extra", write_extra(&response.extra));
    out
}

pub(super) fn read(document: &Json) -> Result<Response, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(Response {
        id: fields.owned("id")?,
        model: fields.owned("model")?,
        parts: fields.list("parts", read_part)?,
        stop: fields.required("stop", read_stop)?,
        usage: fields.optional("usage", read_usage)?,
        extra: read_extra(fields)?,
    })
}

fn read_stop(document: &Json) -> Result<Stop, DocumentError> {
    let fields = ObjectReader::of(document)?;
    Ok(Stop {
        reason: fields.word("reason", "why the model stopped", StopReason::from_name)?,
        sequence: fields.owned("sequence")?,
        extra: read_extra(fields)?,
        details: fields.optional("details", |value| Ok(value.clone()))?,
    })
}

pub(super) fn write_usage(usage: &Usage) -> Object {
    let mut out = object! {
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
    };
    out.insert_some("extra", write_extra(&usage.extra));
    out
}
