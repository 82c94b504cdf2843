//! Writes [`Json`] as text: compact or indented, deterministically.

use std::fmt;

use super::{Json, Object};
use crate::scan;

/// The compact form.
pub(crate) fn text(value: &Json) -> String {
    let mut out = String::with_capacity(room(length(value)));
    compact(value, &mut out);
    out
}

/// The compact form of an object.
pub(crate) fn object_text(value: &Object) -> String {
    let mut out = String::new();
    append_object(value, &mut out);
    out
}

/// Appends the compact form of an object, after one allocation for all of it.
pub(crate) fn append_object(value: &Object, out: &mut String) {
    out.reserve(room(object_length(value)));
    object(value, out);
}

/// Returns the capacity for a text of this length without its escapes, so that it rarely grows.
fn room(length: usize) -> usize {
    length + length / 16
}

/// Returns the number of bytes of the compact form, without escapes.
fn length(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 5,
        Json::Number(number) => number.as_str().len(),
        Json::String(text) => text.json().map_or_else(|| text.len() + 2, str::len),
        Json::Array(items) => 2 + items.iter().map(|item| length(item) + 1).sum::<usize>(),
        Json::Object(members) => object_length(members),
    }
}

fn object_length(object: &Object) -> usize {
    let member = |(key, item): (&str, &Json)| key.len() + 4 + length(item);
    match object.raw_text() {
        Some(text) => text.len(),
        None => 2 + object.iter().map(member).sum::<usize>(),
    }
}

/// Appends the compact form.
pub(crate) fn compact(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(number.as_str()),
        Json::String(text) => match text.json() {
            Some(json) => out.push_str(json),
            None => string(text, out),
        },
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                compact(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => object(members, out),
    }
}

/// Appends the compact form of an object.
pub(crate) fn object(object: &Object, out: &mut String) {
    if let Some(text) = object.raw_text() {
        out.push_str(text);
        return;
    }
    out.push('{');
    for (index, (key, item)) in object.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(key, out);
        out.push(':');
        compact(item, out);
    }
    out.push('}');
}

/// Appends the indented form.
pub(crate) fn pretty(value: &Json, indent: usize, out: &mut String) {
    let line = |out: &mut String, indent: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent * 2));
    };
    match value {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, indent + 1);
                pretty(item, indent + 1, out);
            }
            line(out, indent);
            out.push(']');
        }
        Json::Object(object) if !object.is_empty() => {
            out.push('{');
            for (index, (key, item)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                line(out, indent + 1);
                string(key, out);
                out.push_str(": ");
                pretty(item, indent + 1, out);
            }
            line(out, indent);
            out.push('}');
        }
        flat => compact(flat, out),
    }
}

/// Appends a string in quotes.
pub(crate) fn string(text: &str, out: &mut String) {
    out.reserve(text.len() + 3);
    out.push('"');
    let plain = scan::plain(text.as_bytes());
    if plain == text.len() {
        out.push_str(text);
    } else {
        escaped(text, plain, out);
    }
    out.push('"');
}

/// Appends text whose first escape is at a position.
fn escaped(text: &str, mut at: usize, out: &mut String) {
    let mut start = 0;
    loop {
        out.push_str(&text[start..at]);
        let Some(byte) = text.as_bytes().get(at) else { return };
        escape(*byte, out);
        start = at + 1;
        at = scan::special_from(text.as_bytes(), start);
    }
}

fn escape(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        _ => {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.compact())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.compact())
    }
}
