//! The disk of a chaos run: a tmpfs mounted in a user namespace, which can be filled.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Outcome};

/// A mounted disk.
#[derive(Debug)]
pub(crate) struct Disk {
    ballast: PathBuf,
}

impl Disk {
    /// Mounts a tmpfs of the given size in megabytes over a folder, visible in this namespace only.
    pub(crate) fn mount(folder: &Path, megabytes: u64) -> Outcome<Disk> {
        fs::create_dir_all(folder)?;
        let size = format!("size={megabytes}m,mode=700");
        let mut mount = Command::new("mount");
        let output = mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Failure(format!("cannot mount a tmpfs in a user namespace: {why}")));
        }
        Ok(Disk { ballast: folder.join("ballast") })
    }

    /// Fills the free space.
    pub(crate) fn fill(&self) -> Outcome {
        let mut file = File::options().create(true).append(true).open(&self.ballast)?;
        for size in [1 << 20, 4096] {
            let block = vec![1; size];
            while file.write_all(&block).is_ok() {}
        }
        Ok(())
    }

    /// Releases the space.
    pub(crate) fn free(&self) -> Outcome {
        match fs::remove_file(&self.ballast) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}
