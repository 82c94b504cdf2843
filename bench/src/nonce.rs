//! The number of a request, which its reply repeats, so that no two replies can be confused.

use memchr::memmem;

/// Sixteen hexadecimal digits that are unique to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nonce([u8; 16]);

impl Nonce {
    const MARK: &[u8] = b"nonce-";

    /// The nonce with this number.
    pub(crate) fn new(number: u64) -> Nonce {
        let mut digits = [b'0'; 16];
        digits.copy_from_slice(format!("{number:016x}").as_bytes());
        Nonce(digits)
    }

    /// The offset of the digits of the first nonce.
    pub(crate) fn place(text: &[u8]) -> Option<usize> {
        memmem::find(text, Nonce::MARK).map(|mark| mark + Nonce::MARK.len())
    }

    /// The first nonce in a text.
    pub(crate) fn find(text: &[u8]) -> Option<Nonce> {
        let digits = text.get(Nonce::place(text)?..)?.first_chunk::<16>()?;
        Some(Nonce(*digits))
    }

    /// The digits.
    pub(crate) fn digits(&self) -> &[u8; 16] {
        &self.0
    }
}
