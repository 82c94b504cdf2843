//! The functions of a catalog as tools of a toolbox.

use toolwright_runtime::Handler;
use toolwright_runtime::toolbox::{
    CompiledTool, MissingTool, SourceError, SourceFuture, ToolPage, ToolSource,
};

use super::access::{Access, split_tool_name, tool_name};
use super::error::LookupError;
use super::tools::{CatalogFuture, LocalCatalog};

/// The functions of a catalog, as tools with the names `prefab/function` (see
/// [`tool_name`](super::tool_name)) for the latest version, and `prefab@version/function` for an exact one. Both are known
/// to policies and ledgers as `prefab/function`. A version that was withdrawn does not exist.
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

    /// Finds a function by its name, or explains why it does not exist.
    pub async fn find(&self, name: &str) -> Result<Result<CompiledTool, MissingTool>, SourceError> {
        let Some((prefab, version, function)) = split_tool_name(name) else {
            return Ok(Err(MissingTool::default()));
        };
        let (id, exact) = (prefab.to_owned(), version.map(str::to_owned));
        let name = function.to_owned();
        let LocalCatalog { catalog, runner } =
            (self.open)().await.map_err(|error| SourceError(error.message))?;
        let access = self.access.clone();
        let found = tokio::task::spawn_blocking(move || {
            let version = catalog.version(&access, &id, exact.as_deref())?;
            let function = version.function(&access, &name)?.clone();
            Ok((version, function))
        });
        match found.await.map_err(|error| SourceError(error.to_string()))? {
            Ok((version, found)) => {
                if let Some(reason) = &version.yanked {
                    let number = &version.manifest.version;
                    let reason = format!(
                        "version {number} of the prefab '{prefab}' was withdrawn: {reason}; use another version"
                    );
                    let similar = vec![tool_name(prefab, function)];
                    return Ok(Err(MissingTool::new(Some(reason), similar)));
                }
                let tool = runner.tool(&version, &found);
                Ok(Ok(tool.map_err(|error| SourceError(error.to_string()))?))
            }
            Err(LookupError::Unavailable(error)) => Err(SourceError(error.to_string())),
            Err(error) => Ok(Err(explain(&error, prefab, version, function))),
        }
    }
}

/// Explains why a function does not exist, and suggests names of others.
fn explain(
    error: &LookupError,
    prefab: &str,
    version: Option<&str>,
    function: &str,
) -> MissingTool {
    let at = |version: &str| format!("{prefab}@{version}");
    let suggested =
        |full: &dyn Fn(&String) -> String| error.suggestions().iter().map(full).collect();
    match (error, version) {
        (LookupError::Prefab { prefab: unknown, .. }, Some(version)) if *unknown == at(version) => {
            let reason = format!("the prefab '{prefab}' has no version {version}");
            let similar = suggested(&|other| tool_name(&at(other), function));
            MissingTool::new(Some(reason), similar)
        }
        (LookupError::Prefab { .. }, version) => {
            let reason = version.map(|_| format!("the catalog has no prefab '{prefab}'"));
            MissingTool::new(reason, suggested(&|other| tool_name(other, function)))
        }
        (_, version) => {
            let prefab = version.map_or_else(|| prefab.to_owned(), at);
            MissingTool::new(None, suggested(&|other| tool_name(&prefab, other)))
        }
    }
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
            let found = self.find(name).await?;
            Ok(found.ok().map(|tool| tool.handler().clone()))
        })
    }

    fn explain_missing<'a>(&'a self, name: &'a str) -> SourceFuture<'a, MissingTool> {
        Box::pin(
            async move { self.find(name).await.ok().and_then(Result::err).unwrap_or_default() },
        )
    }
}
