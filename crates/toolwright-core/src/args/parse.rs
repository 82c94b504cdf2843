//! Parses the text of arguments into readings. First step.

use toolwright_json::Json;

use super::{Parsed, Reading, repair};
use crate::model::call::Arguments;

/// Parses arguments. Valid JSON has one reading and is not repaired.
pub fn parse(arguments: &Arguments) -> Parsed {
    let readings = match arguments {
        Arguments::Json(text) => document(text.to_json()),
        Arguments::Free(text) => vec![plain(Json::from(text.as_str()))],
        Arguments::Malformed(text) => repair::readings(text),
    };
    Parsed { readings }
}

/// Parses arguments as they are written: text that is not JSON has no reading, and a string stays a
/// string.
pub fn parse_exact(arguments: &Arguments) -> Parsed {
    let readings = match arguments {
        Arguments::Json(text) => vec![plain(text.to_json())],
        Arguments::Free(text) => vec![plain(Json::from(text.as_str()))],
        Arguments::Malformed(_) => Vec::new(),
    };
    Parsed { readings }
}

/// Creates a reading without changes.
fn plain(value: Json) -> Reading {
    Reading { value, changes: Vec::new() }
}

/// Returns the readings of a document; a string may contain the arguments.
fn document(value: Json) -> Vec<Reading> {
    let decoded = match &value {
        Json::String(text) => repair::decoded(text),
        _ => Vec::new(),
    };
    let mut readings = vec![plain(value)];
    readings.extend(decoded);
    readings
}
