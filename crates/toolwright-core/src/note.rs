//! Keys of notes, in which a codec stores data for itself beside a value, such as the grouping of
//! items.
//!
//! Notes are never written to the wire, and dropping one is not a loss.
//! [`Fields`](crate::codec::Fields) refuses keys of this form, so that input cannot contain notes.

/// The key of a note.
macro_rules! note {
    ($name:literal) => {
        concat!("\u{1}", $name)
    };
}
pub(crate) use note;

/// Whether a key is that of a note.
pub(crate) fn is_note(key: &str) -> bool {
    key.starts_with('\u{1}')
}
