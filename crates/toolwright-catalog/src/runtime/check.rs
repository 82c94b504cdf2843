//! Checks that functions can be called here, without calling them.

use toolwright_core::Json;
use toolwright_core::schema::Check;
use toolwright_runtime::process::find_program;

use super::{FunctionError, Runner};
use crate::access::tool_name;
use crate::manifest::{Function, Runtime};
use crate::version::PrefabVersion;

/// What a call of a function needs, and whether it is there.
#[derive(Debug)]
#[non_exhaustive]
pub struct FunctionCheck<'f> {
    /// The function
    pub function: &'f Function,
    /// Whether the schemas of its arguments and of its return value compile
    pub schemas: Result<(), FunctionError>,
    /// Whether its secrets are configured
    pub secrets: Result<(), FunctionError>,
    /// Whether what runs it is there: the program of a process, the host of a server, the built-in function
    pub runtime: Result<(), FunctionError>,
}

impl FunctionCheck<'_> {
    /// Whether the function can be called.
    pub fn is_callable(&self) -> bool {
        self.schemas.is_ok() && self.secrets.is_ok() && self.runtime.is_ok()
    }
}

impl Runner {
    /// Checks that functions of a version can be called. The host of an HTTP server is resolved; nothing is sent
    /// to it.
    pub async fn check<'f>(
        &self,
        version: &PrefabVersion,
        functions: impl IntoIterator<Item = &'f Function>,
    ) -> Vec<FunctionCheck<'f>> {
        let problem = self.runtime_problem(version).await;
        let check = |function: &'f Function| {
            let name = || tool_name(version.manifest.id.as_str(), &function.name);
            let compile = |schema: &Json| match Check::compile(schema) {
                Ok(_) => Ok(()),
                Err(source) => Err(FunctionError::Schema { function: name(), source }),
            };
            let output = function.output_schema.as_ref();
            let runtime = match (self.handler(version, function), &problem) {
                // A missing secret is reported as such.
                (Ok(_) | Err(FunctionError::MissingSecret { .. }), None) => Ok(()),
                (Ok(_) | Err(FunctionError::MissingSecret { .. }), Some(problem)) => {
                    let problem = problem.clone();
                    Err(FunctionError::NotRunnable { function: name(), problem })
                }
                (Err(error), _) => Err(error),
            };
            FunctionCheck {
                function,
                schemas: compile(&function.input_schema)
                    .and_then(|()| output.map_or(Ok(()), compile)),
                secrets: self.secrets(&version.manifest, function).map(drop),
                runtime,
            }
        };
        functions.into_iter().map(check).collect()
    }

    /// Why no function of a version can run.
    async fn runtime_problem(&self, version: &PrefabVersion) -> Option<String> {
        match &version.manifest.runtime {
            Runtime::Process { command } => {
                let program = command.first()?;
                let folder = version.folder.as_deref()?;
                find_program(folder, program).is_none().then(|| {
                    format!(
                        "there is no executable program `{program}`; install it, or correct `PATH`"
                    )
                })
            }
            Runtime::Http { base_url, .. } => self.http.as_ref()?.check(base_url).await.err(),
            _ => None,
        }
    }
}
