//! Data of media: Google's SDKs write base64 in the alphabet for URLs, and every other vendor wants
//! the standard one.

use crate::note::note;

/// Note: the data came in the alphabet for URLs; the value says whether it was padded.
pub(in crate::dialect::gemini) const URL_SAFE: &str = note!("base64url");

/// Data in the standard alphabet and padded, and whether it was padded before, if it came in the
/// alphabet for URLs.
pub(super) fn standard(data: String) -> (String, Option<bool>) {
    if !data.bytes().any(|byte| matches!(byte, b'-' | b'_')) {
        return (data, None);
    }
    let mut standard = data.replace('-', "+").replace('_', "/");
    let padded = standard.len().is_multiple_of(4);
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    (standard, Some(padded))
}

/// Data in the alphabet for URLs, as [`standard`] read it.
pub(super) fn url_safe(data: &str, padded: bool) -> String {
    let data = data.replace('+', "-").replace('/', "_");
    if padded { data } else { data.trim_end_matches('=').to_owned() }
}
