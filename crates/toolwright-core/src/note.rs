//! Keys of notes: what a codec stores beside a value for itself (how items were grouped, say).
//!
//! Notes are never written to a wire, and their absence is no loss. No wire key can be taken for one,
//! because [`Fields`](crate::codec::Fields) refuses keys of this form.

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
