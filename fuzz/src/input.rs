//! The format of an input: selectors first, then the document.

use toolwright_core::Json;
use toolwright_dialects::dialect::{self, ChatCodec, Dialect};

/// The codec of the chat dialect that a selector names: every byte names one.
pub fn codec(selector: u8) -> Option<&'static dyn ChatCodec> {
    dialect::codec(Dialect::ALL[number(selector) % (Dialect::ALL.len() - 1)])
}

/// The number of a selector; seeds write it as a digit.
pub fn number(selector: u8) -> usize {
    usize::from(selector.wrapping_sub(b'0'))
}

/// Takes `N` selectors.
pub fn selectors<const N: usize>(data: &[u8]) -> Option<(&[u8; N], &[u8])> {
    data.split_first_chunk()
}

/// Takes `N` selectors and the rest of their line; what follows is a document.
pub fn document<const N: usize>(data: &[u8]) -> Option<(&[u8; N], String, Json)> {
    let (selectors, rest) = selectors(data)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    Some((selectors, line, Json::parse_bytes(&rest[end + 1..]).ok()?))
}

/// The offset of the document: after the first line.
pub fn document_start(data: &[u8]) -> usize {
    data.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}
