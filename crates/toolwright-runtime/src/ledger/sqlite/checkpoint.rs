//! Retention: the oldest entries are removed, and a signed checkpoint stands for them, so that the rest of the chain
//! can still be verified.
//!
//! The signature is a hash with a key that is derived from `signing.key` in the folder of the file. Who can write the
//! file but not read the key cannot remove entries unnoticed.

use std::path::Path;
use std::time::SystemTime;

use rusqlite::{OptionalExtension, Transaction, ffi, params};
use toolwright_transport::key_file::{self, KEY_BYTES, SIGNING_KEY_FILE};
use toolwright_transport::secret::Secret;

use super::health::failure;
use super::rows::{self, Stop, micros};
use crate::ledger::chain::{Broken, Checkpoint, Damage, Follower, Head};

/// Maximum number of entries that are removed in one transaction, during which no entry is written.
const BATCH: u64 = 1000;

/// Opens the key of a ledger: its file, or nothing if it does not exist and is not created.
fn key(change: &Transaction<'_>, is_created: bool) -> Option<Secret<[u8; KEY_BYTES]>> {
    let path = Path::new(change.path()?).with_file_name(SIGNING_KEY_FILE);
    let key = (is_created || path.exists()).then(|| key_file::open(&path).ok())??;
    Some(Secret::new(blake3::derive_key("toolwright ledger checkpoint 1", key.expose())))
}

fn sign(key: &Secret<[u8; KEY_BYTES]>, head: Head, removed: u64) -> blake3::Hash {
    blake3::keyed_hash(key.expose(), format!("{head} {removed}").as_bytes())
}

/// Reads the checkpoint of a ledger, if entries were removed. One without a valid signature is an error.
pub(super) fn read(change: &Transaction<'_>) -> Result<Option<Checkpoint>, Stop> {
    let query = "SELECT sequence, link, removed, signature FROM checkpoint";
    let found = change.query_row(query, [], |row| {
        Ok((rows::place(row)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?))
    });
    let Some((head, removed, signature)) = found.optional()? else { return Ok(None) };
    let expected = key(change, false).map(|key| sign(&key, head, removed));
    if expected.is_none() || expected != blake3::Hash::from_slice(&signature).ok() {
        return Err(Broken { sequence: head.sequence, why: Damage::Forged }.into());
    }
    Ok(Some(Checkpoint { head, removed }))
}

/// Removes the oldest entries up to the first that began at a time or later, at most [`BATCH`], and returns their
/// number. They are verified first: damage is evidence, and stays.
pub(super) fn remove_before(change: &Transaction<'_>, time: SystemTime) -> Result<u64, Stop> {
    let (earlier, before) = (read(change)?, micros(time));
    let mut chain = Follower::new(earlier.map_or_else(Head::start, |own| own.head), None);
    let mut count = 0;
    rows::walk(change, &mut chain, |time| {
        count += 1;
        time < before && count <= BATCH
    })?;
    // A deleted row is overwritten, because a person may have asked for its removal.
    change.pragma_update(None, "secure_delete", true)?;
    let (head, link) = (chain.head.sequence, chain.head.link);
    let removed = change.execute("DELETE FROM entry WHERE sequence <= ?1", [head])? as u64;
    if removed > 0 {
        change.execute("DELETE FROM body WHERE sequence <= ?1", [head])?;
        change.execute("DELETE FROM session WHERE clean = 0 AND written < ?1", [head])?;
        let all = earlier.map_or(0, |own| own.removed) + removed;
        let unusable = || failure(ffi::SQLITE_CANTOPEN, "signing.key cannot be used");
        let key = key(change, true).ok_or_else(unusable)?;
        let signature = sign(&key, chain.head, all);
        let insert = "INSERT OR REPLACE INTO checkpoint VALUES (1, ?1, ?2, ?3, ?4)";
        change.execute(insert, params![head, link.as_bytes(), all, signature.as_bytes()])?;
    }
    Ok(removed)
}
