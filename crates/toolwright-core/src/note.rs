//! Keys of notes, in which a codec stores data for itself beside a value, such as the grouping of
//! items.
//!
//! Notes are never written to the wire, and dropping one is not a loss.
//! The readers of wire formats refuse keys of this form, so that input cannot contain notes.

use toolwright_json::Object;

/// The key of a note.
#[doc(hidden)]
#[macro_export]
macro_rules! note {
    ($name:literal) => {
        concat!("\u{1}", $name)
    };
}

/// Whether a key is that of a note.
#[inline]
pub fn is_note(key: &str) -> bool {
    key.starts_with('\u{1}')
}

/// Adds extra fields that an object lacks, without notes.
pub fn merge(object: &mut Object, extra: &Object) {
    object.merge_where(extra, |key| !is_note(key));
}
