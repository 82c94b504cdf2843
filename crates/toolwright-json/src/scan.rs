//! Finds the bytes of a string with a special meaning, eight at a time.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// Returns the position of the first quote, backslash or control character, or the end.
#[expect(clippy::inline_always, reason = "most strings are short; calls made parsing 3 % slower")]
#[inline(always)]
pub(super) fn special_from(bytes: &[u8], from: usize) -> usize {
    let mut rest = &bytes[from..];
    while let Some((word, more)) = rest.split_first_chunk() {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return bytes.len() - rest.len() + found.trailing_zeros() as usize / 8;
        }
        rest = more;
    }
    bytes.len() - rest.len() + tail(rest)
}

/// Returns the number of bytes with a special meaning.
pub(super) fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| is_special(**byte)).count()
}

/// Returns the number of leading bytes without special meaning.
#[inline]
pub(super) fn plain(bytes: &[u8]) -> usize {
    special_from(bytes, 0)
}

/// The same for fewer than eight bytes.
fn tail(bytes: &[u8]) -> usize {
    if is_plain(bytes) { bytes.len() } else { leading(bytes) }
}

/// Whether fewer than eight bytes are all plain; for four or more, two overlapping halves are
/// checked.
fn is_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            special(u64::from(first) << 32 | u64::from(last)) == 0
        }
        _ => leading(bytes) == bytes.len(),
    }
}

fn leading(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !is_special(**byte)).count()
}

pub(super) fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

/// Sets the high bit of each special byte. A borrow may set bits above the first such byte, never
/// below it, and only the first is used. Swapping 0x20 and 0x22 puts the quote next to the control
/// characters, so that one comparison finds both.
fn special(word: u64) -> u64 {
    let control_or_quote = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (control_or_quote | backslash) & !word & HIGH
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn every_byte_is_judged_at_every_place() {
        for length in 1..20 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = byte;
                    let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    let expected = if special { place } else { length };
                    assert_eq!(plain(&bytes), expected, "{byte} at {place} of {length}");
                }
            }
        }
    }
}
