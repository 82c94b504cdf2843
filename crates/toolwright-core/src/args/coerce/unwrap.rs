//! Arguments that came inside another object, as in `{"arguments": {…}}`.

use super::ground::Ground;
use super::mend::Spot;
use super::{Op, Proposal, node, parse};
use crate::json::{Json, Object};

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
        let names_tool = NAMES.contains(&key) && !tool.is_empty() && beside.as_str() == Some(tool);
        key == wrapper || names_tool || (!declared.contains(&key) && belongs(key, beside, tool))
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

/// The object inside, where there can be no doubt though the schema accepts the whole, because it is
/// open and nothing is required: a call that names its tool, alone or as the one item of an array,
/// or a wrapper alone around parameters that the tool has.
pub(in crate::args) fn evident(
    value: &Json,
    tool: &str,
    is_declared: impl Fn(&str) -> bool,
) -> Option<Json> {
    let (object, is_item) = match value {
        Json::Array(items) => (items.first()?.as_object().filter(|_| items.len() == 1)?, true),
        value => (value.as_object()?, false),
    };
    let (wrapper, inner) = wrapper(object, &is_declared)?;
    let mut beside = object.iter().filter(|(key, _)| *key != wrapper).peekable();
    if beside.peek().is_none() {
        let members = inner.as_object().filter(|members| !members.is_empty() && !is_item)?;
        return members.keys().all(is_declared).then(|| inner.clone());
    }
    let names_tool = |key: &str| object.get(key).is_some_and(|name| name.as_str() == Some(tool));
    let is_evident = !tool.is_empty()
        && NAMES.into_iter().any(names_tool)
        && beside.all(|(key, value)| belongs(key, value, tool));
    match inner {
        Json::String(text) if is_evident => {
            parse::held(text).filter(|held| held.as_object().is_some())
        }
        Json::Object(_) if is_evident => Some(inner.clone()),
        _ => None,
    }
}

/// The other tool that a whole call names.
pub(in crate::args) fn other_tool<'v>(
    value: &'v Json,
    tool: &str,
    is_declared: impl Fn(&str) -> bool,
) -> Option<&'v str> {
    let object = value.as_object()?;
    wrapper(object, &is_declared)?;
    let name = NAMES.into_iter().filter(|key| !is_declared(key)).find_map(|key| object.get(key))?;
    name.as_str().filter(|name| !tool.is_empty() && *name != tool)
}

/// The member of a call that holds its arguments.
fn wrapper<'v>(
    object: &'v Object,
    is_declared: &impl Fn(&str) -> bool,
) -> Option<(&'v str, &'v Json)> {
    let is_wrapper = |key: &str| WRAPPERS.contains(&key) && !is_declared(key);
    let is_call = object.len() <= 1 + BESIDE.len();
    object.iter().find(|(key, _)| is_call && is_wrapper(key))
}

/// Whether a member says which call this is, and not that it is a call of another tool.
fn belongs(key: &str, value: &Json, tool: &str) -> bool {
    let Some(text) = value.as_str() else { return false };
    BESIDE.contains(&key) && (!NAMES.contains(&key) || tool.is_empty() || text == tool)
}
