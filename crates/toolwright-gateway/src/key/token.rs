//! Internal tokens: a client exchanges its key for one, and sends it in its place to the endpoints of
//! prefabs.
//!
//! A token is the client's name, its expiry and a signature that also covers the hash of the client's
//! key. It is invalid as soon as the key is removed or replaced, and reveals nothing of the key.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use toolwright_catalog::signing::SigningKey;

use super::{Client, Keys};

/// What a token begins with, so that people and scanners know one.
const PREFIX: &str = "twi";

/// The purpose of the signature.
const PURPOSE: &str = "internal token";

impl Keys {
    /// Creates a token for a client, until a time in seconds since 1970.
    pub fn issue_token(&self, client: &Client, key: &SigningKey, expires: u64) -> String {
        let expires = expires.to_string();
        let signature = key.sign(PURPOSE, &[client.name(), &self.hash_of(client.name()), &expires]);
        let name = BASE64_URL_SAFE_NO_PAD.encode(client.name());
        format!("{PREFIX}.{expires}.{name}.{signature}")
    }

    /// Returns the client of a token that is valid now, in seconds since 1970.
    pub fn redeem_token(&self, token: &str, key: &SigningKey, now: u64) -> Option<Arc<Client>> {
        let mut fields = token.trim().strip_prefix(PREFIX)?.strip_prefix('.')?.splitn(3, '.');
        let (expires, name, signature) = (fields.next()?, fields.next()?, fields.next()?);
        let name = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        let is_signed = key.verify(PURPOSE, &[&name, &self.hash_of(&name), expires], signature);
        if !is_signed || now >= expires.parse().ok()? {
            return None;
        }
        self.named(&name)
    }

    /// Returns the hash of a client's key as text, or an empty text for a client without a key.
    fn hash_of(&self, name: &str) -> String {
        let found = self.clients.iter().find(|(_, client)| client.name() == name);
        found.map(|(hash, _)| hash.to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::tests::key;

    #[test]
    fn a_token_is_valid_until_it_expires_or_its_key_goes() {
        let folder = tempfile::tempdir().unwrap();
        let signing = SigningKey::open(folder.path()).unwrap();
        let keys = Keys::new(&[key("alice", "tw-1"), key("bob", "tw-2")]);
        let alice = keys.clients.values().find(|own| own.name() == "alice").unwrap();
        let token = keys.issue_token(alice, &signing, 100);
        let redeemed = |keys: &Keys, token: &str, now| {
            keys.redeem_token(token, &signing, now).map(|own| own.name().to_owned())
        };
        assert_eq!(redeemed(&keys, &token, 99).as_deref(), Some("alice"));
        assert_eq!(redeemed(&keys, &token, 100), None, "expired");
        let renamed = token.replace(
            &BASE64_URL_SAFE_NO_PAD.encode("alice"),
            &BASE64_URL_SAFE_NO_PAD.encode("bob"),
        );
        for other in [&renamed, &token.replace(".100.", ".999."), &token[1..], "", "twi...", "tw-1"]
        {
            assert_eq!(redeemed(&keys, other, 0), None, "{other}");
        }
        let replaced = Keys::new(&[key("alice", "tw-3")]);
        assert_eq!(redeemed(&replaced, &token, 0), None, "the key was replaced");
        assert_eq!(redeemed(&Keys::new(&[]), &token, 0), None, "the key was removed");
        let other = SigningKey::open(tempfile::tempdir().unwrap().path()).unwrap();
        assert!(keys.redeem_token(&token, &other, 0).is_none(), "of another gateway");
        assert!(!token.contains("tw-1") && !token.contains(&keys.hash_of("alice")));
    }

    #[test]
    fn a_token_of_a_gateway_without_keys_ends_with_the_first_key() {
        let folder = tempfile::tempdir().unwrap();
        let signing = SigningKey::open(folder.path()).unwrap();
        let open = Keys::new(&[]);
        let token = open.issue_token(&Client::open(), &signing, 100);
        assert!(open.redeem_token(&token, &signing, 0).is_some());
        assert!(Keys::new(&[key("open", "tw-1")]).redeem_token(&token, &signing, 0).is_none());
    }
}
