//! The functions of a catalog as tools of a toolbox.

use super::access::{Access, tool_name};
use super::store::LookupError;
use super::tools::{CatalogFuture, LocalCatalog};
use crate::handler::Handler;
use crate::toolbox::{CompiledTool, SourceError, SourceFuture, ToolPage, ToolSource};

/// The functions of a catalog, as tools with the names `prefab/function` (see
/// [`tool_name`](super::tool_name)). A function is that of the latest version.
///
/// None of them is listed, because a catalog may have many: a call, or a plan, names them.
pub struct FunctionSource {
    open: Box<dyn Fn() -> CatalogFuture + Send + Sync>,
    access: Access,
}

impl FunctionSource {
    /// Creates a source of all functions. The catalog is opened for each lookup; the function may return the
    /// same one each time.
    pub fn opened_by(open: impl Fn() -> CatalogFuture + Send + Sync + 'static) -> FunctionSource {
        FunctionSource { open: Box::new(open), access: Access::everything() }
    }

    /// Sets which functions exist.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> FunctionSource {
        self.access = access;
        self
    }

    /// Returns names of functions that are similar to an unknown one.
    pub async fn similar(&self, name: &str) -> Vec<String> {
        let Some((prefab, function)) = name.split_once('/') else { return Vec::new() };
        match self.find(name).await {
            Ok(Found::Nothing(error @ LookupError::Prefab { .. })) => {
                let ids = error.suggestions().iter();
                ids.map(|id| tool_name(id, function)).collect()
            }
            Ok(Found::Nothing(error)) => {
                let names = error.suggestions().iter();
                names.map(|name| tool_name(prefab, name)).collect()
            }
            _ => Vec::new(),
        }
    }

    async fn find(&self, name: &str) -> Result<Found, SourceError> {
        let (prefab, function) = name.split_once('/').unwrap_or((name, ""));
        let (prefab, function) = (prefab.to_owned(), function.to_owned());
        let opened = (self.open)().await.map_err(|error| SourceError(error.message))?;
        let LocalCatalog { catalog, runner } = opened;
        let access = self.access.clone();
        let found = tokio::task::spawn_blocking(move || {
            let version = catalog.version(&access, &prefab, None)?;
            let function = version.function(&access, &function)?.clone();
            Ok((version, function))
        });
        match found.await.map_err(|error| SourceError(error.to_string()))? {
            Ok((version, function)) => {
                let tool = runner.tool(&version, &function);
                let tool = tool.map_err(|error| SourceError(error.to_string()))?;
                Ok(Found::Function(tool))
            }
            Err(LookupError::Unavailable(error)) => Err(SourceError(error.to_string())),
            Err(error) => Ok(Found::Nothing(error)),
        }
    }
}

/// The result of a lookup.
enum Found {
    Function(CompiledTool),
    Nothing(LookupError),
}

impl ToolSource for FunctionSource {
    fn name(&self) -> &'static str {
        "catalog"
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> SourceFuture<'a, Result<ToolPage, SourceError>> {
        Box::pin(async { Ok(ToolPage::default()) })
    }

    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> SourceFuture<'a, Result<Option<Handler>, SourceError>> {
        Box::pin(async move {
            if !name.contains('/') {
                return Ok(None);
            }
            Ok(match self.find(name).await? {
                Found::Function(tool) => Some(tool.handler().clone()),
                Found::Nothing(_) => None,
            })
        })
    }
}
