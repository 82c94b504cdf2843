//! Published versions, and the lines of lists.

use std::path::PathBuf;

use crate::access::Access;
use crate::error::{LookupError, suggest};
use crate::manifest::{Function, Manifest, Visibility};

/// A published version of a prefab.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PrefabVersion {
    /// The manifest
    pub manifest: Manifest,
    /// The digest of the manifest and its files
    pub digest: String,
    /// The folder with its files, if it has some
    pub folder: Option<PathBuf>,
    /// Who may see the prefab, if that was said
    pub visibility: Option<Visibility>,
    /// Why callers should use another version, if it is deprecated
    pub deprecated: Option<String>,
    /// Why it was withdrawn, if it was: it is found by its exact version only
    pub yanked: Option<String>,
    /// When it was published, in seconds since 1970
    pub published: u64,
}

/// A line in a list of prefabs or versions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrefabSummary {
    /// The id of the prefab
    pub id: String,
    /// The version
    pub version: String,
    /// The name for people
    pub name: String,
    /// What it does
    pub description: String,
    /// The tags
    pub tags: Vec<String>,
    /// The author
    pub author: Option<String>,
    /// The names of its functions
    pub functions: Vec<String>,
    /// Who may see the prefab, if that was said
    pub visibility: Option<Visibility>,
    /// Whether this is the latest deployed version
    pub is_latest: bool,
    /// Why callers should use another version, if it is deprecated
    pub deprecated: Option<String>,
    /// Why it was withdrawn, if it was
    pub yanked: Option<String>,
    /// The digest
    pub digest: String,
    /// When it was published, in seconds since 1970
    pub published: u64,
}

impl PrefabVersion {
    /// Whether a function exists for a caller.
    pub fn allows(&self, access: &Access, function: &str) -> bool {
        access.allows(self.manifest.id.as_str(), self.visibility, function)
    }

    /// Returns the functions that exist for a caller.
    pub fn functions<'p>(&'p self, access: &'p Access) -> impl Iterator<Item = &'p Function> {
        self.manifest.functions.iter().filter(|function| self.allows(access, &function.name))
    }

    /// Returns a function that exists for a caller.
    pub fn function(&self, access: &Access, name: &str) -> Result<&Function, LookupError> {
        let found = self.manifest.function(name).filter(|_| self.allows(access, name));
        found.ok_or_else(|| LookupError::Function {
            prefab: self.manifest.id.to_string(),
            version: self.manifest.version.to_string(),
            function: name.to_owned(),
            suggestions: suggest(name, self.functions(access).map(|own| own.name.as_str())),
        })
    }
}

impl PrefabSummary {
    /// Removes the functions that do not exist for a caller. Returns whether the prefab exists.
    pub(crate) fn restrict(&mut self, access: &Access) -> bool {
        let names = self.functions.iter().map(String::as_str);
        let exists = access.allows_prefab(self.visibility, &self.id, names);
        self.functions.retain(|function| access.admits(&self.id, function));
        exists
    }
}
