//! Why the catalog fails, and why something is not found.

use std::path::{Path, PathBuf};

use toolwright_core::suggestions;

use toolwright_runtime::store::StoreError;

/// Maximum number of suggested names.
pub(crate) const MAX_SUGGESTIONS: usize = 3;

/// Why a catalog cannot be opened, read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The SQLite file
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder or file of a prefab
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder or file
        path: PathBuf,
        /// The system's error
        why: String,
    },
}

/// What was read from a catalog, or written to it.
pub(crate) type Result<T, E = CatalogError> = std::result::Result<T, E>;

/// Why a prefab or function is not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There is no such prefab, or no such version of it
    #[error("Prefab '{prefab}' not found")]
    Prefab {
        /// The id, with `@version` if the prefab exists and the version does not
        prefab: String,
        /// Similar ids, or versions
        suggestions: Vec<String>,
    },
    /// The prefab has no such function
    #[error("Function '{function}' not found in prefab {prefab}@{version}")]
    Function {
        /// The id
        prefab: String,
        /// The version
        version: String,
        /// The function
        function: String,
        /// Similar names
        suggestions: Vec<String>,
    },
    /// The catalog cannot be read
    #[error(transparent)]
    Unavailable(#[from] CatalogError),
}

impl LookupError {
    /// Returns similar names that exist for the caller.
    pub fn suggestions(&self) -> &[String] {
        match self {
            LookupError::Prefab { suggestions, .. } | LookupError::Function { suggestions, .. } => {
                suggestions
            }
            LookupError::Unavailable(_) => &[],
        }
    }
}

/// Returns similar names.
pub(crate) fn suggest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    suggestions(name, names, MAX_SUGGESTIONS).into_iter().map(str::to_owned).collect()
}

/// Why a transaction ends without a commit.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Abort {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Abort {
    pub(crate) fn at(self, path: &Path) -> CatalogError {
        match self {
            Abort::Sqlite(error) => StoreError::of(path, &error).into(),
            Abort::Catalog(error) => error,
        }
    }
}
