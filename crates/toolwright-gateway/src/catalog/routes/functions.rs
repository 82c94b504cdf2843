//! `/v1/public/prefabs`: the functions of prefabs, for everyone or for a client.

use std::sync::Arc;
use toolwright_catalog::{Access, Catalog, LookupError, PrefabVersion};
use toolwright_core::{Json, object};

use super::refusal::Refusal;
use crate::catalog::config::ConfiguredPrefab;
use crate::fault;
use crate::http::Reply;

/// Finds a version of a prefab for a caller.
pub(super) async fn find(
    catalog: &Catalog,
    access: &Access,
    id: &str,
    version: Option<&str>,
) -> Result<Arc<PrefabVersion>, Refusal> {
    let (catalog, access) = (catalog.clone(), access.clone());
    let (id, version) = (id.to_owned(), version.map(str::to_owned));
    let found =
        tokio::task::spawn_blocking(move || catalog.version(&access, &id, version.as_deref()));
    let found = found.await.map_err(|error| Refusal::unavailable(&error.to_string()))?;
    found.map_err(Refusal::from)
}

/// Lists the functions of a prefab.
pub(super) fn list(version: &PrefabVersion, access: &Access) -> Reply {
    let functions = version.functions(access).map(|own| {
        Json::Object(object! {"name": own.name.as_str(), "description": own.description.as_str()})
    });
    fault::document(&Json::Array(functions.collect()))
}

/// Describes a function, without the parameters that are hidden from callers.
pub(super) fn details(
    version: &PrefabVersion,
    access: &Access,
    name: &str,
    settings: Option<&ConfiguredPrefab>,
) -> Result<Reply, Refusal> {
    let function = version.function(access, name)?;
    let fills = settings.and_then(|own| own.hide.get(name)).into_iter().flatten();
    let hidden: Vec<&str> = fills.map(|(name, _)| name.as_str()).collect();
    Ok(fault::document(&function.definition_without(&hidden)))
}

impl From<LookupError> for Refusal {
    fn from(error: LookupError) -> Refusal {
        if let LookupError::Unavailable(why) = &error {
            return Refusal::unavailable(&why.to_string());
        }
        let suggestions = error.suggestions().to_vec();
        Refusal::not_found(error.to_string()).with_suggestions(suggestions)
    }
}
