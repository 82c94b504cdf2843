//! The id of an exchange, used in its log line, the ledger, the header of its reply and the URL of
//! its losses.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A request id: a timestamp in milliseconds and 80 random bits, written as `req_` and 26 digits of
/// base 32. Consecutive ids are adjacent in the ledger's index, so that a batch of entries touches
/// few of its pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

/// The text is not a request id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a request id: expected `req_` and 26 letters and digits")]
pub struct NotARequestId;

const PREFIX: &str = "req_";
const LENGTH: usize = 26;
/// Number of random bits.
const SECRET: usize = 80;
/// Crockford's base 32, without ambiguous digits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The random key of this process.
static KEY: OnceLock<[u8; 32]> = OnceLock::new();
static COUNT: AtomicU64 = AtomicU64::new(0);

impl RequestId {
    /// Creates a unique id. Randomness is read from the system once per process; ids are a keyed
    /// hash of a counter, which needs no system call.
    pub fn random() -> RequestId {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(KEY.get_or_init(key), &number.to_le_bytes());
        let (secret, _) = hash.as_bytes().split_at(SECRET / 8);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = since.as_millis() << SECRET;
        RequestId(time | secret.iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
    }

    /// Returns the bits.
    pub fn bits(self) -> u128 {
        self.0
    }
}

fn key() -> [u8; 32] {
    let mut key = [0; 32];
    if getrandom::fill(&mut key).is_err() {
        // Without a source of randomness, ids are as unique as the seeds of hash maps.
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
        // 26 digits can hold 130 bits.
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
