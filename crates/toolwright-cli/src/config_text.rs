//! Adds tables to the configuration file, which keeps its comments and its order.

use std::io;
use std::path::{Path, PathBuf};

use toolwright_gateway::Config;
use toolwright_gateway::config::{self, ConfigError};
use toolwright_gateway::gateway::config::FILE;

use super::config::{ConfigOptions, environment};
use super::exit::{self, Result};

/// The configuration file.
pub(crate) struct ConfigText {
    pub(crate) path: PathBuf,
    data: Option<PathBuf>,
    text: String,
    pub(crate) config: Config,
}

impl ConfigText {
    /// Reads the file of a command, which need not exist.
    pub(crate) fn open(options: ConfigOptions) -> Result<ConfigText> {
        let ConfigOptions { config, data } = options;
        let path = config.unwrap_or_else(|| PathBuf::from(FILE));
        // The file itself is replaced, and not a link to it.
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text.map_err(exit::io(&path.display().to_string()))?,
        };
        let config = parse(&text, &path, data.as_deref())?;
        Ok(ConfigText { path, data, text, config })
    }

    /// Returns the file with a further table. It is not written yet.
    pub(crate) fn with_table(&self, table: &str) -> Result<ConfigText, ConfigError> {
        let mut text = self.text.clone();
        if !text.is_empty() {
            text += if text.ends_with('\n') { "\n" } else { "\n\n" };
        }
        text += &if text.contains("\r\n") { table.replace('\n', "\r\n") } else { table.to_owned() };
        let config = parse(&text, &self.path, self.data.as_deref())?;
        Ok(ConfigText { path: self.path.clone(), data: self.data.clone(), text, config })
    }

    /// Replaces the file by a new one with the same permissions, so that a reader sees the old text or the new one.
    pub(crate) fn write(&self) -> Result<(), String> {
        let temporary = self.path.with_extension("toml.new");
        let written = std::fs::write(&temporary, &self.text).and_then(|()| {
            if let Ok(known) = std::fs::metadata(&self.path) {
                std::fs::set_permissions(&temporary, known.permissions())?;
            }
            std::fs::rename(&temporary, &self.path)
        });
        written.map_err(|error| {
            drop(std::fs::remove_file(&temporary));
            format!("{}: {error}", self.path.display())
        })
    }
}

/// Writes a list of texts.
pub(crate) fn list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<String> = words.into_iter().map(config::name::text).collect();
    format!("[{}]", words.join(", "))
}

fn parse(text: &str, path: &Path, data: Option<&Path>) -> Result<Config, ConfigError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut config =
        Config::parse(text, folder, &environment).map_err(|error| error.with_file(path))?;
    if let Some(data) = data {
        data.clone_into(&mut config.data);
    }
    Ok(config)
}
