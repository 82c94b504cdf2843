//! Media data: Google's SDKs write URL-safe base64, and every other vendor requires the standard
//! alphabet.

use toolwright_core::note;

/// A note: the data was URL-safe; the value says whether it was padded.
pub(in crate::dialect::gemini) const URL_SAFE: &str = note!("base64url");

/// Converts data to the standard, padded alphabet. Also returns whether it was padded, if it was
/// URL-safe.
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

/// Converts data back to the URL-safe alphabet.
pub(super) fn url_safe(data: &str, padded: bool) -> String {
    let data = data.replace('+', "-").replace('/', "_");
    if padded { data } else { data.trim_end_matches('=').to_owned() }
}
