//! Describes a stored value to the model: its type, its size, its beginning, and how to pass it on.
//!
//! The length of a preview is bounded. Bytes and base64 are described, not shown.

use std::fmt::Write;

use toolwright_core::Json;
use toolwright_json::pointer::escape;
use toolwright_json::{Key, Object};

use super::HandleId;
use crate::output::{Blob, Content};

/// Maximum number of bytes of a preview.
pub const PREVIEW_MAX: usize = 1024;

/// Maximum number of bytes of the line about one part.
const LINE_MAX: usize = 160;

/// Maximum number of bytes of a list of names.
const NAMES_MAX: usize = 240;

/// Maximum number of parts that are shown.
const PIECES: usize = 5;

/// Minimum length of a string that is detected as base64.
const BASE64_MIN: usize = 120;

/// Returns the preview of a stored value, with its handle.
pub fn preview(id: HandleId, kept: &Content) -> String {
    match kept {
        Content::Bytes(blob) => bytes(id, blob),
        Content::Json(value) => json(id, value),
        Content::Media(_) => usage(id, ""),
    }
}

fn bytes(id: HandleId, blob: &Blob) -> String {
    let mime = cut(&blob.mime, 100);
    let size = size(blob.bytes.len());
    format!("{size} of {mime}, kept outside this conversation.\n{}", usage(id, ""))
}

fn json(id: HandleId, value: &Json) -> String {
    let (first, rest) = outline(value);
    let usage = usage(id, &first);
    let mut out = summary(value);
    for line in rest {
        if out.len() + 1 + line.len() + 1 + usage.len() > PREVIEW_MAX {
            break;
        }
        out.push('\n');
        out.push_str(&line);
    }
    format!("{out}\n{usage}")
}

/// Explains how to pass a handle; with a pointer, how to pass a part of the value.
pub(super) fn usage(id: HandleId, pointer: &str) -> String {
    let mut out = format!("To use it, pass \"{id}\" as the argument");
    if !pointer.is_empty() {
        let _ = write!(out, ", or a piece of it as \"{id}#{pointer}\"");
    }
    out.push('.');
    out
}

/// Describes a value without values: its type, its size, and its keys or columns.
pub fn shape(value: &Content) -> String {
    match value {
        Content::Media(media) => cut(media.mime.as_deref().unwrap_or("media"), 100),
        Content::Bytes(blob) => {
            format!("{} of {}", size(blob.bytes.len()), cut(&blob.mime, 100))
        }
        Content::Json(value) => {
            let first = value.as_array().and_then(|items| items.first()).and_then(Json::as_object);
            let keys = first.map(|row| format!(" with the keys {}", names(row.keys())));
            let (what, size) = outlined(value);
            format!("{what}{} ({size})", keys.unwrap_or_default())
        }
    }
}

/// Describes a value in one line.
fn summary(value: &Json) -> String {
    let (what, size) = outlined(value);
    format!("{what} ({size}), kept outside this conversation.")
}

/// Returns the type of a value with its keys or columns, and its size.
fn outlined(value: &Json) -> (String, String) {
    let size = size(value.compact().len());
    let what = match value {
        Json::String(text) => match typed(text) {
            Some(kind) => kind,
            None => format!("text of {} and {}", characters(text), count(lines(text), "line")),
        },
        Json::Array(items) => format!("array of {}", count(items.len(), "item")),
        Json::Object(object) => match table(object) {
            Some((columns, rows)) => format!(
                "table of {} and {}: {}",
                count(rows.len(), "row"),
                count(columns.len(), "column"),
                names(columns.iter().filter_map(Json::as_str)),
            ),
            None => format!("object with {}: {}", count(object.len(), "key"), names(object.keys())),
        },
        other => other.kind().to_owned(),
    };
    (what, size)
}

/// Returns the pointer to the first part, and a line for each of the first parts.
fn outline(value: &Json) -> (String, Vec<String>) {
    let piece = |pointer: String, value: &Json| (format!("#{pointer}: {}", line(value)), pointer);
    let pieces: Vec<(String, String)> = match value {
        Json::Array(items) => {
            let numbered = items.iter().enumerate().take(PIECES);
            numbered.map(|(index, item)| piece(format!("/{index}"), item)).collect()
        }
        Json::Object(object) => match table(object) {
            Some((_, rows)) => {
                let numbered = rows.iter().enumerate().take(PIECES);
                numbered.map(|(index, row)| piece(format!("/rows/{index}"), row)).collect()
            }
            None => object
                .iter()
                // Skip a long key, which would fill the preview.
                .filter(|(key, _)| key.len() <= LINE_MAX / 2)
                .take(2 * PIECES)
                .map(|(key, value)| piece(format!("/{}", escape(key)), value))
                .collect(),
        },
        Json::String(text) if typed(text).is_none() => {
            return (String::new(), vec![format!("It begins: {}", cut(text, 2 * LINE_MAX))]);
        }
        _ => Vec::new(),
    };
    let first = pieces.first().map(|(_, pointer)| pointer.clone()).unwrap_or_default();
    (first, pieces.into_iter().map(|(line, _)| line).collect())
}

/// Returns the columns and rows of `{"columns": [names], "rows": [arrays or objects]}`.
fn table(object: &Object) -> Option<(&[Json], &[Json])> {
    let columns = object.get("columns")?.as_array()?;
    let rows = object.get("rows")?.as_array()?;
    let is_table = columns.iter().all(|name| name.as_str().is_some())
        && rows.iter().all(|row| matches!(row, Json::Array(_) | Json::Object(_)));
    is_table.then_some((columns, rows))
}

/// Lists the keys of an object or gives the length of an array, for a pointer that leads to
/// nothing.
pub(super) fn pieces(value: &Json) -> String {
    match value {
        Json::Object(object) if object.is_empty() => "an object without keys".to_owned(),
        Json::Object(object) => format!("an object with the keys {}", names(object.keys())),
        Json::Array(items) => match items.len() {
            0 => "an empty array".to_owned(),
            length => format!("an array of {}, 0 to {}", count(length, "item"), length - 1),
        },
        Json::Null => "null".to_owned(),
        other => format!("a {}, which has no pieces", other.kind()),
    }
}

/// Writes a value in short form on one line.
fn line(value: &Json) -> String {
    cut(&sketch(value, 0).compact(), LINE_MAX)
}

/// Truncates strings and omits deeply nested values.
fn sketch(value: &Json, depth: usize) -> Json {
    match value {
        Json::String(text) => Json::from(typed(text).unwrap_or_else(|| cut(text, 60))),
        Json::Array(items) if depth == 2 => {
            Json::from(format!("(array of {})", count(items.len(), "item")))
        }
        Json::Object(object) if depth == 2 => {
            Json::from(format!("(object with {})", count(object.len(), "key")))
        }
        Json::Array(items) => {
            let mut out: Vec<Json> =
                items.iter().take(8).map(|item| sketch(item, depth + 1)).collect();
            if items.len() > 8 {
                out.push(Json::from(format!("({} more)", items.len() - 8)));
            }
            Json::Array(out)
        }
        Json::Object(object) => {
            let shown = object.iter().take(8);
            let mut out: Object = shown
                .map(|(key, value)| (Key::Owned(cut(key, 40)), sketch(value, depth + 1)))
                .collect();
            if object.len() > 8 {
                out.push("…", format!("({} more)", object.len() - 8));
            }
            Json::Object(out)
        }
        other => other.clone(),
    }
}

/// Describes a string that contains encoded bytes.
fn typed(text: &str) -> Option<String> {
    if let Some((mime, data)) =
        text.strip_prefix("data:").and_then(|url| url.split_once(";base64,"))
        && mime.len() <= 100
    {
        return Some(format!("(base64 of {mime}, {})", size(data.len())));
    }
    let is_base64 = text.len() >= BASE64_MIN
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte));
    is_base64.then(|| format!("(base64, {})", size(text.len())))
}

/// Joins names with commas, up to a limit.
pub(crate) fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    for name in names {
        let name = cut(name, 60);
        if left_out > 0 || out.len() + name.len() > NAMES_MAX {
            left_out += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&name);
    }
    if left_out > 0 {
        let _ = write!(out, " and {left_out} more");
    }
    out
}

/// Truncates text to a number of bytes, including the ellipsis, on one line and at a character
/// boundary.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    let one_line = |text: &str| text.replace(|letter: char| letter.is_control(), " ");
    if text.len() <= bytes {
        return one_line(text);
    }
    let end = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
    format!("{}…", one_line(&text[..end]))
}

fn characters(text: &str) -> String {
    count(text.chars().count(), "character")
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// Formats a number with its noun.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Formats a number of bytes.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => count(bytes, "byte"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
