//! The header `toolwright-losses`: how many things were lost, and where the first was.

use std::fmt::Write;

use http::{HeaderName, HeaderValue};
use toolwright_core::translate::Report;

/// The header's name.
pub const HEADER: HeaderName = HeaderName::from_static("toolwright-losses");

/// The longest path that is told; a longer one ends with `…`, percent-encoded.
const LONGEST: usize = 256;
/// `…` in UTF-8, percent-encoded.
const MORE: &str = "%E2%80%A6";

/// The header's value, `3; first=/tools/0/strict`, if something is lost on the way of the request or
/// of the answer. What is not legal in a header, quotes, commas, semicolons and percent signs are
/// percent-encoded in the path.
pub fn value(request: &Report, response: &Report) -> Option<HeaderValue> {
    let first = request.losses.first().or(response.losses.first())?;
    let mut text = format!("{}; first=", request.losses.len() + response.losses.len());
    // The document as a whole has no name of its own.
    let path = if first.path.is_empty() { "/" } else { &first.path };
    encode(path, &mut text);
    HeaderValue::try_from(text).ok()
}

fn encode(path: &str, out: &mut String) {
    let end = out.len() + LONGEST;
    let mut bytes = [0; 4];
    for letter in path.chars() {
        let before = out.len();
        match letter {
            '!'..='~' if !matches!(letter, ';' | '%' | '"' | ',') => out.push(letter),
            _ => {
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    // Writing to a string cannot fail.
                    let _written = write!(out, "%{byte:02X}");
                }
            }
        }
        if out.len() > end {
            out.truncate(before);
            out.push_str(MORE);
            return;
        }
    }
}
