//! Publication of versions.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Transaction;
use semver::Version;
use toolwright_runtime::call::policy::BUILTIN_PREFIX;

use super::Catalog;
use super::rows::{self, NewVersion};
use crate::compatibility::Compatibility;
use crate::error::{Abort, CatalogError};
use crate::manifest::{Manifest, ManifestFault, Runtime, Visibility};
use crate::package::{Package, PackageFile};
use crate::scan;

/// Options of a publication.
#[must_use]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishOptions {
    /// Make this version the latest one, also if it is a pre-release or older than the latest
    pub latest: bool,
    /// Who may see the prefab; overrides the manifest
    pub visibility: Option<Visibility>,
}

impl PublishOptions {
    /// Makes the version the latest one, also if it is a pre-release or older than the latest.
    pub fn with_latest(mut self, latest: bool) -> PublishOptions {
        self.latest = latest;
        self
    }

    /// Sets who may see the prefab.
    pub fn with_visibility(mut self, visibility: Option<Visibility>) -> PublishOptions {
        self.visibility = visibility;
        self
    }
}

/// The result of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The id of the prefab
    pub id: String,
    /// The version
    pub version: String,
    /// The digest
    pub digest: String,
    /// Whether it was added; otherwise the same version with the same content was there
    pub is_new: bool,
    /// The latest deployed version now, if there is one
    pub latest: Option<String>,
    /// The version before this one, and what changed since
    pub compatibility: Option<(String, Compatibility)>,
}

/// Why a package was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The manifest has faults, such as a credential
    #[error("{id}@{version}: {}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused {
        /// The id of the prefab
        id: String,
        /// The version
        version: String,
        /// All faults, in the order of the document
        faults: Vec<ManifestFault>,
    },
    /// The version exists with other content
    #[error(
        "{id}@{version} is already published with other content; a version never changes, so choose a new one"
    )]
    Exists {
        /// The id of the prefab
        id: String,
        /// The version
        version: String,
    },
    /// A patch release breaks callers
    #[error("{id}@{version} is a patch release and breaks callers of {earlier}: {}", report.breaks().join("; "))]
    Breaking {
        /// The id of the prefab
        id: String,
        /// The version
        version: String,
        /// The version that it breaks callers of
        earlier: String,
        /// What changed
        report: Box<Compatibility>,
    },
    /// The catalog cannot be written
    #[error(transparent)]
    Unavailable(#[from] CatalogError),
}

/// Why a transaction with publications ends without a commit.
enum Stop {
    Abort(Abort),
    Refused(PublishError),
}

impl<E: Into<Abort>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Abort(error.into())
    }
}

impl Catalog {
    /// Publishes a version. It is there entirely or not at all, also if this process is killed.
    pub fn publish(
        &self,
        package: Package,
        options: PublishOptions,
    ) -> Result<Published, PublishError> {
        let mut published = self.publish_all(vec![package], options, |_| ())?;
        published.pop().ok_or_else(|| {
            let why = "nothing was published".to_owned();
            CatalogError::Folder { path: self.0.path.clone(), why }.into()
        })
    }

    /// Publishes several versions, all or none. `progress` is called with the number of those that are
    /// prepared.
    pub fn publish_all(
        &self,
        packages: Vec<Package>,
        options: PublishOptions,
        progress: impl FnMut(usize),
    ) -> Result<Vec<Published>, PublishError> {
        self.publish_with(packages, options, Existing::Keep, progress)
    }

    /// Publishes the built-in functions. Their code is in this program, so a definition that differs
    /// from the stored one under the same version replaces it.
    pub(crate) fn publish_builtin(&self, packages: Vec<Package>) -> Result<(), PublishError> {
        let options = PublishOptions::default();
        self.publish_with(packages, options, Existing::Replace, |_| ()).map(drop)
    }

    fn publish_with(
        &self,
        packages: Vec<Package>,
        options: PublishOptions,
        existing: Existing,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<Published>, PublishError> {
        for package in &packages {
            let manifest = package.manifest();
            let mut faults = scan::credentials(&manifest.document);
            if existing == Existing::Keep {
                faults.extend(reserved(manifest));
            }
            if !faults.is_empty() {
                let (id, version) = (manifest.id.to_string(), manifest.version.to_string());
                return Err(PublishError::Refused { id, version, faults });
            }
        }
        let mut placed: Vec<(String, String)> = Vec::new();
        let done = self.transact(|change, revision| {
            let publication = Publication { catalog: self, change, revision, options, existing };
            let done = publication.publish_all(packages, &mut placed, &mut progress);
            if done.is_err() {
                // Within the transaction, because another process may publish the same version next.
                for (id, version) in &placed {
                    self.0.folders.clean(id, version, false)?;
                }
            }
            done
        });
        let published = done.map_err(|stop| match stop {
            Stop::Abort(abort) => abort.at(&self.0.path).into(),
            Stop::Refused(error) => error,
        })?;
        for (id, version) in &placed {
            // What cannot be removed now is when the catalog is opened.
            let _later = self.0.folders.clean(id, version, true);
        }
        Ok(published)
    }
}

/// The faults of a manifest that uses what belongs to the prefabs of this program.
fn reserved(manifest: &Manifest) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    if manifest.id.as_str().starts_with(BUILTIN_PREFIX) {
        let problem =
            format!("ids that begin with `{BUILTIN_PREFIX}` are reserved; choose another");
        faults.push(ManifestFault::new("/id", problem));
    }
    if manifest.runtime == Runtime::Builtin {
        let problem =
            "only the prefabs of this program have built-in functions; use `process` or `http`";
        faults.push(ManifestFault::new("/runtime/builtin", problem));
    }
    faults
}

/// What happens to a version that exists with other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Keep,
    Replace,
}

struct Publication<'c> {
    catalog: &'c Catalog,
    change: &'c Transaction<'c>,
    revision: u64,
    options: PublishOptions,
    existing: Existing,
}

impl Publication<'_> {
    fn publish_all(
        &self,
        packages: Vec<Package>,
        placed: &mut Vec<(String, String)>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Published>, Stop> {
        self.catalog.clean_leftovers(self.change)?;
        let mut published = Vec::with_capacity(packages.len());
        for package in packages {
            published.push(self.publish(package, placed)?);
            progress(published.len());
        }
        Ok(published)
    }

    fn publish(
        &self,
        package: Package,
        placed: &mut Vec<(String, String)>,
    ) -> Result<Published, Stop> {
        let (manifest, files, digest) = package.into_parts();
        let (id, version) = (manifest.id.to_string(), manifest.version.to_string());
        let existing = rows::version(self.change, &id, &version)?;
        let is_same = existing.as_ref().map(|row| row.digest == digest);
        if is_same == Some(false) && self.existing == Existing::Keep {
            return Err(Stop::Refused(PublishError::Exists { id, version }));
        }
        let is_new = is_same != Some(true);
        let compatibility = if is_new { self.compare(&manifest)? } else { None };
        if is_new {
            self.insert(&manifest, &files, &digest, placed)?;
        }
        // A version that was withdrawn is not deployed by publishing it again.
        if is_new || self.options.latest {
            self.deploy(&manifest)?;
        }
        let visibility = self.options.visibility.or(manifest.visibility.filter(|_| is_new));
        if visibility.is_some() {
            rows::set_visibility(self.change, &id, visibility)?;
        }
        rows::touch(self.change, &id, self.revision)?;
        let latest = rows::latest(self.change, &id)?;
        Ok(Published { id, version, digest, is_new, latest, compatibility })
    }

    fn insert(
        &self,
        manifest: &Manifest,
        files: &[PackageFile],
        digest: &str,
        placed: &mut Vec<(String, String)>,
    ) -> Result<(), Stop> {
        let (id, version) = (manifest.id.to_string(), manifest.version.to_string());
        if !files.is_empty() {
            placed.push((id.clone(), version.clone()));
            self.catalog.0.folders.place(&id, &version, files)?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let functions = manifest.functions.iter().map(|function| function.name.as_str());
        rows::insert(
            self.change,
            &NewVersion {
                id: &id,
                version: &version,
                digest,
                published: now,
                has_files: !files.is_empty(),
                name: &manifest.name,
                description: &manifest.description,
                tags: &manifest.tags,
                author: manifest.author.as_deref(),
                functions: functions.collect(),
                document: &manifest.document.compact(),
            },
        )?;
        Ok(())
    }

    /// Moves the pointer to the latest version: never to a pre-release or an older version, unless the
    /// options say so.
    fn deploy(&self, manifest: &Manifest) -> Result<(), Stop> {
        let id = manifest.id.as_str();
        let latest = rows::latest(self.change, id)?;
        let latest = latest.and_then(|latest| Version::parse(&latest).ok());
        let is_newer = latest.is_none_or(|latest| manifest.version > latest);
        if self.options.latest || is_newer && manifest.version.pre.is_empty() {
            rows::set_latest(self.change, id, Some(&manifest.version.to_string()))?;
        }
        Ok(())
    }

    /// Compares a version with the one before it, and refuses a patch release that breaks callers.
    fn compare(&self, manifest: &Manifest) -> Result<Option<(String, Compatibility)>, Stop> {
        let (id, version) = (manifest.id.as_str(), &manifest.version);
        let versions = rows::versions(self.change, id)?;
        let versions = versions.iter().filter(|own| own.yanked.is_none());
        let versions = versions.filter_map(|own| Version::parse(&own.version).ok());
        let earlier = versions.filter(|own| own < version && own.pre.is_empty()).max();
        let Some(earlier) = earlier else { return Ok(None) };
        let Some(row) = rows::version(self.change, id, &earlier.to_string())? else {
            return Ok(None);
        };
        let report = Compatibility::compare(&self.catalog.load(row)?.manifest, manifest);
        let is_patch = (earlier.major, earlier.minor) == (version.major, version.minor);
        if is_patch && self.existing == Existing::Keep && report.is_breaking() {
            return Err(Stop::Refused(PublishError::Breaking {
                id: id.to_owned(),
                version: version.to_string(),
                earlier: earlier.to_string(),
                report: Box::new(report),
            }));
        }
        Ok(Some((earlier.to_string(), report)))
    }
}
