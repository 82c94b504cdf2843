//! Keys and their hashes. Only the hash is kept.

use std::fmt;
use std::str::FromStr;

use toolwright_transport::secret::SecretString;

/// What a key begins with, so that people and scanners know one.
const PREFIX: &str = "tw-";

/// What a written hash begins with: the function that made it.
const FUNCTION: &str = "blake3:";

/// The hash of a key. Two are compared in constant time.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(blake3::Hash);

impl KeyHash {
    /// The hash of a key.
    pub fn of(key: &str) -> KeyHash {
        KeyHash(blake3::hash(key.as_bytes()))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FUNCTION}{}", self.0.to_hex())
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyHash({FUNCTION}{}…)", &self.0.to_hex()[..8])
    }
}

impl FromStr for KeyHash {
    type Err = InvalidKeyHash;

    fn from_str(text: &str) -> Result<KeyHash, InvalidKeyHash> {
        let digits = text.strip_prefix(FUNCTION).ok_or(InvalidKeyHash)?;
        blake3::Hash::from_hex(digits).map(KeyHash).map_err(|_| InvalidKeyHash)
    }
}

/// The error for a text that is not a hash. It does not repeat the text, which may be the key itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this must be `blake3:` and 64 hexadecimal digits; the key itself is never here")]
pub struct InvalidKeyHash;

/// A new key: 256 random bits.
pub fn generate() -> Result<SecretString, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    // The type writes 32 bytes as digits; they are no hash of anything.
    let digits = blake3::Hash::from_bytes(bytes).to_hex();
    Ok(SecretString::new(format!("{PREFIX}{digits}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_was_written() {
        let hash = KeyHash::of("tw-1");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_ne!(hash, KeyHash::of("tw-2"));
        let digits = "0".repeat(64);
        for text in ["", "blake3:", "blake3:00", &digits, &format!("sha256:{digits}")] {
            assert_eq!(text.parse::<KeyHash>(), Err(InvalidKeyHash), "{text}");
        }
        assert!(!format!("{hash:?}").contains(&hash.to_string()));
    }

    #[test]
    fn keys_are_long_and_never_the_same() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        assert_ne!(one.expose(), other.expose());
        let digits = one.expose().strip_prefix("tw-").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}
