//! Stores of tokens: in memory, or in encrypted files.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::token::Token;
use crate::key_file::{self, KEY_BYTES, KeyFileError};
use crate::private_file;
use crate::secret::Secret;

/// The first byte of a file: its format.
const FORMAT: u8 = 1;

/// Why a token cannot be stored or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenStoreError {
    /// A file cannot be read or written
    #[error("{}: {why}", path.display())]
    File {
        /// The file
        path: PathBuf,
        /// The system's error
        why: String,
    },
    /// A key file is not one, or others may read it
    #[error("the key file {} {why}", path.display())]
    Key {
        /// The file
        path: PathBuf,
        /// What is wrong, and the remedy
        why: &'static str,
    },
    /// A stored token cannot be decrypted
    #[error(
        "the token in {} cannot be decrypted: the file is damaged, or was written with another key; \
         log in again",
        path.display()
    )]
    Damaged {
        /// The file
        path: PathBuf,
    },
}

impl From<KeyFileError> for TokenStoreError {
    fn from(error: KeyFileError) -> TokenStoreError {
        match error {
            KeyFileError::Unavailable { path, why } => TokenStoreError::File { path, why },
            KeyFileError::Invalid { path, why } => TokenStoreError::Key { path, why },
        }
    }
}

/// The result of an operation, when it is done.
pub type TokenFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, TokenStoreError>> + Send + 'a>>;

/// A store of tokens, each under a name.
pub trait TokenStore: Send + Sync + 'static {
    /// Returns a token.
    fn load<'a>(&'a self, name: &'a str) -> TokenFuture<'a, Option<Token>>;
    /// Stores a token, in place of an earlier one.
    fn save<'a>(&'a self, name: &'a str, token: &'a Token) -> TokenFuture<'a, ()>;
    /// Removes a token.
    fn remove<'a>(&'a self, name: &'a str) -> TokenFuture<'a, ()>;
}

/// Tokens in memory, until the process ends.
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<HashMap<String, Token>>);

impl MemoryTokens {
    /// Creates an empty store.
    pub fn new() -> MemoryTokens {
        MemoryTokens::default()
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<String, Token>) -> T) -> T {
        change(&mut self.0.lock())
    }
}

impl TokenStore for MemoryTokens {
    fn load<'a>(&'a self, name: &'a str) -> TokenFuture<'a, Option<Token>> {
        Box::pin(async move { Ok(self.with(|tokens| tokens.get(name).cloned())) })
    }

    fn save<'a>(&'a self, name: &'a str, token: &'a Token) -> TokenFuture<'a, ()> {
        self.with(|tokens| tokens.insert(name.to_owned(), token.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenFuture<'a, ()> {
        self.with(|tokens| tokens.remove(name));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A key that tokens are encrypted with.
#[derive(Debug, Clone)]
pub struct TokenKey(Secret<[u8; KEY_BYTES]>);

impl TokenKey {
    /// A key that the operator keeps.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> TokenKey {
        TokenKey(Secret::new(bytes))
    }

    /// The key in a file. Creates the file with a random key, for its owner alone, if it does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<TokenKey, TokenStoreError> {
        Ok(TokenKey(key_file::open(path.as_ref())?))
    }
}

/// Tokens in a folder, one file for each, encrypted with ChaCha20-Poly1305. The name of a token is not in its
/// file, but bound to it. Several processes may share the folder.
#[derive(Clone)]
pub struct EncryptedTokens(Arc<Folder>);

struct Folder {
    path: PathBuf,
    key: TokenKey,
}

impl EncryptedTokens {
    /// Opens a folder, or creates it for its owner alone.
    pub fn open(
        folder: impl Into<PathBuf>,
        key: TokenKey,
    ) -> Result<EncryptedTokens, TokenStoreError> {
        let path = folder.into();
        private_file::create_folder(&path).map_err(|error| failed(&path, &error))?;
        Ok(EncryptedTokens(Arc::new(Folder { path, key })))
    }

    /// Opens a folder that has its key in it, or creates both for their owner alone.
    pub fn open_with_key(folder: impl Into<PathBuf>) -> Result<EncryptedTokens, TokenStoreError> {
        let path = folder.into();
        private_file::create_folder(&path).map_err(|error| failed(&path, &error))?;
        let key = TokenKey::open(path.join("key"))?;
        EncryptedTokens::open(path, key)
    }

    /// Runs a function on a thread that may block.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folder) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> TokenFuture<'_, T> {
        let folder = Arc::clone(&self.0);
        let path = folder.path.clone();
        let task = tokio::task::spawn_blocking(move || work(&folder));
        Box::pin(async move {
            let interrupted = |_| TokenStoreError::File { path, why: "interrupted".to_owned() };
            task.await.map_err(interrupted)?
        })
    }
}

impl TokenStore for EncryptedTokens {
    fn load<'a>(&'a self, name: &'a str) -> TokenFuture<'a, Option<Token>> {
        let name = name.to_owned();
        self.run(move |folder| folder.load(&name))
    }

    fn save<'a>(&'a self, name: &'a str, token: &'a Token) -> TokenFuture<'a, ()> {
        let (name, plain) = (name.to_owned(), token.to_bytes());
        self.run(move |folder| folder.save(&name, plain))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenFuture<'a, ()> {
        let name = name.to_owned();
        self.run(move |folder| {
            let path = folder.file(&name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
                _ => Ok(()),
            }
        })
    }
}

impl Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{}.token", blake3::hash(name.as_bytes()).to_hex()))
    }

    fn cipher(&self) -> Option<LessSafeKey> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, self.key.0.expose()).ok()?;
        Some(LessSafeKey::new(key))
    }

    fn load(&self, name: &str) -> Result<Option<Token>, TokenStoreError> {
        let path = self.file(name);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => Zeroizing::new(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path, &error)),
        };
        let token = self.decrypt(name, &mut bytes);
        token.map(Some).ok_or(TokenStoreError::Damaged { path })
    }

    fn decrypt(&self, name: &str, bytes: &mut [u8]) -> Option<Token> {
        let (format, bytes) = bytes.split_first_mut()?;
        let (nonce, bytes) = bytes.split_at_mut_checked(NONCE_LEN)?;
        if *format != FORMAT {
            return None;
        }
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let plain = self.cipher()?.open_in_place(nonce, Aad::from(name.as_bytes()), bytes).ok()?;
        Token::from_bytes(plain)
    }

    /// Writes a new file and renames it, so that a reader sees the earlier token or the new one.
    fn save(&self, name: &str, mut bytes: Zeroizing<Vec<u8>>) -> Result<(), TokenStoreError> {
        let path = self.file(name);
        let random = || TokenStoreError::File {
            path: path.clone(),
            why: "the system has no random numbers".to_owned(),
        };
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| random())?;
        let (used, aad) = (Nonce::assume_unique_for_key(nonce), Aad::from(name.as_bytes()));
        let cipher = self.cipher().ok_or_else(random)?;
        cipher.seal_in_place_append_tag(used, aad, &mut *bytes).map_err(|_| random())?;
        let temporary = path.with_extension(BASE64_URL_SAFE_NO_PAD.encode(nonce));
        let content = [&[FORMAT], &nonce[..], &bytes].concat();
        private_file::replace(&path, &temporary, &content).map_err(|error| failed(&path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> TokenStoreError {
    TokenStoreError::File { path: path.to_owned(), why: error.to_string() }
}

impl fmt::Debug for EncryptedTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EncryptedTokens")
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}
