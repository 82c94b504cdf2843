//! Summarizes a response without a full decode.

use std::borrow::Cow;

use toolwright_core::StopReason;
use toolwright_json::{Json, JsonError, Object, Path, Value, skim};

use super::decode_usage;
use crate::codec::{Fields, ResponseSummary};
use crate::dialect::anthropic::wire::{DIALECT, STOPS};

/// Summarizes a body; `None` if it is not a response.
pub(in crate::dialect::anthropic) fn summarize(
    body: &[u8],
) -> Result<Option<ResponseSummary>, JsonError> {
    let mut summary = ResponseSummary::default();
    let (mut said, mut usage, mut stop) = (false, Json::Null, StopReason::default());
    skim(body, |key, value| {
        match key {
            "id" => summary.id = value.text()?.map(Cow::into_owned),
            "model" => summary.model = value.text()?.map(Cow::into_owned),
            "usage" => usage = value.json()?,
            "stop_reason" => stop = value.text()?.map(reason).unwrap_or_default(),
            "content" => {
                said = true;
                summary.calls.clear();
                value.items(|block| {
                    summary.calls.extend(name(block)?);
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    let usage = Json::Object(Object::of([("usage".into(), usage)]));
    let usage = Fields::new(usage, Path::ROOT, DIALECT)
        .and_then(|mut own| decode_usage(&mut own, Path::ROOT));
    let Ok(usage) = usage else { return Ok(None) };
    summary.usage = usage;
    Ok(said.then(|| summary.with_stop(stop, false)))
}

/// Returns the name of a call, if a block is one.
fn name(block: &mut Value<'_, '_>) -> Result<Option<String>, JsonError> {
    let (mut name, mut call) = (None, false);
    block.members(|key, value| {
        match key {
            "type" => call = value.text()?.is_some_and(|kind| kind == "tool_use"),
            "name" => name = value.text()?.map(Cow::into_owned),
            _ => {}
        }
        Ok(())
    })?;
    Ok(name.filter(|_| call))
}

fn reason(word: Cow<'_, str>) -> StopReason {
    let own = STOPS.iter().find(|(_, own)| *own == word);
    own.map(|(reason, _)| *reason).unwrap_or_default()
}
