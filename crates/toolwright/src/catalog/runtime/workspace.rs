//! The files of one call of a function: copies of its input files, and a folder for its output files.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use toolwright_core::Json;
use toolwright_core::json::Object;

use super::file_error;
use crate::catalog::files::{FileError, Files, Lifetime, StoredFile};
use crate::catalog::manifest::Function;
use crate::error::ToolError;
use crate::private_file;

/// The folder of all workspaces, in the data folder.
pub(super) const FOLDER: &str = "work";

/// Age at which a workspace belongs to no running call.
const MAX_AGE: Duration = Duration::from_hours(24);

/// The files of a call. Dropping it removes them.
pub(super) struct Workspace {
    folder: PathBuf,
    files: Files,
    tenant: String,
    /// The paths of input files, by key
    inputs: Object,
    /// The keys of output files
    outputs: Vec<String>,
}

impl Workspace {
    /// Creates the folders, and copies the input files that the links name.
    pub(super) async fn create(
        work: &Path,
        files: &Files,
        tenant: &str,
        function: &Function,
        links: Option<&Json>,
    ) -> Result<Workspace, ToolError> {
        let number = getrandom::u64().map_err(|_| failed("there is no randomness"))?;
        let outputs: Vec<String> = function.output_files().map(|file| file.key.clone()).collect();
        let mut workspace = Workspace {
            folder: work.join(format!("{number:016x}")),
            files: files.clone(),
            tenant: tenant.to_owned(),
            inputs: Object::new(),
            outputs,
        };
        let folders: Vec<PathBuf> =
            workspace.outputs.iter().map(|key| workspace.output_path(key)).collect();
        let base = workspace.folder.join("output");
        blocking(move || {
            private_file::create_folder(&base)?;
            folders.iter().try_for_each(|folder| private_file::create_folder(folder))
        })
        .await?;
        let mut size = 0;
        for parameter in function.input_files() {
            let links = links.and_then(|links| links.get(&parameter.key)).and_then(Json::as_array);
            let mut paths: Vec<Json> = Vec::new();
            for link in links.into_iter().flatten().filter_map(Json::as_str) {
                let file = find(files, tenant, &parameter.key, link).await?;
                size += file.size;
                if size > files.limits().tenant_bytes {
                    return Err(failed("there are too many bytes of input files"));
                }
                let path = workspace.copy(&parameter.key, paths.len(), file).await?;
                paths.push(path.to_string_lossy().into_owned().into());
            }
            if !paths.is_empty() {
                workspace.inputs.insert(parameter.key.clone(), paths);
            }
        }
        Ok(workspace)
    }

    /// Copies an input file, so that the function cannot change the stored one.
    async fn copy(&self, key: &str, index: usize, file: StoredFile) -> Result<PathBuf, ToolError> {
        let folder = self.folder.join("input").join(key).join(index.to_string());
        let path = folder.join(file.url.name());
        let copied = path.clone();
        blocking(move || {
            private_file::create_folder(&folder)?;
            fs::copy(&file.path, &copied).map(drop)
        })
        .await?;
        Ok(path)
    }

    /// Whether the function returns files.
    pub(super) fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// The paths of the input files, by key.
    pub(super) fn inputs(&self) -> Object {
        self.inputs.clone()
    }

    /// The folder that has a folder for each key of output files.
    pub(super) fn output_folder(&self) -> String {
        self.folder.join("output").to_string_lossy().into_owned()
    }

    fn output_path(&self, key: &str) -> PathBuf {
        self.folder.join("output").join(key)
    }

    /// Stores the output files, and returns their links by key.
    pub(super) async fn save_outputs(&self) -> Result<Object, ToolError> {
        let mut saved = Object::new();
        for key in &self.outputs {
            let folder = self.output_path(key);
            let paths = blocking(move || regular_files(&folder)).await?;
            let mut links: Vec<Json> = Vec::new();
            for path in paths {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let now = SystemTime::now();
                let mut upload =
                    self.files.upload(&self.tenant, &name, None, now).await.map_err(file_error)?;
                let file = tokio::fs::File::open(&path).await;
                let file = file.map_err(|error| failed(&error.kind().to_string()))?;
                upload.copy(file).await.map_err(file_error)?;
                let stored = upload.finish(Lifetime::Permanent, SystemTime::now()).await;
                let stored = stored.map_err(file_error)?;
                links.push(stored.url.to_string().into());
            }
            if !links.is_empty() {
                saved.insert(key.clone(), links);
            }
        }
        Ok(saved)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let folder = std::mem::take(&mut self.folder);
        let remove = move || {
            // What cannot be removed now is swept later.
            let _ = fs::remove_dir_all(folder);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

/// Finds an input file by its link.
pub(super) async fn find(
    files: &Files,
    tenant: &str,
    key: &str,
    link: &str,
) -> Result<StoredFile, ToolError> {
    files.find(tenant, link, SystemTime::now()).await.map_err(|error| match error {
        FileError::NotFound => ToolError::new(format!(
            "The file {link} of `files.{key}` does not exist. Upload it first, and pass the s3_url of the \
             upload."
        ))
        .with_kind("FileNotFound"),
        error => file_error(error),
    })
}

/// Removes workspaces that a killed process has left behind.
pub(super) fn sweep(work: &Path) {
    let Ok(entries) = fs::read_dir(work) else { return };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|own| own.modified()).ok();
        let age = modified.and_then(|own| SystemTime::now().duration_since(own).ok());
        if age.is_some_and(|age| age > MAX_AGE) {
            // Another process may remove it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The regular files of a folder, by name. Links are left out: they may lead anywhere.
fn regular_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        // The path of the machine stays here.
        Ok(Err(error)) => Err(failed(&error.kind().to_string())),
        Err(_) => Err(failed("the runtime is shutting down")),
    }
}

pub(super) fn failed(problem: &str) -> ToolError {
    ToolError::new(format!("The files of the call cannot be prepared: {problem}"))
        .with_kind("FileError")
}
