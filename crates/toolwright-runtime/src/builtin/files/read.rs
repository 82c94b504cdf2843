//! `read_file`: a text file, or some of its lines; other files as bytes.

use std::io::{BufRead, BufReader};
use std::path::Path;

use super::still_wanted;
use crate::builtin::root::{RelativePath, Root};
use crate::handle::size;
use crate::prelude::*;

/// Maximum number of bytes that are read at once.
const READ_MAX: usize = 8 << 20;

/// Reads a text file (UTF-8), whole or some of its lines. A long text, and a file that is not text,
/// is returned as a handle.
#[tool(read_only)]
pub fn read_file(
    #[context] root: &Root,
    #[scope] scope: &Scope,
    /// The file, relative to the root
    path: String,
    /// The first line to read, from 1
    #[default(1)]
    #[schemars(range(min = 1))]
    first_line: u64,
    /// How many lines to read; all by default
    #[schemars(range(min = 1))]
    lines: Option<u64>,
) -> Result<Output, ToolError> {
    let place = RelativePath::parse(&path)?;
    let (file, length) = root.file(&place)?;
    let is_whole = first_line == 1 && lines.is_none();
    if is_whole && length > READ_MAX as u64 {
        return Err(too_large());
    }
    let mut wanted = Lines { first: first_line, count: lines, line: 1, text: Vec::new() };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    loop {
        still_wanted(scope)?;
        let piece = reader.fill_buf()?;
        let used = piece.len();
        if used == 0 || wanted.take(piece) {
            break;
        }
        if wanted.text.len() > READ_MAX {
            return Err(too_large());
        }
        reader.consume(used);
    }
    let Lines { line, text, .. } = wanted;
    if text.is_empty() && !is_whole && first_line > 1 {
        return Err(ToolError::new(format!("The file ends at line {line}, before {first_line}.")));
    }
    match String::from_utf8(text) {
        Ok(text) if text.is_empty() => Ok(Output::text("[The file is empty.]")),
        Ok(text) => Ok(Output::text(text)),
        Err(error) if is_whole => {
            let bytes = error.into_bytes();
            Ok(Output::bytes(mime(&path), bytes))
        }
        Err(_) => Err(ToolError::new("These lines are not UTF-8 text. Read the file whole.")),
    }
}

/// Collects some lines of a text that arrives in chunks.
struct Lines {
    first: u64,
    count: Option<u64>,
    /// The number of the line that the next byte belongs to
    line: u64,
    text: Vec<u8>,
}

impl Lines {
    /// Takes a chunk; returns whether all lines are complete.
    fn take(&mut self, piece: &[u8]) -> bool {
        let end = self.count.map(|count| self.first.saturating_add(count));
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if end.is_some_and(|end| self.line >= end) {
                return true;
            }
            if self.line >= self.first {
                self.text.extend_from_slice(line);
            }
            self.line += u64::from(line.ends_with(b"\n"));
        }
        end.is_some_and(|end| self.line >= end)
    }
}

fn too_large() -> ToolError {
    let most = size(READ_MAX);
    ToolError::new(format!(
        "That is more than {most}, the most that is read at once. Pass first_line and lines to \
         read a part, or use search_files to find the place."
    ))
}

/// Returns the media type of a file that is not text, by its name.
fn mime(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "wav" => "audio/wav",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "parquet" => "application/vnd.apache.parquet",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "application/octet-stream",
    }
}
