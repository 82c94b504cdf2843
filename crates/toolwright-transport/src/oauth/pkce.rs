//! Proof keys (RFC 7636, S256) and other random values.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;

use super::error::OAuthError;
use crate::secret::SecretString;

/// A random value of 256 bits, in 43 characters that need no encoding in a URL.
pub(super) fn random() -> Result<SecretString, OAuthError> {
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes)
        .map_err(|_| OAuthError::Callback { why: "the system has no random numbers".to_owned() })?;
    Ok(SecretString::new(BASE64_URL_SAFE_NO_PAD.encode(*bytes)))
}

/// The S256 challenge of a verifier.
pub(super) fn challenge(verifier: &SecretString) -> String {
    let hash = digest::digest(&digest::SHA256, verifier.expose().as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        // RFC 7636, appendix B
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".into();
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn random_values_differ_and_are_long_enough() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.expose().len(), 43);
        assert_ne!(one.expose(), other.expose());
    }
}
