//! Stored tokens.

use std::fs;
use std::sync::Arc;

use toolwright_testing::authorization_server::AuthorizationServer;
use toolwright_transport::oauth::{EncryptedTokens, TokenKey, TokenSource, TokenStore};

use super::logged_in;

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn tokens_are_encrypted_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (key, tokens) = (folder.path().join("key"), folder.path().join("tokens"));
    let open = || EncryptedTokens::open(&tokens, TokenKey::open(&key).unwrap()).unwrap();
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    let source = TokenSource::for_user(client.clone(), Arc::new(open()), "user 1");
    source.set(token.clone()).await.unwrap();
    drop(source);

    let source = TokenSource::for_user(client.clone(), Arc::new(open()), "user 1");
    let restored = source.token().await.unwrap();
    assert_eq!(restored.access().expose(), token.access().expose());
    assert_eq!(restored.scope(), token.scope());
    assert_eq!(server.refreshes(), 0);
    // The rotated refresh token is stored as well, and the earlier one is gone.
    source.reject(&restored);
    source.token().await.unwrap();
    let source = TokenSource::for_user(client, Arc::new(open()), "user 1");
    let restored = source.token().await.unwrap();
    source.reject(&restored);
    assert!(server.accepts(&source.token().await.unwrap()));
    assert_eq!(server.refreshes(), 2);
    assert_eq!(source.store_failure(), None);

    let stored = files(&tokens);
    assert_eq!(stored.len(), 1);
    let bytes = fs::read(&stored[0]).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!has("access") && !has("refresh") && !has("user 1"));
    #[cfg(unix)]
    for path in [&key, &stored[0]] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    source.clear().await.unwrap();
    assert!(files(&tokens).is_empty());
    source.token().await.unwrap_err();
}

#[tokio::test]
async fn a_damaged_or_swapped_token_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let key = TokenKey::from_bytes([7; 32]);
    let store = EncryptedTokens::open(folder.path(), key).unwrap();
    let server = AuthorizationServer::start().await;
    let (client, token) = logged_in(&server).await;
    store.save("user 1", &token).await.unwrap();
    let first = files(folder.path()).remove(0);
    let bytes = fs::read(&first).unwrap();
    store.save("user 2", &token).await.unwrap();
    let second = files(folder.path()).into_iter().find(|path| *path != first).unwrap();
    assert_ne!(fs::read(&second).unwrap(), bytes);

    // The file of one user under the name of another
    fs::write(&second, &bytes).unwrap();
    store.load("user 2").await.unwrap_err();
    assert!(store.load("user 1").await.unwrap().is_some());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&first, &damaged).unwrap();
        assert!(store.load("user 1").await.is_err(), "byte {at}");
    }
    for length in 0..30 {
        fs::write(&first, &bytes[..length]).unwrap();
        assert!(store.load("user 1").await.is_err(), "{length} bytes");
    }
    let other = EncryptedTokens::open(folder.path(), TokenKey::from_bytes([8; 32])).unwrap();
    fs::write(&first, &bytes).unwrap();
    let source = TokenSource::for_user(client, Arc::new(other), "user 1");
    let error = source.token().await.unwrap_err().to_string();
    assert!(error.contains("cannot be decrypted") && error.contains("log in again"), "{error}");
    source.set(token).await.unwrap();
    assert!(source.token().await.is_ok());
}

#[tokio::test]
async fn an_invalid_key_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, [0; 31]).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = TokenKey::open(&path).unwrap_err().to_string();
        assert!(error.contains("can be read by others; set its mode to 0600"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let error = TokenKey::open(&path).unwrap_err().to_string();
    assert!(error.contains("does not have a random key of 32 bytes"), "{error}");
    assert!(!format!("{:?}", TokenKey::from_bytes([65; 32])).contains("65"));
}
