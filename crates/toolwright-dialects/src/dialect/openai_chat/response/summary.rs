//! Summarizes a response without a full decode.

use std::borrow::Cow;

use toolwright_core::StopReason;
use toolwright_json::{Json, JsonError, Object, Path, Value, skim};

use super::decode_usage;
use crate::codec::{Fields, ResponseSummary};
use crate::dialect::openai_chat::Quirks;
use crate::dialect::openai_chat::wire::{OWN_STOPS, STOPS};

/// Summarizes a body. `None` if it is not a response, or needs a full decode.
pub(in crate::dialect::openai_chat) fn summarize(
    body: &[u8],
    quirks: &Quirks,
) -> Result<Option<ResponseSummary>, JsonError> {
    let mut summary = ResponseSummary::default();
    let (mut turn, mut usage) = (None, Json::Null);
    skim(body, |key, value| {
        match key {
            "id" => summary.id = filled(value)?,
            "model" => summary.model = filled(value)?,
            "usage" => usage = value.json()?,
            "choices" => turn = first(value)?,
            _ => {}
        }
        Ok(())
    })?;
    let Some(turn) = turn.filter(|turn| !turn.unusual) else { return Ok(None) };
    let usage = Json::Object(Object::of([("usage".into(), usage)]));
    let usage = Fields::new(usage, Path::ROOT, quirks.dialect)
        .and_then(|mut own| decode_usage(&mut own, quirks));
    let Ok(usage) = usage else { return Ok(None) };
    (summary.calls, summary.usage) = (turn.calls, usage);
    Ok(Some(summary.with_stop(turn.stop, turn.refused)))
}

/// The summary of the first choice.
#[derive(Default)]
struct Turn {
    stop: StopReason,
    calls: Vec<String>,
    refused: bool,
    /// Whether it contains something that needs a full decode
    unusual: bool,
}

fn first(choices: &mut Value<'_, '_>) -> Result<Option<Turn>, JsonError> {
    let mut turn = None;
    choices.items(|choice| {
        if turn.is_none() {
            turn = Some(read(choice)?);
        }
        Ok(())
    })?;
    Ok(turn)
}

fn read(choice: &mut Value<'_, '_>) -> Result<Turn, JsonError> {
    let mut turn = Turn { unusual: true, ..Turn::default() };
    choice.members(|key, value| {
        match key {
            "finish_reason" => turn.stop = value.text()?.map(reason).unwrap_or_default(),
            "message" => {
                turn = Turn { stop: turn.stop, ..Turn::default() };
                value.members(|key, value| message(&mut turn, key, value))?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(turn)
}

fn message(turn: &mut Turn, key: &str, value: &mut Value<'_, '_>) -> Result<(), JsonError> {
    match key {
        "content" => turn.unusual |= !value.is_null() && !value.is_text(),
        "refusal" => turn.refused = filled(value)?.is_some(),
        "function_call" => turn.unusual |= !value.is_null(),
        "tool_calls" => {
            turn.calls.clear();
            value.items(|call| {
                let name = name(call)?;
                turn.unusual |= name.is_none();
                turn.calls.extend(name);
                Ok(())
            })?;
        }
        _ => {}
    }
    Ok(())
}

/// Returns the name of a function call.
fn name(call: &mut Value<'_, '_>) -> Result<Option<String>, JsonError> {
    let (mut name, mut custom) = (None, false);
    call.members(|key, value| {
        match key {
            "function" => value.members(|key, value| {
                if key == "name" {
                    name = value.text()?.map(Cow::into_owned);
                }
                Ok(())
            })?,
            "custom" => custom = !value.is_null(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(name.filter(|_| !custom))
}

fn filled(value: &mut Value<'_, '_>) -> Result<Option<String>, JsonError> {
    Ok(value.text()?.filter(|text| !text.is_empty()).map(Cow::into_owned))
}

fn reason(word: Cow<'_, str>) -> StopReason {
    let own = STOPS.iter().chain(OWN_STOPS).find(|(_, own)| *own == word);
    own.map(|(reason, _)| *reason).unwrap_or_default()
}
