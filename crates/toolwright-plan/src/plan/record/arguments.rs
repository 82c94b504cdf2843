//! The arguments of a recorded call, as a plan has to write them: with the types of the tool's schema, because a plan
//! is checked without coercion.

use std::borrow::Cow;

use toolwright_core::args::{CoercionOptions, Parsed, Reading};
use toolwright_json::{Json, Object};

use super::{RecordedCall, RecordedHandle, RecordedResult};
use crate::plan::stored::lookup;
use crate::plan::tools::PlanTools;

/// The arguments of a call.
pub(super) struct Arguments {
    /// By name; null in the place of a handle
    pub(super) values: Object,
    /// The handles, by their places in these arguments
    pub(super) handles: Vec<RecordedHandle>,
}

impl Arguments {
    /// Reads the arguments of a call.
    pub(super) fn new(calls: &[RecordedCall], at: usize, tools: &PlanTools) -> Arguments {
        let call = &calls[at];
        let mut value = call.arguments.clone();
        for handle in &call.handles {
            if let (Some(known), Some(place)) =
                (known(calls, handle), value.pointer_mut(&handle.path))
            {
                *place = known;
            }
        }
        let parameters = tools.get(&call.tool).and_then(|tool| tool.parameters("").ok());
        let values = match (parameters, value) {
            (Some(parameters), value) => {
                let reading = Reading { value, changes: Vec::new() };
                let parsed = Parsed { readings: vec![reading] };
                let resolved = parameters.resolve(parsed, &CoercionOptions::default());
                let mut values = resolved.arguments().clone();
                for name in resolved.defaulted() {
                    values.remove(name);
                }
                values
            }
            (None, Json::Object(values)) => values,
            (None, _) => Object::new(),
        };
        let mut values = Json::Object(values);
        let handles: Vec<_> =
            call.handles.iter().filter_map(|handle| moved(handle, &values)).collect();
        for handle in handles.iter().filter(|handle| handle.source.is_some()) {
            if let Some(place) = values.pointer_mut(&handle.path) {
                *place = Json::Null;
            }
        }
        let values = if let Json::Object(values) = values { values } else { Object::new() };
        Arguments { values, handles }
    }
}

/// Returns the value behind a handle, if the record has it.
fn known(calls: &[RecordedCall], handle: &RecordedHandle) -> Option<Json> {
    let (call, pointer) = handle.source.as_ref()?;
    match &calls.get(*call)?.result {
        RecordedResult::Output(output) => lookup(output, pointer).map(Cow::into_owned),
        _ => None,
    }
}

/// Returns the handle with its place in the arguments, which may have been inside of another object.
fn moved(handle: &RecordedHandle, values: &Json) -> Option<RecordedHandle> {
    let mut path = handle.path.as_str();
    loop {
        if values.pointer(path).is_some() {
            return Some(RecordedHandle { path: path.to_owned(), ..handle.clone() });
        }
        let next = path.get(1..)?.find('/')?;
        path = &path[next + 1..];
    }
}
