//! `toolwright catalog call`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use toolwright_catalog::Access;
use toolwright_catalog::files::{Files, Lifetime};
use toolwright_catalog::manifest::FILES;
use toolwright_catalog::tools::LocalCatalog;
use toolwright_core::json::Object;
use toolwright_core::{Arguments, Json};
use toolwright_gateway::Gateway;
use toolwright_gateway::key::Client;
use toolwright_gateway::telemetry::RequestId;
use toolwright_runtime::call::{CallResult, CallStatus};
use toolwright_runtime::toolbox::CompiledTool;
use toolwright_runtime::{Caller, Session, Toolbox};

use super::{Common, find};
use crate::exit::{self, Failure, Result};
use crate::{input, tools};

/// How long an input file is stored.
const INPUT_LIFETIME: Duration = Duration::from_hours(1);

/// Arguments of `catalog call`.
#[derive(Debug, Args)]
#[command(after_help = "\
The function runs here, with the secrets and hidden parameters of the configuration file. Its result
goes to stdout; if it fails, why goes to stderr, and the exit code is 1. Output files are links in
the member `files` of the result; --output saves them, and numbers those with the same name.

Examples:
  toolwright catalog call word-prefab count_words --args '{\"text\": \"to be or not to be\"}'
  toolwright catalog call file-processing-prefab parse_file --file input=report.pdf --output .")]
pub(super) struct Call {
    /// The prefab
    #[arg(value_name = "PREFAB")]
    prefab: String,
    /// The name of the function
    function: String,
    /// Use these arguments; `@FILE` reads them from a file, `@-` from stdin
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    args: String,
    /// Pass a file; may be repeated
    #[arg(long = "file", value_name = "KEY=PATH")]
    files: Vec<String>,
    /// Save output files in this folder
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Call {
    pub(super) async fn run(self, common: &Common) -> Result<()> {
        let Opened { gateway, toolbox, local } = Opened::open(common).await?;
        if let Some(folder) = &self.output {
            let shown = folder.display().to_string();
            std::fs::create_dir_all(folder).map_err(exit::io(&shown))?;
        }
        let version = find(&local.catalog, &self.prefab)?;
        let function = version.function(&Access::everything(), &self.function);
        let function = function.map_err(super::not_found)?;
        let caller = Client::open().caller();
        let arguments = self.arguments(local.runner.files(), &caller).await?;
        let tool = local.runner.tool(&version, function);
        let tool = tool.map_err(exit::failed)?;
        let done = call(&toolbox, &caller, &tool, arguments).await?;
        gateway.telemetry.close().await.map_err(exit::failed)?;
        if let Some(error) = &done.error {
            return Err(exit::call_failed(error));
        }
        let value = done.value().map(std::borrow::Cow::into_owned).unwrap_or_default();
        exit::print(&value.pretty())?;
        match &self.output {
            Some(folder) => save(local.runner.files(), &caller, &value, folder).await,
            None => Ok(()),
        }
    }

    /// The arguments, with links to the files, which are uploaded.
    async fn arguments(&self, files: &Files, caller: &Caller) -> Result<Arguments> {
        let text = input::argument(&self.args)?;
        if self.files.is_empty() {
            return Ok(Arguments::from_text(text));
        }
        let parsed = Json::parse(&text).ok();
        let Some(Json::Object(mut arguments)) = parsed else {
            return Err(Failure::usage("--args must be a JSON object if files are passed"));
        };
        let mut links: Vec<(String, Vec<Json>)> = Vec::new();
        for file in &self.files {
            let Some((key, path)) = file.split_once('=') else {
                return Err(Failure::usage(format!("--file {file}: write KEY=PATH")));
            };
            let link = upload(files, caller, Path::new(path)).await?;
            match links.iter_mut().find(|(own, _)| own == key) {
                Some((_, known)) => known.push(link.into()),
                None => links.push((key.to_owned(), vec![link.into()])),
            }
        }
        let links: Object =
            links.into_iter().map(|(key, own)| (key.into(), Json::Array(own))).collect();
        arguments.insert(FILES, links);
        Ok(Arguments::from_json(&arguments.into()))
    }
}

/// The tools of the configuration, and the catalog with what runs its functions, as the gateway has them.
pub(super) struct Opened {
    pub(super) gateway: Gateway,
    /// Calls functions
    pub(super) toolbox: Toolbox,
    pub(super) local: LocalCatalog,
}

impl Opened {
    pub(super) async fn open(common: &Common) -> Result<Opened> {
        let config = common.config.load()?;
        // Errors of the file are reported here, and not in a log.
        drop(common.open()?);
        let gateway = tools::open(&config)?;
        let local = gateway.live().functions.open().await;
        let local = local.map_err(|fault| Failure::failed(fault.message))?;
        let toolbox = tools::equip(&gateway, gateway.live().tools.calls(), false);
        Ok(Opened { gateway, toolbox, local })
    }
}

/// Calls a function.
pub(super) async fn call(
    toolbox: &Toolbox,
    caller: &Caller,
    tool: &CompiledTool,
    arguments: Arguments,
) -> Result<CallResult> {
    // A new run, because a recorded call of the same run would not run again.
    let session = Session::new(RequestId::random().to_string()).with_caller(caller.clone());
    let name = tool.handler().tool().name.as_str();
    let call = toolwright_core::Call::new("call_1", name, arguments);
    match toolbox.call_tool(&session, tool, &call).await {
        CallStatus::Done(done) => Ok(done),
        CallStatus::Waiting(_) => Err(Failure::failed(format!("{name} needs approval"))),
    }
}

/// Stores a file for the caller, and returns its link.
async fn upload(files: &Files, caller: &Caller, path: &Path) -> Result<String> {
    let shown = path.display().to_string();
    let file = tokio::fs::File::open(path).await.map_err(exit::io(&shown))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stored = async {
        let mut upload = files.upload(&caller.tenant, &name, None, SystemTime::now()).await?;
        upload.copy(file).await?;
        let lifetime = Lifetime::Temporary { lifetime: INPUT_LIFETIME, session: None };
        upload.finish(lifetime, SystemTime::now()).await
    };
    let stored = stored.await.map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
    Ok(stored.url.to_string())
}

/// Saves the output files of a result in a folder.
async fn save(files: &Files, caller: &Caller, value: &Json, folder: &Path) -> Result<()> {
    let keys = value.get(FILES).and_then(Json::as_object);
    let links = keys.into_iter().flat_map(Object::iter).filter_map(|(_, links)| links.as_array());
    let mut names = HashSet::new();
    for link in links.flatten().filter_map(Json::as_str) {
        let file = files.find(&caller.tenant, link, SystemTime::now()).await;
        let file = file.map_err(|error| Failure::failed(format!("{link}: {error}")))?;
        let path = folder.join(unique_name(file.url.name(), &mut names));
        tokio::fs::copy(&file.path, &path).await.map_err(exit::io(&path.display().to_string()))?;
    }
    Ok(())
}

/// Returns the name of a file, with a number if an earlier file of the result has the same one.
fn unique_name(name: &str, names: &mut HashSet<String>) -> String {
    let path = Path::new(name);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|own| format!(".{}", own.to_string_lossy()));
    let extension = extension.unwrap_or_default();
    let mut unique = name.to_owned();
    let mut number = 1;
    // Names may differ in case only, which some file systems ignore.
    while !names.insert(unique.to_lowercase()) {
        number += 1;
        unique = format!("{stem}-{number}{extension}");
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_are_numbered() {
        let mut names = HashSet::new();
        let unique = ["a.txt", "a.txt", "A.TXT", "a-2.txt", "README", "README", ".env", ".env"]
            .map(|name| unique_name(name, &mut names));
        let expected =
            ["a.txt", "a-2.txt", "A-3.TXT", "a-2-2.txt", "README", "README-2", ".env", ".env-2"];
        assert_eq!(unique, expected);
    }
}
