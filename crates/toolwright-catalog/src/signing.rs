//! Signatures of links and tokens: HMAC-SHA256 with a key in a file of the data folder.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;

use toolwright_transport::key_file::{self, KeyFileError, SIGNING_KEY_FILE};

/// A key that links and tokens are signed with.
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

/// The key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct SigningKeyError(#[from] KeyFileError);

impl SigningKey {
    /// Opens the key of a data folder. Creates the file with mode 0600 if it does not exist.
    pub fn open(data: &Path) -> Result<SigningKey, SigningKeyError> {
        let key = key_file::open(&data.join(SIGNING_KEY_FILE))?;
        Ok(SigningKey(hmac::Key::new(hmac::HMAC_SHA256, key.expose())))
    }

    /// Signs fields for a purpose. A signature for one purpose is invalid for every other.
    pub fn sign(&self, purpose: &str, fields: &[&str]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &message(purpose, fields)))
    }

    /// Whether a signature is the one of these fields. The comparison takes constant time.
    pub fn verify(&self, purpose: &str, fields: &[&str], signature: &str) -> bool {
        let Ok(signature) = BASE64_URL_SAFE_NO_PAD.decode(signature) else { return false };
        hmac::verify(&self.0, &message(purpose, fields), &signature).is_ok()
    }
}

/// Joins fields, each after its length, so that no two lists of fields have the same message.
fn message(purpose: &str, fields: &[&str]) -> Vec<u8> {
    let mut message = Vec::new();
    for field in std::iter::once(&purpose).chain(fields) {
        message.extend_from_slice(&(field.len() as u64).to_be_bytes());
        message.extend_from_slice(field.as_bytes());
    }
    message
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_purpose_and_fields_and_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let key = SigningKey::open(folder.path()).unwrap();
        let signature = key.sign("link", &["a", "bc"]);
        let again = SigningKey::open(folder.path()).unwrap();
        assert!(again.verify("link", &["a", "bc"], &signature));
        for (purpose, fields) in [
            ("token", &["a", "bc"][..]),
            ("link", &["ab", "c"]),
            ("link", &["a", "bc", ""]),
            ("link", &["a"]),
        ] {
            assert!(!key.verify(purpose, fields, &signature), "{purpose} {fields:?}");
        }
        for other in ["", "!", &signature[1..], &format!("{signature}A")] {
            assert!(!key.verify("link", &["a", "bc"], other), "{other}");
        }
        let other = SigningKey::open(tempfile::tempdir().unwrap().path()).unwrap();
        assert!(!other.verify("link", &["a", "bc"], &signature));
    }
}
