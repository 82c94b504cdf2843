//! Files with a random key of 32 bytes, which only their owner may read.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::private_file;
use crate::secret::Secret;

/// The key file of a data folder.
pub const SIGNING_KEY_FILE: &str = "signing.key";

/// Length of a key, in bytes.
pub const KEY_BYTES: usize = 32;

/// Why the content of a file cannot be a key.
const DAMAGED: &str = "does not have a random key of 32 bytes; restore it from a copy, or remove it to create a new key, \
                       which makes what the old one signed or encrypted unusable";

/// Why a key file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read or written
    #[error("{}: {why}", path.display())]
    Unavailable {
        /// The file
        path: PathBuf,
        /// The system's error
        why: String,
    },
    /// The file is not a key file, or others may read it
    #[error("the key file {} {why}", path.display())]
    Invalid {
        /// The file
        path: PathBuf,
        /// What is wrong, and the remedy
        why: &'static str,
    },
}

/// Reads the key in a file. Creates the file with a random key, for its owner alone, if it does not
/// exist. Of several processes that create it at once, one does, and all return its key.
pub fn open(path: &Path) -> Result<Secret<[u8; KEY_BYTES]>, KeyFileError> {
    let failed = |error: io::Error| KeyFileError::Unavailable {
        path: path.to_owned(),
        why: error.to_string(),
    };
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return check(path, found.map_err(failed)?),
    }
    create(path).map_err(failed)?;
    check(path, read(path).map_err(failed)?)
}

/// The content of a key file, and whether others may read it.
struct Found {
    bytes: Zeroizing<Vec<u8>>,
    is_shared: bool,
}

fn read(path: &Path) -> io::Result<Found> {
    let file = File::open(path)?;
    #[cfg(unix)]
    let is_shared = std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o077 != 0;
    #[cfg(not(unix))]
    let is_shared = false;
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES + 1));
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Found { bytes, is_shared })
}

fn check(path: &Path, found: Found) -> Result<Secret<[u8; KEY_BYTES]>, KeyFileError> {
    let invalid = |why| KeyFileError::Invalid { path: path.to_owned(), why };
    if found.is_shared {
        return Err(invalid("can be read by others; set its mode to 0600"));
    }
    let bytes = <[u8; KEY_BYTES]>::try_from(found.bytes.as_slice());
    let key = bytes.map(Secret::new).map_err(|_| invalid(DAMAGED))?;
    let is_random = key.expose().iter().any(|byte| *byte != key.expose()[0]);
    if is_random { Ok(key) } else { Err(invalid(DAMAGED)) }
}

/// Creates a key file, unless another process does. The file appears with its whole content.
fn create(path: &Path) -> io::Result<()> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    let mut suffix = [0; 8];
    let random = getrandom::fill(&mut *bytes).and_then(|()| getrandom::fill(&mut suffix));
    random.map_err(|_| io::Error::other("the system has no random numbers"))?;
    let temporary = path.with_extension(format!("{:x}.new", u64::from_ne_bytes(suffix)));
    let written = private_file::create(&temporary).and_then(|mut file| {
        file.write_all(&*bytes)?;
        file.sync_all()?;
        // Unlike a rename, a link does not replace the key of another process.
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    });
    drop(fs::remove_file(&temporary));
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_create_a_key_at_once_get_the_same() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(format!("{round}.key"));
            let start = std::sync::Barrier::new(4);
            let keys = std::thread::scope(|scope| {
                let opening = [(); 4].map(|()| {
                    scope.spawn(|| {
                        start.wait();
                        *open(&path).unwrap().expose()
                    })
                });
                opening.map(|opened| opened.join().unwrap())
            });
            assert!(keys.iter().all(|key| *key == keys[0]));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 50, "no temporary file is left");
    }
}
