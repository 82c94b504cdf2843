//! The header `toolwright-losses`: the number of losses, the number of major ones, and the path of
//! the most severe.

use http::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use toolwright_core::loss::Severity;
use toolwright_dialects::translate::Report;

/// The name of the header.
pub const HEADER: HeaderName = HeaderName::from_static("toolwright-losses");

/// Maximum length of the path in bytes; a longer one ends with `…`, percent-encoded.
const MAX_PATH_BYTES: usize = 256;
/// `…` in UTF-8, percent-encoded.
const MORE: &str = "%E2%80%A6";
/// The characters of a path that are percent-encoded, besides those that are not ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%').add(b',').add(b';');

/// Returns the value of the header, such as `3; major=1; first=/tools/0/strict`, if the request or
/// the response has losses. `first` is the most severe loss; for equal severity, that of the
/// request. Characters that are illegal in a header, quotes, commas, semicolons and percent signs
/// are percent-encoded in the path.
pub fn value(request: &Report, response: &Report) -> Option<HeaderValue> {
    // Reports list their most severe losses first.
    let first = match (request.losses.first(), response.losses.first()) {
        (Some(asked), Some(answered)) if answered.loss.severity > asked.loss.severity => answered,
        (asked, answered) => asked.or(answered)?,
    };
    let count = request.losses.len() + response.losses.len();
    let major = request.count_of(Severity::Major) + response.count_of(Severity::Major);
    let mut text = format!("{count}; major={major}; first=");
    // The document itself has an empty path.
    let path = if first.path.is_empty() { "/" } else { &first.path };
    encode(path, &mut text);
    HeaderValue::try_from(text).ok()
}

fn encode(path: &str, out: &mut String) {
    let end = out.len() + MAX_PATH_BYTES;
    let mut bytes = [0; 4];
    for letter in path.chars() {
        let before = out.len();
        out.extend(utf8_percent_encode(letter.encode_utf8(&mut bytes), ENCODED));
        if out.len() > end {
            out.truncate(before);
            out.push_str(MORE);
            return;
        }
    }
}
