//! The store of prefabs: `catalog.sqlite` and the folder `catalog/` in a data folder.
//!
//! A row is a version with its manifest; files are in `catalog/<id>/<version>/`. Several processes may
//! have the catalog open: each change increments its revision, which readers compare before they use
//! what they have in memory. `rows` has the statements, `folders` the files, and `publish` brings both
//! into place so that a version is there entirely or not at all.

mod folders;
mod publish;
mod rows;
mod search;
mod seed;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use semver::Version;
use toolwright_core::{Json, suggestions};
use toolwright_runtime::store::{self, StoreError};
use toolwright_transport::private_file;

use super::access::Access;
use super::compatibility::Compatibility;
use super::error::{Abort, CatalogError, LookupError, MAX_SUGGESTIONS, Result, suggest};
use super::manifest::{Manifest, Visibility};
use super::package::FILE;
use super::version::{PrefabSummary, PrefabVersion};
use folders::Folders;
pub use publish::{PublishError, PublishOptions, Published};
use search::{ChangedPrefab, SearchIndex};
pub use search::{Dictionary, DictionaryError, FunctionHit, PrefabHit, SearchOptions, rank_tools};
pub(crate) use search::{EmbedTask, Parameters, VectorSource};
pub use seed::is_builtin;

/// The word for the latest deployed version.
pub const LATEST: &str = "latest";

/// How long a change waits for another process. An import of thousands of prefabs takes seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Maximum size of the manifests that are kept in memory, in bytes.
const MAX_CACHED_BYTES: usize = 32 << 20;

/// Maximum number of ids before, and after, an unknown one that are compared with it.
const MAX_NEIGHBOURS: usize = 256;

/// Maximum number of similar prefabs that are looked up for one that is not found.
const MAX_LOOKUPS: usize = 8;

/// A catalog of prefabs. Clones share it.
#[derive(Debug, Clone)]
pub struct Catalog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    folders: Folders,
    /// A publication holds the writer for long, and readers do not wait for it.
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
    cache: Mutex<Cache>,
    search: SearchIndex,
}

/// Versions that were read at a revision, by id and version. The latest version is also under
/// [`LATEST`].
#[derive(Debug, Default)]
struct Cache {
    revision: u64,
    bytes: usize,
    versions: HashMap<(String, String), Arc<PrefabVersion>>,
}

impl Catalog {
    /// Opens the catalog of a data folder, or creates one with the built-in functions. What a killed
    /// publication has left is removed.
    pub fn open(data: &Path) -> Result<Catalog> {
        let folder = private_file::open_folder(data);
        let data = &folder.map_err(|error| CatalogError::Folder {
            path: data.to_owned(),
            why: error.to_string(),
        })?;
        let path = data.join(FILE);
        let writer = store::open(&path, &rows::CATALOG)?;
        let reader = store::reopen(&path, &rows::CATALOG)?;
        let inner = Inner {
            folders: Folders::new(data.join("catalog")),
            path,
            reader: Mutex::new(reader),
            writer: Mutex::new(writer),
            cache: Mutex::default(),
            search: SearchIndex::default(),
        };
        let catalog = Catalog(Arc::new(inner));
        catalog
            .0
            .writer
            .lock()
            .busy_timeout(PATIENCE)
            .map_err(|error| StoreError::of(&catalog.0.path, &error))?;
        catalog.clean()?;
        seed::seed(&catalog, data).map_err(|error| match error {
            PublishError::Unavailable(error) => error,
            other => CatalogError::Folder { path: data.to_owned(), why: other.to_string() },
        })?;
        Ok(catalog)
    }

    /// Returns the revision, which every change by any process increments.
    pub fn revision(&self) -> Result<u64> {
        self.read(rows::revision)
    }

    /// Returns a version that exists for a caller: the latest deployed one, or an exact one, which may
    /// be yanked.
    pub fn version(
        &self,
        access: &Access,
        id: &str,
        version: Option<&str>,
    ) -> Result<Arc<PrefabVersion>, LookupError> {
        let version = version.unwrap_or(LATEST);
        match self.find_visible(access, id, version)? {
            Some(found) => Ok(found),
            None => Err(self.not_found(access, id, version)?),
        }
    }

    fn find_visible(
        &self,
        access: &Access,
        id: &str,
        version: &str,
    ) -> Result<Option<Arc<PrefabVersion>>> {
        let is_visible = |found: &Arc<PrefabVersion>| {
            let functions = found.manifest.functions.iter().map(|own| own.name.as_str());
            access.allows_prefab(found.visibility, id, functions)
        };
        Ok(self.find(id, version)?.filter(is_visible))
    }

    fn find(&self, id: &str, version: &str) -> Result<Option<Arc<PrefabVersion>>> {
        let key = (id.to_owned(), version.to_owned());
        self.read(|connection| -> Result<_, Abort> {
            let revision = rows::revision(connection)?;
            {
                let mut cache = self.0.cache.lock();
                if cache.revision != revision {
                    *cache = Cache { revision, ..Cache::default() };
                }
                if let Some(found) = cache.versions.get(&key) {
                    return Ok(Some(Arc::clone(found)));
                }
            }
            let exact = match version {
                LATEST => rows::latest(connection, id)?,
                exact => Some(exact.to_owned()),
            };
            let Some(exact) = exact else { return Ok(None) };
            let Some(row) = rows::version(connection, id, &exact)? else { return Ok(None) };
            let bytes = row.document.len();
            let found = Arc::new(self.load(row)?);
            let mut cache = self.0.cache.lock();
            if cache.bytes + bytes > MAX_CACHED_BYTES {
                *cache = Cache { revision: cache.revision, ..Cache::default() };
            }
            // Another process may have changed the catalog since the revision was read; then the next
            // lookup discards this.
            if cache.revision == revision {
                cache.bytes += bytes;
                cache.versions.insert(key, Arc::clone(&found));
            }
            Ok(Some(found))
        })
    }

    fn search_index(&self) -> &SearchIndex {
        &self.0.search
    }

    /// Returns the path of the file.
    fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the prefabs that changed after a revision, or all.
    fn changed_prefabs(&self, since: Option<u64>) -> Result<Vec<ChangedPrefab>> {
        self.read(|connection| rows::changed(connection, since.unwrap_or(0)))
    }

    /// Returns the manifest of the latest version, or the reason why it is not valid, without keeping it in memory.
    fn latest_manifest(&self, id: &str) -> Result<Option<Result<Manifest>>> {
        let row = self.read(|connection| match rows::latest(connection, id)? {
            Some(version) => rows::version(connection, id, &version),
            None => Ok(None),
        })?;
        Ok(row.map(|row| self.load(row).map(|found| found.manifest)))
    }

    /// Whether a version was removed, or the prefab with all its versions.
    pub(super) fn is_removed(&self, id: &str, version: &str) -> Result<bool> {
        self.read(|connection| rows::is_removed(connection, id, version))
    }

    /// Returns the digest of a version.
    pub(super) fn digest(&self, id: &str, version: &str) -> Result<Option<String>> {
        let row = self.read(|connection| rows::version(connection, id, version))?;
        Ok(row.map(|row| row.digest))
    }

    /// Returns the error for a prefab that does not exist for a caller, with similar names that do.
    fn not_found(&self, access: &Access, id: &str, version: &str) -> Result<LookupError> {
        let versions = self.versions(access, id)?;
        if !versions.is_empty() && version != LATEST {
            let known = versions.iter().filter(|own| own.yanked.is_none());
            let suggestions = suggest(version, known.map(|own| own.version.as_str()));
            return Ok(LookupError::Prefab { prefab: format!("{id}@{version}"), suggestions });
        }
        // Anyone may ask for unknown ids, so that a lookup does not read the whole catalog.
        let ids = self.read(|connection| rows::neighbours(connection, id, MAX_NEIGHBOURS))?;
        let mut visible = Vec::new();
        for similar in suggestions(id, ids.iter().map(String::as_str), MAX_LOOKUPS) {
            if self.find_visible(access, similar, LATEST)?.is_some() {
                visible.push(similar.to_owned());
            }
        }
        visible.truncate(MAX_SUGGESTIONS);
        Ok(LookupError::Prefab { prefab: id.to_owned(), suggestions: visible })
    }

    /// Lists the latest deployed version of each prefab that exists for a caller, by id.
    pub fn prefabs(&self, access: &Access) -> Result<Vec<PrefabSummary>> {
        let mut found = self.read(rows::prefabs)?;
        found.retain_mut(|summary| summary.restrict(access));
        Ok(found)
    }

    /// Lists the prefabs without a latest deployed version that exist for a caller, by id, each with its newest
    /// version: a pre-release, or a yanked one if all are.
    pub fn undeployed(&self, access: &Access) -> Result<Vec<PrefabSummary>> {
        let mut found = self.read(rows::undeployed)?;
        found.retain_mut(|summary| summary.restrict(access));
        found.sort_by_cached_key(|own| {
            let newest = std::cmp::Reverse(Version::parse(&own.version).ok());
            (own.id.clone(), own.yanked.is_some(), newest)
        });
        found.dedup_by(|later, earlier| later.id == earlier.id);
        Ok(found)
    }

    /// Lists the versions of a prefab that exist for a caller, the newest first.
    pub fn versions(&self, access: &Access, id: &str) -> Result<Vec<PrefabSummary>> {
        let mut found = self.read(|connection| rows::versions(connection, id))?;
        found.retain_mut(|summary| summary.restrict(access));
        found
            .sort_by_cached_key(|summary| std::cmp::Reverse(Version::parse(&summary.version).ok()));
        Ok(found)
    }

    /// Compares two versions of a prefab, as far as they exist for a caller.
    pub fn compare(
        &self,
        access: &Access,
        id: &str,
        earlier: &str,
        later: Option<&str>,
    ) -> Result<Compatibility, LookupError> {
        let earlier = self.version(access, id, Some(earlier))?;
        let later = self.version(access, id, later)?;
        let mut report = Compatibility::compare(&earlier.manifest, &later.manifest);
        report.functions.retain(|function| later.allows(access, &function.name));
        Ok(report)
    }

    /// Marks a version as deprecated, with a message to its callers; none removes the mark.
    pub fn deprecate(
        &self,
        id: &str,
        version: &str,
        message: Option<&str>,
    ) -> Result<(), LookupError> {
        self.change_version(id, version, |change| {
            rows::mark(change, "deprecated", id, version, message)
        })
    }

    /// Withdraws a version: it is found by its exact version only, and the latest version is another
    /// one. No reason undoes this.
    pub fn yank(&self, id: &str, version: &str, reason: Option<&str>) -> Result<(), LookupError> {
        self.change_version(id, version, |change| {
            rows::mark(change, "yanked", id, version, reason)?;
            let latest = rows::latest(change, id)?;
            if reason.is_some() && latest.as_deref() == Some(version)
                || reason.is_none() && latest.is_none()
            {
                point_to_newest(change, id)?;
            }
            Ok(())
        })
    }

    /// Changes a version, if there is one.
    fn change_version(
        &self,
        id: &str,
        version: &str,
        apply: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), LookupError> {
        let is_found = self.change(|change, revision| {
            let is_found = rows::version(change, id, version)?.is_some();
            if is_found {
                apply(change)?;
                rows::touch(change, id, revision)?;
            }
            Ok(is_found)
        })?;
        self.found_or(is_found, id, version)
    }

    /// Sets who may see a prefab; none means the default.
    pub fn set_visibility(
        &self,
        id: &str,
        visibility: Option<Visibility>,
    ) -> Result<(), LookupError> {
        let is_found = self.change(|change, revision| {
            // The row of a removed prefab stays.
            let is_found = !rows::versions(change, id)?.is_empty();
            if is_found {
                rows::set_visibility(change, id, visibility)?;
                rows::touch(change, id, revision)?;
            }
            Ok(is_found)
        })?;
        self.found_or(is_found, id, LATEST)
    }

    /// Removes a version with its files, or all versions of a prefab.
    pub fn remove(&self, id: &str, version: Option<&str>) -> Result<(), LookupError> {
        let removed = self.change(|change, revision| {
            let removed = rows::remove(change, id, version)?;
            if removed.is_empty() {
                return Ok(removed);
            }
            rows::record_removed(change, id, &removed)?;
            let latest = rows::latest(change, id)?;
            if latest.is_some_and(|latest| removed.contains(&latest)) {
                point_to_newest(change, id)?;
            }
            // Files follow the row: a version without files would be found and fail.
            self.0.folders.begin_removal(id, &removed).map_err(Abort::from)?;
            // Another prefab may be published under the id.
            if rows::versions(change, id)?.is_empty() {
                rows::set_visibility(change, id, None)?;
            }
            rows::touch(change, id, revision)?;
            Ok(removed)
        })?;
        self.found_or(!removed.is_empty(), id, version.unwrap_or(LATEST))?;
        Ok(self.clean()?)
    }

    fn found_or(&self, is_found: bool, id: &str, version: &str) -> Result<(), LookupError> {
        if is_found { Ok(()) } else { Err(self.not_found(&Access::everything(), id, version)?) }
    }

    /// Removes what publications and removals have left, unless another one is under way, which will do
    /// it.
    fn clean(&self) -> Result<()> {
        if self.0.folders.leftovers().is_empty() {
            return Ok(());
        }
        let set_patience = |patience| {
            let set = self.0.writer.lock().busy_timeout(patience);
            set.map_err(|error| StoreError::of(&self.0.path, &error))
        };
        set_patience(Duration::ZERO)?;
        let cleaned = self.change(|change, _| self.clean_leftovers(change));
        set_patience(PATIENCE)?;
        match cleaned {
            Err(CatalogError::Store(StoreError::Busy { .. })) => Ok(()),
            cleaned => cleaned,
        }
    }

    /// Removes what killed publications have left. The transaction shows that none is under way.
    fn clean_leftovers(&self, change: &Transaction<'_>) -> Result<(), Abort> {
        for (id, version) in self.0.folders.leftovers() {
            let is_published = rows::version(change, &id, &version)?.is_some();
            self.0.folders.clean(&id, &version, is_published)?;
        }
        Ok(())
    }

    fn load(&self, row: rows::VersionRow) -> Result<PrefabVersion> {
        let damaged = |why: String| {
            CatalogError::Store(StoreError::Damaged { path: self.0.path.clone(), why })
        };
        let document = Json::parse(&row.document).map_err(|error| damaged(error.to_string()))?;
        let manifest = Manifest::parse_published(&document).map_err(|faults| {
            let fault = faults.first().map(ToString::to_string).unwrap_or_default();
            damaged(format!("{}@{}: {fault}", row.id, row.version))
        })?;
        let folder = row.has_files.then(|| self.0.folders.of(&row.id, &row.version));
        Ok(PrefabVersion {
            manifest,
            digest: row.digest,
            folder,
            visibility: row.visibility,
            deprecated: row.deprecated,
            yanked: row.yanked,
            published: row.published,
        })
    }

    fn read<T, E: Into<Abort>>(&self, read: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T> {
        let connection = self.0.reader.lock();
        read(&connection).map_err(|error| error.into().at(&self.0.path))
    }

    /// Changes the catalog in one transaction, with its new revision.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>, u64) -> Result<T, Abort>,
    ) -> Result<T> {
        self.transact(change).map_err(|abort| abort.at(&self.0.path))
    }

    fn transact<T, E: From<rusqlite::Error>>(
        &self,
        change: impl FnOnce(&Transaction<'_>, u64) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.0.writer.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let revision = rows::next_revision(&transaction)?;
        let changed = change(&transaction, revision)?;
        transaction.commit()?;
        Ok(changed)
    }
}

/// Makes the newest version that is neither a pre-release nor yanked the latest one.
fn point_to_newest(change: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let versions = rows::versions(change, id)?;
    let versions = versions.iter().filter(|own| own.yanked.is_none());
    let versions = versions.filter_map(|own| Version::parse(&own.version).ok());
    let newest = versions.filter(|version| version.pre.is_empty()).max();
    rows::set_latest(change, id, newest.map(|version| version.to_string()).as_deref())
}
