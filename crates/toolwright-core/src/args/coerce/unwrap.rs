//! Arguments inside another object, as in `{"arguments": {…}}`.

use toolwright_json::{Json, Object};

use super::ground::Ground;
use super::mend::Spot;
use super::{Op, Proposal, node, parse};

/// Names of the enclosing object.
const WRAPPERS: [&str; 8] =
    ["arguments", "parameters", "input", "args", "params", "tool_input", "function", "kwargs"];

/// Members that may accompany the arguments in a call.
const BESIDE: [&str; 6] = ["name", "tool", "tool_name", "type", "id", "call_id"];

/// Members with the name of the tool.
const NAMES: [&str; 3] = ["name", "tool", "tool_name"];

/// Proposes the inner object. Only members of a call may accompany it, so that nothing else is
/// lost.
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

/// Returns the inner object if that is unambiguous although the schema accepts the outer one,
/// because it is open and requires nothing: a call that names its tool, alone or as the single item
/// of an array, or a wrapper with nothing but parameters of the tool.
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

/// Returns the other tool that a call names.
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

/// Returns the member of a call that contains its arguments.
fn wrapper<'v>(
    object: &'v Object,
    is_declared: &impl Fn(&str) -> bool,
) -> Option<(&'v str, &'v Json)> {
    let is_wrapper = |key: &str| WRAPPERS.contains(&key) && !is_declared(key);
    let is_call = object.len() <= 1 + BESIDE.len();
    object.iter().find(|(key, _)| is_call && is_wrapper(key))
}

/// Whether a member identifies this call, and not a call of another tool.
fn belongs(key: &str, value: &Json, tool: &str) -> bool {
    let Some(text) = value.as_str() else { return false };
    BESIDE.contains(&key) && (!NAMES.contains(&key) || tool.is_empty() || text == tool)
}
