//! What a caller may see and call.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use semver::Version;
use toolwright_runtime::Scope;

use super::manifest::{PrefabId, Visibility};

type Filter = Arc<dyn Fn(&str) -> bool + Send + Sync>;
type Stated = Arc<dyn Fn(&str) -> Option<Visibility> + Send + Sync>;

/// What a caller may see and call. For a caller, a function that is not allowed does not exist: it is
/// neither found, listed nor described. A prefab whose functions are all not allowed does not exist
/// either.
#[must_use]
#[derive(Clone, Default)]
pub struct Access {
    /// If only public prefabs are visible: the visibility of those that do not say it
    public: Option<Visibility>,
    /// The visibility that the host states in place of the prefab
    visibility: Option<Stated>,
    filter: Option<Filter>,
}

impl Access {
    /// Allows everything.
    pub fn everything() -> Access {
        Access::default()
    }

    /// Allows public prefabs only. `unstated` is the visibility of prefabs that do not say it.
    pub fn public(unstated: Visibility) -> Access {
        Access { public: Some(unstated), ..Access::default() }
    }

    /// Uses the visibility that a function returns for the id of a prefab in place of the prefab's own.
    pub fn with_visibility(
        mut self,
        visibility: impl Fn(&str) -> Option<Visibility> + Send + Sync + 'static,
    ) -> Access {
        self.visibility = Some(Arc::new(visibility));
        self
    }

    /// Allows only functions whose name as a tool (`prefab-id/function`) the filter accepts, as well as
    /// earlier filters.
    pub fn with_filter(mut self, filter: impl Fn(&str) -> bool + Send + Sync + 'static) -> Access {
        self.filter = Some(match self.filter {
            Some(earlier) => Arc::new(move |name: &str| earlier(name) && filter(name)),
            None => Arc::new(filter),
        });
        self
    }

    /// Returns what the caller of a tool may see: what the host gives access to in the context, of that what the policy
    /// lets the caller call.
    pub async fn of(scope: &Scope) -> Access {
        let host = scope.session.context.read::<Access>().await.map(|access| access.clone());
        let scope = scope.clone();
        host.unwrap_or_default().with_filter(move |tool| scope.may_call(tool))
    }

    /// Whether a tool may be called, by its name.
    pub fn permits(&self, tool: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter(tool))
    }

    /// Whether the function of a prefab exists for the caller.
    pub fn allows(&self, id: &str, visibility: Option<Visibility>, function: &str) -> bool {
        self.shows(id, visibility) && self.admits(id, function)
    }

    /// Whether a prefab exists for the caller: it has no functions, or one that is allowed.
    pub(super) fn allows_prefab<'f>(
        &self,
        visibility: Option<Visibility>,
        id: &str,
        functions: impl IntoIterator<Item = &'f str>,
    ) -> bool {
        let mut functions = functions.into_iter().peekable();
        self.shows(id, visibility)
            && (functions.peek().is_none() || functions.any(|function| self.admits(id, function)))
    }

    fn shows(&self, id: &str, visibility: Option<Visibility>) -> bool {
        let stated = || self.visibility.as_ref().and_then(|stated| stated(id)).or(visibility);
        self.public.is_none_or(|unstated| stated().unwrap_or(unstated) == Visibility::Public)
    }

    /// Whether the filter accepts a function.
    pub(super) fn admits(&self, id: &str, function: &str) -> bool {
        self.permits(&tool_name(id, function))
    }
}

/// Returns the name of a function as a tool.
pub fn tool_name(prefab: &str, function: &str) -> String {
    format!("{prefab}/{function}")
}

/// Returns the name of one version of a function.
pub fn exact_tool_name(prefab: &str, version: &Version, function: &str) -> String {
    format!("{prefab}@{version}/{function}")
}

/// Returns the name of a function without the version that it may have; other names stay as they are.
pub fn without_version(name: &str) -> Cow<'_, str> {
    match split_tool_name(name) {
        Some((prefab, Some(version), function))
            if PrefabId::parse(prefab).is_some() && Version::parse(version).is_ok() =>
        {
            tool_name(prefab, function).into()
        }
        _ => name.into(),
    }
}

/// Splits the name of a function into prefab, version and function.
pub(super) fn split_tool_name(name: &str) -> Option<(&str, Option<&str>, &str)> {
    let (prefab, function) = name.rsplit_once('/')?;
    Some(match prefab.split_once('@') {
        Some((id, version)) => (id, Some(version), function),
        None => (prefab, None, function),
    })
}

impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Access")
            .field("public", &self.public)
            .field("has_visibility", &self.visibility.is_some())
            .field("is_filtered", &self.filter.is_some())
            .finish()
    }
}
