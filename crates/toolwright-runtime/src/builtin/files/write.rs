//! `write_file`: creates a file, replaces its content, or appends to it.
//!
//! Content is replaced atomically: a concurrent reader sees the old content or the new, never a
//! part of it.

use std::io::{self, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};
use toolwright_core::{Tool, object};

use crate::builtin::root::{Missing, PathError, RelativePath, Root, open_file};
use crate::handle::size;
use crate::prelude::*;

/// Maximum number of bytes that are written at once.
const WRITE_MAX: usize = 32 << 20;

/// What to do with a file that exists.
#[data]
#[derive(Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Leave it and fail
    Create,
    /// Replace its content
    Replace,
    /// Write after its end
    Append,
}

/// Returns the tool `write_file` for a root. Its content may be any JSON value with exact digits,
/// so it parses its arguments itself.
pub fn write_file(root: Root) -> Handler {
    let schema = object! {
        "type": "object",
        "properties": object! {
            "path": object! {"type": "string", "description": "The file, relative to the root"},
            "content": object! {
                "description": "Text is written as it is, any other value as JSON; or a handle",
            },
            "mode": object! {
                "type": "string",
                "enum": vec!["create", "replace", "append"],
                "default": "create",
                "description": "What to do if the file exists: fail (create), replace or append",
            },
        },
        "required": vec!["path", "content"],
        "additionalProperties": false,
    };
    let tool = Tool::function("write_file", schema.into())
        .with_description("Writes a file, making the folders that it needs.");
    Handler::blocking(tool, move |_, mut arguments| {
        let content = arguments.remove("content").unwrap_or_default();
        let mode = arguments.get("mode").map_or(Ok(Mode::Create), Json::to)?;
        let path = arguments.get("path").and_then(Json::as_str).unwrap_or_default();
        write(&root, path, content, mode).map(Output::text)
    })
}

fn write(root: &Root, path: &str, content: Json, mode: Mode) -> Result<String, ToolError> {
    let content = match content {
        Json::String(text) => text.into_string(),
        other => other.compact(),
    };
    if content.len() > WRITE_MAX {
        let most = size(WRITE_MAX);
        return Err(ToolError::new(format!("That is more than {most}. Nothing was written.")));
    }
    let place = RelativePath::parse(path)?;
    let (_, name) = place.file()?;
    let folder = root.folder_of(&place, Missing::Make)?;
    let file = Target { folder: &folder, name, place: &place };
    match mode {
        Mode::Create => file.create(content.as_bytes())?,
        Mode::Replace => file.replace(content.as_bytes())?,
        Mode::Append => file.append(content.as_bytes())?,
    }
    Ok(format!("Wrote {} to {}.", size(content.len()), place.path()))
}

/// The file to write.
struct Target<'t> {
    folder: &'t Dir,
    name: &'t str,
    place: &'t RelativePath,
}

impl Target<'_> {
    fn create(&self, content: &[u8]) -> Result<(), ToolError> {
        let file = self.open(self.name, OpenOptions::new().write(true).create_new(true))?;
        fill(file, content).map_err(|error| {
            // Do not leave a partial file behind.
            let _ = self.folder.remove_file(self.name);
            self.place.why(self.folder, self.name, &error).into()
        })
    }

    fn replace(&self, content: &[u8]) -> Result<(), ToolError> {
        // Refuse to replace a link, a folder or a device.
        let permissions = match open_file(self.folder, self.name, self.place) {
            Ok((old, _)) => Some(old.metadata()?.permissions()),
            Err(PathError::Missing(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| ToolError::new(error.to_string()))?;
        let beside = format!(".toolwright-{:016x}", u64::from_le_bytes(random));
        let file = self.open(&beside, OpenOptions::new().write(true).create_new(true))?;
        let written = permissions
            .map_or(Ok(()), |permissions| file.set_permissions(permissions))
            .and_then(|()| fill(file, content))
            .and_then(|()| self.folder.rename(&beside, self.folder, self.name));
        written.map_err(|error| {
            let _ = self.folder.remove_file(&beside);
            self.place.why(self.folder, self.name, &error).into()
        })
    }

    fn append(&self, content: &[u8]) -> Result<(), ToolError> {
        match open_file(self.folder, self.name, self.place) {
            Err(PathError::Missing(_)) => return self.create(content),
            checked => drop(checked?),
        }
        let mut file = self.open(self.name, OpenOptions::new().append(true))?;
        if !file.metadata()?.is_file() {
            return Err(ToolError::new("The file was replaced meanwhile. Nothing was written."));
        }
        Ok(file.write_all(content)?)
    }

    fn open(&self, name: &str, options: &mut OpenOptions) -> Result<File, ToolError> {
        let options = options.follow(FollowSymlinks::No).nonblock(true);
        let why = |error: io::Error| self.place.why(self.folder, self.name, &error);
        Ok(self.folder.open_with(name, options).map_err(why)?)
    }
}

fn fill(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.sync_all()
}
