//! Idempotency keys: the names and hashes of requests that a client may repeat.

use http::{HeaderMap, HeaderName};
use toolwright_core::{Fault, FaultClass};

/// The header that names a request which a client may repeat.
pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Hashes texts, each prefixed with its length.
pub fn hash(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the name of the run of a request with an idempotency key, within a scope such as a client.
pub fn of_key(headers: &HeaderMap, scope: &[&str]) -> Option<String> {
    let key = headers.get(HEADER).filter(|key| !key.is_empty())?;
    let key = String::from_utf8_lossy(key.as_bytes());
    Some(hash(&[scope, &[&key]].concat())[..32].to_owned())
}

/// The fault of another request with a key that was used.
pub fn reused() -> Fault {
    let message = "This `Idempotency-Key` was used for another request. Send the same request \
                   again to get its answer, or choose another key.";
    let code = Some("idempotency_key_reused".to_owned());
    Fault { status: Some(422), code, ..Fault::new(FaultClass::Invalid, message) }
}
