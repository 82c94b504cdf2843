//! What is noted of a whole answer that passes, without reading all of it.

use std::borrow::Cow;

use super::decode_usage;
use crate::codec::Fields;
use crate::codec::Watch;
use crate::dialect::anthropic::wire::{DIALECT, STOPS};
use crate::json::{Json, JsonError, Object, Path, Value, skim};
use crate::model::response::StopReason;

/// Looks at a body. `None` if it is no answer.
pub(in crate::dialect::anthropic) fn glance(body: &[u8]) -> Result<Option<Watch>, JsonError> {
    let mut watch = Watch::default();
    let (mut said, mut usage, mut stop) = (false, Json::Null, StopReason::default());
    skim(body, |key, value| {
        match key {
            "id" => watch.id = value.text()?.map(Cow::into_owned),
            "model" => watch.model = value.text()?.map(Cow::into_owned),
            "usage" => usage = value.json()?,
            "stop_reason" => stop = value.text()?.map(reason).unwrap_or_default(),
            "content" => {
                said = true;
                watch.calls.clear();
                value.items(|block| {
                    watch.calls.extend(name(block)?);
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
    watch.usage = usage;
    Ok(said.then(|| watch.glanced(stop, false)))
}

/// The name of a call, if a block is one.
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
