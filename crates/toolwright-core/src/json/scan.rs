//! Looks for the bytes of a string that need attention, eight at a time.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// How many leading bytes are neither a quote, a backslash nor a control character.
#[inline]
pub(super) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    if is_plain(&bytes[at..]) { bytes.len() } else { at + count(&bytes[at..]) }
}

/// Whether all of less than eight bytes are plain: two overlapping halves say it of four or more.
fn is_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            special(u64::from(first) << 32 | u64::from(last)) == 0
        }
        _ => count(bytes) == bytes.len(),
    }
}

fn count(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// Sets the high bit of each byte that needs attention. A borrow may set bits above the first such
/// byte, never below it, and only the first is used.
fn special(word: u64) -> u64 {
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & HIGH
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
