//! A small stable hash, for names and ids that must be the same in every process.

/// FNV-1a of 64 bits. Collisions are resolved by whoever uses it.
pub(crate) fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The hash in `length` letters and digits.
pub(crate) fn alphanumeric(text: &str, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut state = fnv(text);
    let mut out = String::with_capacity(length);
    for round in 0..length {
        let digit = usize::try_from(state % 62).unwrap_or_default();
        out.push(char::from(DIGITS[digit]));
        state /= 62;
        // Ten digits exhaust 64 bits; a longer text mixes the hash once more.
        if round % 10 == 9 {
            state = fnv(&out) ^ fnv(text);
        }
    }
    out
}
