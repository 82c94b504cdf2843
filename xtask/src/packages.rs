//! Pinned packages of Python and JavaScript, installed below `target/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failure, Outcome, Program, ensure, root};

/// A Python environment and its requirements file.
pub(crate) struct Venv {
    pub(crate) folder: String,
    pub(crate) requirements: String,
}

impl Venv {
    pub(crate) fn new(folder: impl Into<String>, requirements: impl Into<String>) -> Venv {
        Venv { folder: folder.into(), requirements: requirements.into() }
    }

    /// Runs a script with the Python of the environment.
    pub(crate) fn python(&self, script: &str) -> Program {
        Program::new(root().join(&self.folder).join("bin/python")).with(&[script])
    }

    /// Creates the environment, unless it was created from the same requirements.
    pub(crate) fn install(&self) -> Outcome {
        let wanted = fs::read_to_string(root().join(&self.requirements))?;
        let stamp = root().join(&self.folder).join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        println!("installing the packages of {} into {}", self.requirements, self.folder);
        let uv = uv()?;
        Program::new(&uv).with(&["venv", "--quiet", "--clear", &self.folder]).run()?;
        let python = root().join(&self.folder).join("bin/python");
        Program::new(&uv)
            .with(&["pip", "install", "--quiet", "--compile-bytecode"])
            .with(&["--python", &python.to_string_lossy(), "--requirement", &self.requirements])
            .run()?;
        fs::write(stamp, wanted)?;
        Ok(())
    }
}

/// The version of uv, which installs Python packages in a tenth of the time of pip, and where it is installed.
const UV: &str = "uv==0.13.8";
const UV_FOLDER: &str = "target/uv";

/// Installs uv unless it is installed, and returns its path.
fn uv() -> Outcome<PathBuf> {
    let folder = root().join(UV_FOLDER);
    let (stamp, uv) = (folder.join("version.txt"), folder.join("bin/uv"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == UV) {
        return Ok(uv);
    }
    ensure("python3-venv", || Program::new("python3").with(&["-m", "ensurepip", "--version"]))?;
    Program::new("python3").with(&["-m", "venv", "--clear", UV_FOLDER]).run()?;
    Program::new(folder.join("bin/python"))
        .with(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV])
        .run()?;
    fs::write(stamp, UV)?;
    Ok(uv)
}

/// JavaScript packages with the files that use them, and the Node.js version that runs both.
pub(crate) struct NodePackages {
    /// The folder of the repository with `package.json`, `package-lock.json` and the files
    pub(crate) source: &'static str,
    pub(crate) folder: &'static str,
}

impl NodePackages {
    /// Installs the packages, unless they are present, and copies the files beside them, where
    /// Node.js resolves imports.
    pub(crate) fn install(&self) -> Outcome {
        let (source, folder) = (root().join(self.source), root().join(self.folder));
        let wanted = fs::read_to_string(source.join("package-lock.json"))?;
        let stamp = folder.join("installed.json");
        let installed = fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted);
        if !installed && folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        copy(&source, &folder)?;
        if installed {
            return Ok(());
        }
        println!("installing the packages of {} into {}", self.source, self.folder);
        ensure("npm", || Program::new("npm").with(&["--version"]))?;
        let what = ["ci", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", self.folder];
        Program::new("npm").with(&what).run()?;
        fs::write(stamp, wanted)?;
        Ok(())
    }
}

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .map_err(|error| Failure(format!("{}: {error}", target.display())))?;
        }
    }
    Ok(())
}
