//! Packages: a manifest with the files that its functions run from.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use toolwright_core::Json;
use toolwright_json::canonical;
use toolwright_transport::private_file;

use super::manifest::{Manifest, ManifestFault, McpServer, Runtime};
use super::version::PrefabVersion;

/// Names of manifests in a folder.
pub const MANIFESTS: [&str; 2] = ["prefab.json", "prefab.toml"];

/// The file of a catalog in its data folder, which is not part of a package.
pub const FILE: &str = "catalog.sqlite";

/// Maximum number of files of a package.
pub const MAX_FILES: usize = 2_000;

/// Maximum size of a manifest and of all files of a package, in bytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// Maximum depth of folders in a package.
const MAX_DEPTH: usize = 32;

/// Folders that tools create beside the files of a prefab.
const GENERATED: [&str; 2] = ["__pycache__", "node_modules/.cache"];

/// A version of a prefab that is ready to be published.
#[derive(Debug, Clone)]
pub struct Package {
    manifest: Manifest,
    files: Vec<PackageFile>,
    digest: String,
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageFile {
    /// The path within the package, with slashes
    pub(super) path: String,
    pub(super) is_executable: bool,
    pub(super) content: Vec<u8>,
}

/// Why a package cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The manifest has faults
    #[error("{}: {}", file.display(), list(faults))]
    Manifest {
        /// The manifest
        file: PathBuf,
        /// All faults, in the order of the document
        faults: Vec<ManifestFault>,
    },
    /// A file or folder cannot be used
    #[error("{}: {problem}", path.display())]
    File {
        /// The file or folder
        path: PathBuf,
        /// The problem and the remedy
        problem: String,
    },
}

fn list(faults: &[ManifestFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Package {
    /// Creates a package without files.
    pub fn new(manifest: Manifest) -> Package {
        Package::with_files(manifest, Vec::new())
    }

    fn with_files(manifest: Manifest, files: Vec<PackageFile>) -> Package {
        let digest = digest(hash_manifest(&manifest.document), &files);
        Package { manifest, files, digest }
    }

    /// Reads a manifest, or the one in a folder. If its functions run as a process, all files of the
    /// folder belong to the package, except for those whose names begin with a dot.
    pub fn read(path: &Path) -> Result<Package, PackageError> {
        let file = if path.is_dir() { find_manifest(path)? } else { path.to_owned() };
        let text = read_text(&file)?;
        let parsed = if file.extension().is_some_and(|extension| extension == "toml") {
            Manifest::from_toml(&text)
        } else {
            parse_json(&text).and_then(|document| Manifest::parse(&document))
        };
        let refused = |faults| PackageError::Manifest { file: file.clone(), faults };
        let manifest = parsed.map_err(refused)?;
        let Some((pointer, command)) = local_command(&manifest.runtime) else {
            return Ok(Package::new(manifest));
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let files = read_folder(folder)?;
        let program = command.first().map(String::as_str).unwrap_or_default();
        if program.contains('/') && !has_file(&files, program) {
            let problem = format!("there is no file '{program}' in the folder of the prefab");
            return Err(refused(vec![ManifestFault::new(format!("{pointer}/0"), problem)]));
        }
        Ok(Package::with_files(manifest, files))
    }

    /// Reads an index: an array of prefabs, which are manifests, or entries without functions. Pointers of faults start
    /// at the array. `progress` is called with the number of prefabs that are read.
    pub fn read_index_with_progress(
        document: &Json,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<Package>, Vec<ManifestFault>> {
        let Some(entries) = document.as_array() else {
            let problem = format!("an index is an array of prefabs, not {}", document.kind());
            return Err(vec![ManifestFault::new("", problem)]);
        };
        let (mut packages, mut faults) = (Vec::with_capacity(entries.len()), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            let is_manifest = entry.get("functions").is_some() || entry.get("runtime").is_some();
            let parsed =
                if is_manifest { Manifest::parse(entry) } else { Manifest::parse_listing(entry) };
            match parsed {
                Ok(manifest) => match local_command(&manifest.runtime) {
                    Some((pointer, _)) => faults.push(ManifestFault::new(
                        format!("/{index}{pointer}"),
                        "a prefab in an index has no folder to run a program in; add its folder",
                    )),
                    None => packages.push(Package::new(manifest)),
                },
                Err(found) => faults.extend(found.into_iter().map(|fault| {
                    ManifestFault::new(format!("/{index}{}", fault.pointer), fault.problem)
                })),
            }
            progress(index + 1);
        }
        if faults.is_empty() { Ok(packages) } else { Err(faults) }
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the digest of the manifest and of all files: BLAKE3, as 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the paths of the files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str())
    }

    pub(super) fn into_parts(self) -> (Manifest, Vec<PackageFile>, String) {
        (self.manifest, self.files, self.digest)
    }
}

/// Returns the command of a runtime that runs a program in the package's folder, with its pointer.
fn local_command(runtime: &Runtime) -> Option<(&'static str, &[String])> {
    match runtime {
        Runtime::Process { command } => Some(("/runtime/process/command", command)),
        Runtime::Mcp(McpServer::Command(command)) => Some(("/runtime/mcp/command", command)),
        _ => None,
    }
}

fn has_file(files: &[PackageFile], path: &str) -> bool {
    let path = path.trim_start_matches("./");
    files.iter().any(|file| file.path == path)
}

fn hash_manifest(document: &Json) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, document.as_object().map(canonical).unwrap_or_default().as_bytes());
    hasher
}

fn digest(mut hasher: blake3::Hasher, files: &[PackageFile]) -> String {
    for file in files {
        add(&mut hasher, file.path.as_bytes());
        add(&mut hasher, &[u8::from(file.is_executable)]);
        add(&mut hasher, &file.content);
    }
    hasher.finalize().to_hex().to_string()
}

fn add(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

fn parse_json(text: &str) -> Result<Json, Vec<ManifestFault>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Json::parse(text).map_err(|error| vec![ManifestFault::new("", format!("not JSON: {error}"))])
}

fn find_manifest(folder: &Path) -> Result<PathBuf, PackageError> {
    let mut found = MANIFESTS.iter().map(|name| folder.join(name)).filter(|path| path.exists());
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        (Some(_), Some(_)) => {
            Err(fault(folder, format!("has both {}; keep one of them", MANIFESTS.join(" and "))))
        }
        _ => Err(fault(folder, format!("has no manifest ({})", MANIFESTS.join(" or ")))),
    }
}

fn read_text(file: &Path) -> Result<String, PackageError> {
    let size = fs::metadata(file).map_err(|error| fault(file, error))?.len();
    if size > MAX_BYTES {
        return Err(fault(file, format!("larger than {MAX_BYTES} bytes")));
    }
    let bytes = fs::read(file).map_err(|error| fault(file, error))?;
    String::from_utf8(bytes).map_err(|_| fault(file, "the text is not UTF-8"))
}

fn fault(path: &Path, problem: impl ToString) -> PackageError {
    PackageError::File { path: path.to_owned(), problem: problem.to_string() }
}

/// The files of a published version.
pub(super) struct PublishedFiles {
    pub(super) id: String,
    pub(super) version: String,
    folder: PathBuf,
    /// The digest of the version, and its part of the manifest
    digest: String,
    manifest: blake3::Hasher,
}

impl PublishedFiles {
    /// Returns the files of a version, if it has some.
    pub(super) fn new(version: &PrefabVersion) -> Option<PublishedFiles> {
        let manifest = &version.manifest;
        Some(PublishedFiles {
            id: manifest.id.to_string(),
            version: manifest.version.to_string(),
            folder: version.folder.clone()?,
            digest: version.digest.clone(),
            manifest: hash_manifest(&manifest.document),
        })
    }

    /// Copies the files to a new folder. Returns false if they are not those that were published.
    pub(super) fn copy(&self, to: &Path) -> io::Result<bool> {
        // The bytes that are checked are those that are written.
        match read_folder(&self.folder) {
            Ok(files) if digest(self.manifest.clone(), &files) == self.digest => {
                write_files(to, &files, |_| Ok(())).map(|_| true)
            }
            _ => Ok(false),
        }
    }
}

/// Writes files to a new folder, calls `finish` with each, and returns all folders.
pub(super) fn write_files(
    root: &Path,
    files: &[PackageFile],
    finish: impl Fn(&File) -> io::Result<()>,
) -> io::Result<Vec<PathBuf>> {
    private_file::create_folder(root)?;
    let mut folders = vec![root.to_owned()];
    for file in files {
        let path = root.join(&file.path);
        let folder = path.parent().unwrap_or(root);
        if !folders.iter().any(|known| known == folder) {
            private_file::create_folder(folder)?;
            folders.push(folder.to_owned());
        }
        let mut out = private_file::create(&path)?;
        #[cfg(unix)]
        if file.is_executable {
            out.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        }
        out.write_all(&file.content)?;
        finish(&out)?;
    }
    Ok(folders)
}

/// Reads all files of a folder, sorted by path.
fn read_folder(folder: &Path) -> Result<Vec<PackageFile>, PackageError> {
    let root = folder.canonicalize().map_err(|error| fault(folder, error))?;
    let mut reader = FolderReader { root, files: Vec::new(), bytes: 0 };
    reader.read(folder, "", 0)?;
    reader.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(reader.files)
}

struct FolderReader {
    root: PathBuf,
    files: Vec<PackageFile>,
    bytes: u64,
}

impl FolderReader {
    fn read(&mut self, folder: &Path, within: &str, depth: usize) -> Result<(), PackageError> {
        if depth > MAX_DEPTH {
            return Err(fault(folder, format!("more than {MAX_DEPTH} folders deep")));
        }
        for entry in fs::read_dir(folder).map_err(|error| fault(folder, error))? {
            let path = entry.map_err(|error| fault(folder, error))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| fault(&path, "the name is not UTF-8"))?;
            let within =
                if within.is_empty() { name.to_owned() } else { format!("{within}/{name}") };
            if name.starts_with('.') || GENERATED.iter().any(|own| within.ends_with(own)) {
                continue;
            }
            // Without following links.
            let kind =
                fs::symlink_metadata(&path).map_err(|error| fault(&path, error))?.file_type();
            if kind.is_dir() {
                // A data folder is not part of a prefab.
                if !path.join(FILE).exists() {
                    self.read(&path, &within, depth + 1)?;
                }
            } else {
                self.add(&path, within, kind.is_symlink())?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, within: String, is_link: bool) -> Result<(), PackageError> {
        let target = path.canonicalize().map_err(|error| fault(path, error))?;
        if is_link && !target.starts_with(&self.root) {
            return Err(fault(path, "this link leads out of the folder of the prefab"));
        }
        let found = fs::metadata(&target).map_err(|error| fault(path, error))?;
        if !found.is_file() {
            return Err(fault(path, "only files, folders and links to files can be published"));
        }
        self.bytes += found.len();
        if self.bytes > MAX_BYTES || self.files.len() >= MAX_FILES {
            let limit =
                format!("a prefab has at most {MAX_FILES} files of {MAX_BYTES} bytes in total");
            return Err(fault(&self.root, limit));
        }
        #[cfg(unix)]
        let is_executable =
            std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o100 != 0;
        #[cfg(not(unix))]
        let is_executable = false;
        let content = fs::read(&target).map_err(|error| fault(path, error))?;
        self.files.push(PackageFile { path: within, is_executable, content });
        Ok(())
    }
}
