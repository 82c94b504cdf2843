//! Arguments that came inside another object, as in `{"arguments": {…}}`.

use super::ground::Ground;
use super::mend::Spot;
use super::{Op, Proposal, node, parse};
use crate::json::Json;

/// What models call the object around the arguments.
const WRAPPERS: [&str; 8] =
    ["arguments", "parameters", "input", "args", "params", "tool_input", "function", "kwargs"];

/// What may stand beside the arguments in a whole call.
const BESIDE: [&str; 6] = ["name", "tool", "tool_name", "type", "id", "call_id"];

/// What a whole call says of itself.
const NAMES: [&str; 3] = ["name", "tool", "tool_name"];

/// The object inside. Only what belongs to a call may stand beside it: nothing else is lost.
pub(super) fn propose(ground: &Ground<'_>, value: &Json, spot: &Spot) -> Option<Proposal> {
    let object = value.as_object()?;
    let declared = node::properties(ground, spot.around.iter().chain(&spot.schemas));
    let tool = ground.by.tool;
    let is_wrapper = |key: &str| {
        !declared.contains(&key) && (WRAPPERS.contains(&key) || (key == tool && !tool.is_empty()))
    };
    let mut wrappers = object.iter().filter(|(key, _)| is_wrapper(key));
    let (Some((wrapper, inner)), None) = (wrappers.next(), wrappers.next()) else { return None };
    let is_call = |(key, beside): (&str, &Json)| {
        key == wrapper || (!declared.contains(&key) && belongs(key, beside, tool))
    };
    if !object.iter().all(is_call) {
        return None;
    }
    let inner = match inner {
        Json::Object(_) => inner.clone(),
        Json::String(text) => parse::held(text)?,
        _ => return None,
    };
    inner.as_object().is_some().then(|| Proposal::new(&spot.at, Op::Unwrap, value, inner))
}

/// Whether a member says which call this is, and not that it is a call of another tool.
fn belongs(key: &str, value: &Json, tool: &str) -> bool {
    let Some(text) = value.as_str() else { return false };
    BESIDE.contains(&key) && (!NAMES.contains(&key) || tool.is_empty() || text == tool)
}
