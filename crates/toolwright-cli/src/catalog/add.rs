//! `toolwright catalog add`.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;

use clap::Args;
use toolwright_catalog::compatibility::{FunctionChange, Verdict};
use toolwright_catalog::openapi::{self, ImportOptions, ImportReport};
use toolwright_catalog::{
    Compatibility, Manifest, ManifestFault, Package, PackageError, PublishError, PublishOptions,
    Published, Visibility,
};
use toolwright_core::json::Object;
use toolwright_core::{Json, object};
use toolwright_gateway::config;
use toolwright_gateway::terminal::{self, counted};

use super::{Common, ShownTo, Store, mcp};
use crate::config_text::ConfigText;
use crate::exit::{self, Failure, Result};
use crate::input;

/// Number of prefabs or functions from which an import shows its progress.
const SHOW_PROGRESS: usize = 100;

/// Width of the progress bar.
const BAR_COLUMNS: usize = 30;

/// Arguments of `catalog add`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE is one of
  a folder with prefab.json or prefab.toml, or such a file: if its functions run as a process, the
    files of the folder are published as well, except for those whose names begin with a dot
  an index: a JSON array of prefabs, with or without their functions
  an OpenAPI document (3.0, 3.1 or Swagger 2.0) in JSON, or in YAML (.yaml, .yml): each operation becomes a function
  mcp:NAME, an MCP server of the configuration: each of its tools becomes a function

A version never changes: the same version with other content is refused, and so is a patch release
that breaks callers. All faults of a manifest are reported at once, with their JSON Pointers.")]
pub(super) struct Add {
    /// Publish this
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Make this the latest version, even if it is a pre-release or an older one
    #[arg(long)]
    latest: bool,
    /// Say who may see the prefab [default: as in the manifest]
    #[arg(long)]
    visibility: Option<ShownTo>,
    /// Name the prefab of an OpenAPI document or of an MCP server
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Give the prefab of an OpenAPI document or of an MCP server this version
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Send the requests of an OpenAPI document to this address
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Send this header with each request of an OpenAPI document; the secret that is its value is written into the
    /// configuration file as `env:NAME` or `file:PATH`
    #[arg(long, value_name = "NAME=env:NAME")]
    header: Vec<String>,
}

/// What is published, and what an import of OpenAPI reported.
struct Source {
    packages: Vec<Package>,
    import: Option<ImportReport>,
    /// The configuration file with secrets of the prefab, to be written
    config: Option<ConfigText>,
}

impl Add {
    pub(super) fn run(self, common: &Common) -> Result<()> {
        let catalog = common.open()?;
        let server = self.path.to_str().and_then(|path| path.strip_prefix("mcp:"));
        let source = match server {
            Some(server) => self.server(server, &catalog, common)?,
            None => self.read(common)?,
        };
        let options = PublishOptions::default()
            .with_latest(self.latest)
            .with_visibility(self.visibility.map(Visibility::from));
        let mut progress = Progress::new(["publishing", "prefabs"], source.packages.len());
        let counts: Vec<usize> =
            source.packages.iter().map(|package| package.manifest().functions.len()).collect();
        let published = catalog.publish_all(source.packages, options, |done| progress.show(done));
        drop(progress);
        let published = published.map_err(|error| unpublished(error, common))?;
        if let Some(config) = &source.config {
            config.write().map_err(Failure::failed)?;
        }
        if common.json {
            let mut document =
                object! {"published": published.iter().map(document).collect::<Vec<_>>()};
            document.insert_some("import", source.import.as_ref().map(import_document));
            return exit::print_json(document);
        }
        let mut text = source.import.as_ref().map(import_lines).unwrap_or_default();
        text.extend(published.iter().zip(counts).map(|(own, functions)| lines(own, functions)));
        text.extend(source.config.map(|config| {
            format!("added the secrets of its headers to {}\n", config.path.display())
        }));
        exit::print(&text)
    }

    /// Reads the packages.
    fn read(&self, common: &Common) -> Result<Source> {
        let path = &self.path;
        let document = path.is_file().then(|| path.extension().and_then(OsStr::to_str));
        let document = document.and_then(|extension| match extension {
            Some("toml") => None,
            Some("yaml" | "yml") => Some(input::yaml(path)),
            _ => Some(input::json(Some(path))),
        });
        let document = document.transpose()?;
        let is_openapi = |document: &&Json| {
            document.get("openapi").is_some() || document.get("swagger").is_some()
        };
        if let Some(document) = document.as_ref().filter(is_openapi) {
            return self.import(document, common);
        }
        let has_header = !self.header.is_empty();
        if self.id.is_some() || self.version.is_some() || self.base_url.is_some() || has_header {
            let what = "--id, --version, --base-url and --header are for OpenAPI documents";
            return Err(Failure::usage(what));
        }
        let packages = match document.filter(|document| document.as_array().is_some()) {
            Some(index) => {
                let total = index.as_array().unwrap_or_default().len();
                let mut progress = Progress::new(["reading", "prefabs"], total);
                let read = Package::read_index_with_progress(&index, |done| progress.show(done));
                drop(progress);
                read.map_err(|faults| self.faulty(faults, common))?
            }
            None => vec![Package::read(path).map_err(|error| match error {
                PackageError::Manifest { file, faults } => refuse(file.display(), faults, common),
                error => exit::failed(error),
            })?],
        };
        Ok(Source { packages, import: None, config: None })
    }

    /// Reads the tools of an MCP server.
    fn server(&self, server: &str, catalog: &Store, common: &Common) -> Result<Source> {
        let config = common.config.load()?;
        let (mut document, left_out) = mcp::manifest(&config, server, self.id.as_deref())?;
        for problem in left_out {
            exit::warn(&problem);
        }
        let version = self.version.clone();
        let version = version.unwrap_or_else(|| mcp::next_version(catalog, &document));
        document.insert("version", version);
        let manifest = Manifest::parse(&document.into());
        let manifest = manifest.map_err(|faults| self.faulty(faults, common))?;
        Ok(Source { packages: vec![Package::new(manifest)], import: None, config: None })
    }

    fn import(&self, document: &Json, common: &Common) -> Result<Source> {
        let mut options = ImportOptions::new();
        options.id.clone_from(&self.id);
        options.version.clone_from(&self.version);
        options.base_url.clone_from(&self.base_url);
        let headers = self.header.iter().map(|header| read_header(header));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let named = headers.iter().map(|(name, secret, _)| ((*name).to_owned(), secret.clone()));
        options.headers = named.collect();
        let import = openapi::import(document, &options)
            .map_err(|error| Failure::failed(format!("{}: {error}", self.path.display())))?;
        let mut progress = Progress::new(["reading", "functions"], import.report.functions);
        let manifest = Manifest::parse_with_progress(&import.manifest, |done| progress.show(done));
        drop(progress);
        let manifest = manifest.map_err(|faults| self.faulty(faults, common))?;
        let config = config_with_secrets(manifest.id.as_str(), &headers, common)?;
        let packages = vec![Package::new(manifest)];
        Ok(Source { packages, import: Some(import.report), config })
    }

    fn faulty(&self, faults: Vec<ManifestFault>, common: &Common) -> Failure {
        refuse(self.path.display(), faults, common)
    }
}

/// Returns the configuration file with the secrets of headers, unless it has them.
fn config_with_secrets(
    id: &str,
    headers: &[(&str, String, &str)],
    common: &Common,
) -> Result<Option<ConfigText>> {
    if headers.is_empty() {
        return Ok(None);
    }
    let file = ConfigText::open(common.config.clone())?;
    let known = file.config.catalog.prefabs.get(id).map(|prefab| &prefab.secrets);
    let is_new = |secret: &String| known.is_none_or(|known| !known.contains_key(secret));
    let new = headers.iter().filter(|(_, secret, _)| is_new(secret));
    let line = |secret, value| {
        format!("{} = {}\n", config::name::quoted(secret), config::name::text(value))
    };
    let table: String = new.map(|(_, secret, value)| line(secret, value)).collect();
    if table.is_empty() {
        return Ok(None);
    }
    let heading = format!("[prefabs.{}.secrets]", config::name::quoted(id));
    let changed = file.with_table(&format!("{heading}\n{table}"));
    let has_table = known.is_some_and(|known| !known.is_empty());
    changed.map(Some).map_err(|error| {
        if !has_table {
            return Failure::from(error);
        }
        let what = format!("{} has the table {heading}", file.path.display());
        Failure::failed(what).with_hint(format!("add to it: {}", table.trim_end()))
    })
}

/// Splits a header into its name, the name of its secret, and the reference to the value.
fn read_header(header: &str) -> Result<(&str, String, &str)> {
    let parts = header.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    match parts.filter(|(_, value)| value.starts_with("env:") || value.starts_with("file:")) {
        Some((name, value)) => Ok((name, name.to_ascii_lowercase().replace('-', "_"), value)),
        // It may be the secret itself, so it is not repeated.
        None => Err(Failure::usage("--header must be NAME=env:VARIABLE or NAME=file:PATH")),
    }
}

/// Converts the error of a publication, whose report is written as JSON if that is wanted.
fn unpublished(error: PublishError, common: &Common) -> Failure {
    match error {
        PublishError::Refused { id, version, faults } => {
            refuse(format_args!("{id}@{version}"), faults, common)
        }
        error => {
            if let (true, PublishError::Breaking { report, .. }) = (common.json, &error)
                && let Err(failure) = exit::print_json(report.to_json())
            {
                return failure;
            }
            exit::failed(error)
        }
    }
}

/// Returns the failure for a manifest with faults, which are written as JSON if that is wanted.
fn refuse(subject: impl Display, faults: Vec<ManifestFault>, common: &Common) -> Failure {
    let count = counted(faults.len(), "fault", "faults");
    let mut message = format!("{subject}: {count}; nothing is published");
    if common.json {
        let fault = |fault: &ManifestFault| object! {"pointer": fault.pointer.as_str(), "problem": fault.problem.as_str()};
        let faults: Vec<Object> = faults.iter().map(fault).collect();
        if let Err(failure) = exit::print_json(object! {"faults": faults}) {
            return failure;
        }
    } else {
        let lines = faults.iter().map(|fault| terminal::plain(&format!("\n  {fault}")));
        message.extend(lines);
    }
    Failure::failed(message)
}

/// A progress bar for one step of an import, on one line of a terminal.
struct Progress {
    /// What is done, such as `reading`, and to what
    words: [&'static str; 2],
    total: usize,
    is_shown: bool,
    /// Number of columns that are filled
    filled: Option<usize>,
}

impl Progress {
    fn new(words: [&'static str; 2], total: usize) -> Progress {
        let is_shown = total >= SHOW_PROGRESS && io::stderr().is_terminal();
        Progress { words, total, is_shown, filled: None }
    }

    fn show(&mut self, done: usize) {
        let filled = done * BAR_COLUMNS / self.total.max(1);
        if self.is_shown && (self.filled != Some(filled) || done == self.total) {
            self.filled = Some(filled);
            // Progress that cannot be shown is no failure.
            let _shown = write!(io::stderr().lock(), "\r{}", self.line(done));
        }
    }

    fn line(&self, done: usize) -> String {
        let filled = self.filled.unwrap_or_default();
        let ([verb, noun], total) = (self.words, self.total);
        let (bar, rest) = ("█".repeat(filled), "░".repeat(BAR_COLUMNS.saturating_sub(filled)));
        format!("{verb} {bar}{rest} {done} of {total} {noun}")
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.filled.is_some() {
            let _shown = writeln!(io::stderr().lock());
        }
    }
}

fn document(published: &Published) -> Object {
    let mut document = object! {
        "id": published.id.as_str(),
        "version": published.version.as_str(),
        "digest": published.digest.as_str(),
        "new": published.is_new,
        "latest": published.latest.as_deref(),
    };
    if let Some((earlier, report)) = &published.compatibility {
        let mut compatibility = object! {"earlier": earlier.as_str()};
        compatibility.merge(&report.to_json());
        document.push("compatibility", compatibility);
    }
    document
}

fn import_document(report: &ImportReport) -> Object {
    let refusal = |own: &openapi::Refusal| object! {"pointer": own.pointer.as_str(), "reason": own.reason.as_str()};
    object! {
        "format": report.format.as_str(),
        "operations": report.operations,
        "functions": report.functions,
        "refusals": report.refusals.iter().map(refusal).collect::<Vec<_>>(),
        "shortened": report.shortened,
    }
}

fn import_lines(report: &ImportReport) -> String {
    let mut text = format!(
        "OpenAPI {}: {} of {} operations are functions\n",
        report.format, report.functions, report.operations
    );
    let refused = report
        .refusals
        .iter()
        .map(|refusal| format!("  refused {}: {}\n", refusal.pointer, refusal.reason));
    text.extend(refused);
    text
}

fn lines(published: &Published, functions: usize) -> String {
    let Published { id, version, is_new, latest, compatibility, .. } = published;
    let functions = counted(functions, "function", "functions");
    let word = if *is_new { "published" } else { "already there:" };
    let pointer = match latest {
        Some(latest) if latest == version => "latest".to_owned(),
        Some(latest) => format!("latest is {latest}"),
        None => "no latest version".to_owned(),
    };
    let mut text = format!("{word} {id}@{version} ({functions}, {pointer})\n");
    if let Some((earlier, report)) = compatibility {
        text.push_str(&compatibility_lines(earlier, report));
    }
    text
}

/// Describes what changed since an earlier version.
pub(super) fn compatibility_lines(earlier: &str, report: &Compatibility) -> String {
    let mut text = if report.is_breaking() {
        format!("  breaks callers of {earlier}\n")
    } else {
        format!("  compatible with {earlier}, as far as known\n")
    };
    let mut line = |name: &str, what: String| text.extend([format!("  {name}: {what}\n")]);
    for function in &report.functions {
        match &function.change {
            FunctionChange::Added => line(&function.name, "added".to_owned()),
            FunctionChange::Removed => line(&function.name, "removed".to_owned()),
            FunctionChange::Kept { input, output } => {
                for (what, verdict) in [("arguments", input), ("return value", output)] {
                    if *verdict != Verdict::Same {
                        let reason = verdict.reason().map(|reason| format!(" ({reason})"));
                        let reason = reason.unwrap_or_default();
                        line(&function.name, format!("{what} {}{reason}", verdict.word()));
                    }
                }
            }
            _ => {}
        }
    }
    text
}
