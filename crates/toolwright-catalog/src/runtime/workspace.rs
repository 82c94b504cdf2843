//! The files of one call of a function, in a folder of its own:
//!
//! ```text
//! prefab/               a copy of the published files, where the process starts
//! input/{key}/{index}/  copies of its input files
//! output/{key}/         its output files
//! tmp/                  its temporary files
//! ```
//!
//! The process may change all of them, and nothing that others use.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use tokio::sync::Semaphore;
use toolwright_core::Json;
use toolwright_json::Object;
use toolwright_runtime::ToolError;
use toolwright_runtime::builtin::{PathError, RelativePath, Root};
use toolwright_transport::private_file;

use super::file_error;
use crate::files::{FileError, Files, Lifetime, StoredFile};
use crate::manifest::Function;
use crate::package::PublishedFiles;

/// The folder of all workspaces, in the data folder.
pub(super) const FOLDER: &str = "work";

/// The folders of a workspace that a process knows.
pub(super) const PREFAB: &str = "prefab";
pub(super) const OUTPUT: &str = "output";
pub(super) const TEMPORARY: &str = "tmp";

/// How many prefabs are copied at once. Each is in memory meanwhile, up to the maximum size of a package.
static COPIES: Semaphore = Semaphore::const_new(4);

/// Age at which a workspace belongs to no running call.
const MAX_AGE: Duration = Duration::from_hours(24);

/// The files of a call. Dropping it removes them.
pub(super) struct Workspace {
    /// The folder of all workspaces, and the name of this one in it
    work: PathBuf,
    name: String,
    files: Files,
    tenant: String,
    /// The paths of input files, by key
    pub(super) inputs: Object,
    /// The keys of output files
    pub(super) outputs: Vec<String>,
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
            work: work.to_owned(),
            name: format!("{number:016x}"),
            files: files.clone(),
            tenant: tenant.to_owned(),
            inputs: Object::new(),
            outputs,
        };
        let (folder, output) = (workspace.folder(), workspace.folder().join(OUTPUT));
        let mut folders = vec![output.clone(), folder.join(TEMPORARY)];
        folders.extend(workspace.outputs.iter().map(|key| output.join(key)));
        blocking(move || folders.iter().try_for_each(|folder| private_file::create_folder(folder)))
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
        let folder = self.folder().join("input").join(key).join(index.to_string());
        let path = folder.join(file.url.name());
        let copied = path.clone();
        blocking(move || {
            private_file::create_folder(&folder)?;
            fs::copy(&file.path, &copied).map(drop)
        })
        .await?;
        Ok(path)
    }

    /// Copies the published files of a prefab. Returns false if they have changed.
    pub(super) async fn copy_prefab(
        &self,
        prefab: &Arc<PublishedFiles>,
    ) -> Result<bool, ToolError> {
        let _permit = COPIES.acquire().await;
        let (prefab, to) = (Arc::clone(prefab), self.folder().join(PREFAB));
        blocking(move || prefab.copy(&to)).await
    }

    /// The folder of this call.
    pub(super) fn folder(&self) -> PathBuf {
        self.work.join(&self.name)
    }

    /// Stores the output files, and returns their links by key.
    pub(super) async fn save_outputs(&self) -> Result<Object, ToolError> {
        let mut saved = Object::new();
        for key in &self.outputs {
            let (work, place) = (self.work.clone(), format!("{}/{OUTPUT}/{key}", self.name));
            let (root, files) = blocking(move || output_files(&work, &place)).await?;
            let mut links: Vec<Json> = Vec::new();
            for (name, place) in files {
                let now = SystemTime::now();
                let mut upload =
                    self.files.upload(&self.tenant, &name, None, now).await.map_err(file_error)?;
                let root = root.clone();
                let file = blocking(move || root.file(&place).map_err(unusable)).await?.0;
                let file = tokio::fs::File::from_std(file.into_std());
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
        let folder = self.folder();
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

/// The regular files of an output folder, by name. No link is followed: the process may have replaced the folder or a
/// file by one that leads anywhere.
fn output_files(work: &Path, place: &str) -> io::Result<(Root, Vec<(String, RelativePath)>)> {
    let root = Root::open(work)?;
    let place = RelativePath::parse(place).map_err(unusable)?;
    let mut files = Vec::new();
    for entry in root.folder(&place).map_err(unusable)?.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let place = place.join(&name);
            files.push((name, place));
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((root, files))
}

fn unusable(_: PathError) -> io::Error {
    io::Error::other("an output file or folder is a link, or cannot be read")
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) if error.get_ref().is_some() => Err(failed(&error.to_string())),
        // The path of the machine stays here.
        Ok(Err(error)) => Err(failed(&error.kind().to_string())),
        Err(_) => Err(failed("the runtime is shutting down")),
    }
}

pub(super) fn failed(problem: &str) -> ToolError {
    ToolError::new(format!("The files of the call cannot be prepared: {problem}"))
        .with_kind("FileError")
}
