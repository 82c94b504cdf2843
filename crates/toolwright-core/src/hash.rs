//! A small stable hash, for names and ids that must be the same in every process.

/// The FNV-1a hash of no bytes.
pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of 64 bits. Callers must handle collisions.
pub fn fnv(text: &str) -> u64 {
    fnv_extend(FNV_START, text.as_bytes())
}

/// Continues an FNV-1a hash with more bytes.
#[inline]
pub fn fnv_extend(hash: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Returns the hash in `length` letters and digits.
pub fn alphanumeric(text: &str, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut state = fnv(text);
    let mut out = String::with_capacity(length);
    for round in 0..length {
        let digit = usize::try_from(state % 62).unwrap_or_default();
        out.push(char::from(DIGITS[digit]));
        state /= 62;
        // Ten digits exhaust 64 bits; a longer text rehashes.
        if round % 10 == 9 {
            state = fnv(&out) ^ fnv(text);
        }
    }
    out
}
