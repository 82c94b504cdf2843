//! The id of an exchange: in its log line, in the ledger, in the header of its reply, and the way to
//! its losses.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// When the request came, to the millisecond, and 80 bits that nobody can guess, written `req_` and
/// 26 digits of base 32. Ids that follow each other stand beside each other in the ledger's index,
/// so that a batch of entries changes a few of its pages and not one for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

/// The text is no request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a request id: one is `req_` and 26 letters and digits")]
pub struct NotARequestId;

const PREFIX: &str = "req_";
const LENGTH: usize = 26;
/// How many bits nobody can guess.
const SECRET: usize = 80;
/// Crockford's digits: none that is taken for another.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// What the ids of this process are made from.
static KEY: OnceLock<[u8; 32]> = OnceLock::new();
static COUNT: AtomicU64 = AtomicU64::new(0);

impl RequestId {
    /// An id that was never given before. The system is asked for randomness once in a process; the
    /// ids are a keyed hash of their number, which costs no call into it.
    pub fn random() -> RequestId {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(KEY.get_or_init(key), &number.to_le_bytes());
        let (secret, _) = hash.as_bytes().split_at(SECRET / 8);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = since.as_millis() << SECRET;
        RequestId(time | secret.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
    }

    /// The bits.
    pub fn bits(self) -> u128 {
        self.0
    }
}

fn key() -> [u8; 32] {
    let mut key = [0; 32];
    if getrandom::fill(&mut key).is_err() {
        // Without a source of randomness the ids are still unique, as far as maps can make them so.
        for chunk in key.chunks_mut(8) {
            chunk.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
    }
    key
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; LENGTH];
        let mut bits = self.0;
        for place in text.iter_mut().rev() {
            *place = DIGITS[(bits & 31) as usize];
            bits >>= 5;
        }
        formatter.write_str(PREFIX)?;
        // Digits are ASCII.
        formatter.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for RequestId {
    type Err = NotARequestId;

    fn from_str(text: &str) -> Result<RequestId, NotARequestId> {
        let digits = text.strip_prefix(PREFIX).ok_or(NotARequestId)?;
        // 26 digits have room for 130 bits.
        if digits.len() != LENGTH || digits.as_bytes()[0] > b'7' {
            return Err(NotARequestId);
        }
        let mut bits = 0;
        for digit in digits.bytes() {
            let value = DIGITS.iter().position(|own| *own == digit).ok_or(NotARequestId)?;
            bits = bits << 5 | value as u128;
        }
        Ok(RequestId(bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        for id in [RequestId(0), RequestId(u128::MAX), RequestId::random(), RequestId::random()] {
            let text = id.to_string();
            assert_eq!(text.len(), PREFIX.len() + LENGTH);
            assert_eq!(text.parse(), Ok(id));
        }
        assert_eq!(RequestId(u128::MAX).to_string(), "req_7zzzzzzzzzzzzzzzzzzzzzzzzz");
    }

    #[test]
    fn ids_differ() {
        let ids: std::collections::HashSet<RequestId> =
            (0..10_000).map(|_| RequestId::random()).collect();
        assert_eq!(ids.len(), 10_000);
    }

    #[test]
    fn a_later_id_stands_behind_an_earlier_one() {
        let early = RequestId::random().to_string();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(early < RequestId::random().to_string());
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "req_",
            "req_0000000000000000000000000",
            "req_000000000000000000000000000",
            "req_8zzzzzzzzzzzzzzzzzzzzzzzzz",
            "req_0000000000000000000000000u",
            "req_0000000000000000000000000A",
            "req_000000000000000000000000é",
            "00000000000000000000000000",
        ] {
            assert_eq!(text.parse::<RequestId>(), Err(NotARequestId), "{text}");
        }
    }
}
