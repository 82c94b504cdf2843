//! Reads documents from files and stdin, up to a maximum size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_saphyr::Error as YamlError;
use toolwright_core::Json;

use super::exit::{self, Failure, Result};

/// Maximum size of a document, in bytes.
const MAX_DOCUMENT: u64 = 64 * 1024 * 1024;

/// Maximum number of values of a YAML document.
const MAX_YAML_NODES: usize = 2_000_000;

/// Opens a file, or stdin for none or `-`.
pub(crate) fn open(file: Option<&Path>) -> Result<Box<dyn Read>> {
    match file.filter(|file| *file != Path::new("-")) {
        None => Ok(Box::new(io::stdin().lock())),
        Some(path) => {
            let name = path.display().to_string();
            Ok(Box::new(File::open(path).map_err(exit::io(&name))?))
        }
    }
}

/// Reads one JSON document.
pub(crate) fn json(file: Option<&Path>) -> Result<Json> {
    let (name, bytes) = bytes(file)?;
    Json::parse_bytes(&bytes).map_err(|error| Failure::failed(format!("{name}: not JSON: {error}")))
}

/// Reads one YAML document as JSON. Aliases are replaced by what they refer to, within the limits of the parser.
pub(crate) fn yaml(file: &Path) -> Result<Json> {
    let text = text(file)?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MAX_YAML_NODES, max_events: 4 * MAX_YAML_NODES, max_recorded_anchor_events: MAX_YAML_NODES / 8 },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
        let what = if exceeds_limits(&error) {
            "its anchors and aliases stand for too much; replace them by `$ref`".to_owned()
        } else {
            format!("not YAML: {error}")
        };
        Failure::failed(format!("{}: {what}", file.display()))
    })
}

fn exceeds_limits(error: &YamlError) -> bool {
    match error {
        YamlError::AliasError { error, .. } => exceeds_limits(error),
        YamlError::Budget { .. } | YamlError::AliasReplayLimitExceeded { .. } => true,
        _ => false,
    }
}

/// Reads text; `-` is stdin.
pub(crate) fn text(file: &Path) -> Result<String> {
    let (name, bytes) = bytes(Some(file))?;
    String::from_utf8(bytes).map_err(|_| Failure::failed(format!("{name}: the text is not UTF-8")))
}

/// Returns the text of an argument, or of the file that it names with `@`.
pub(crate) fn argument(argument: &str) -> Result<String> {
    match argument.strip_prefix('@') {
        Some(file) => text(Path::new(file)),
        None => Ok(argument.to_owned()),
    }
}

fn bytes(file: Option<&Path>) -> Result<(String, Vec<u8>)> {
    let named = file.filter(|file| *file != Path::new("-"));
    let name = named.map_or("stdin".to_owned(), |file| file.display().to_string());
    let mut bytes = Vec::new();
    open(file)?.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes).map_err(exit::io(&name))?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        return Err(Failure::failed(format!("{name}: larger than {MAX_DOCUMENT} bytes")));
    }
    let marked = unmarked(&bytes).len() < bytes.len();
    Ok((name, if marked { bytes.split_off(MARK.len()) } else { bytes }))
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Removes a byte order mark.
pub(crate) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}
