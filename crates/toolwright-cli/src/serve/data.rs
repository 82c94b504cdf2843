//! The data folder of a gateway: one gateway at a time uses it, and only if its files are not damaged.

use std::fs::{File, TryLockError};
use std::path::Path;

use toolwright_catalog::signing::SigningKey;
use toolwright_runtime::store;
use toolwright_transport::{key_file, private_file};

use crate::exit::{self, Failure, Result};

/// The file whose lock a gateway holds.
const LOCK_FILE: &str = "serve.lock";

/// Locks a data folder until the file is dropped, and checks the files in it.
pub(super) fn open(data: &Path) -> Result<File> {
    let failed = |error| exit::io(&data.display().to_string())(error);
    private_file::create_folder(data).map_err(failed)?;
    let lock = private_file::open(&data.join(LOCK_FILE)).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let what =
                format!("another `toolwright serve` uses the data folder {}", data.display());
            return Err(
                Failure::failed(what).with_hint("stop it, or name another folder with --data")
            );
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    for entry in std::fs::read_dir(data).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "sqlite") {
            store::check_file(&path).map_err(|error| Failure::failed(error.to_string()))?;
        }
    }
    if data.join(key_file::SIGNING_KEY_FILE).exists() {
        SigningKey::open(data).map_err(|error| Failure::failed(error.to_string()))?;
    }
    Ok(lock)
}
