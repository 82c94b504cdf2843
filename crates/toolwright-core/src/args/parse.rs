//! The first step: the text of a call's arguments to every way of understanding it.

use super::{Parsed, Reading, repair};
use crate::json::Json;
use crate::model::call::Arguments;

/// Reads arguments. What is JSON is read as it is, and nothing is looked for beyond that.
pub fn parse(arguments: &Arguments) -> Parsed {
    let readings = match arguments {
        Arguments::Json(text) => document(text.to_json()),
        Arguments::Free(text) => vec![plain(Json::from(text.as_str()))],
        Arguments::Malformed(text) => repair::readings(text),
    };
    Parsed { readings }
}

/// A reading in which nothing was changed.
fn plain(value: Json) -> Reading {
    Reading { value, changes: Vec::new() }
}

/// A document as it is; a string may hold the arguments.
fn document(value: Json) -> Vec<Reading> {
    let decoded = match &value {
        Json::String(text) => repair::decoded(text),
        _ => Vec::new(),
    };
    let mut readings = vec![plain(value)];
    readings.extend(decoded);
    readings
}
