//! The configuration and the data folder of a command. Every command that uses one of them has these options.

use std::path::PathBuf;

use clap::Args;

use toolwright_gateway::Config;
use toolwright_gateway::config::ConfigError;
use toolwright_gateway::plans::config::TemporalServer;

/// Arguments that select the configuration and the data folder.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigOptions {
    /// Read this configuration [default: toolwright.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true, display_order = 100)]
    pub(crate) config: Option<PathBuf>,
    /// Use this data folder [default: `data` of the configuration, or .toolwright]
    #[arg(long, value_name = "DIR", global = true, display_order = 100)]
    pub(crate) data: Option<PathBuf>,
}

impl ConfigOptions {
    /// Loads the configuration.
    pub(crate) fn load(&self) -> Result<Config, ConfigError> {
        let mut config = Config::load(self.config.as_deref(), &environment)?;
        if let Some(data) = &self.data {
            config.data.clone_from(data);
        }
        Ok(config)
    }

    /// Returns the Temporal server. The rest of the configuration is not read.
    pub(crate) fn temporal(&self) -> Result<Option<TemporalServer>, ConfigError> {
        Config::load_temporal(self.config.as_deref())
    }

    /// Returns the data folder. The rest of the configuration is not read, so its secrets need not be set.
    pub(crate) fn data(&self) -> Result<PathBuf, ConfigError> {
        match &self.data {
            Some(data) => Ok(data.clone()),
            None => Config::load_data(self.config.as_deref()),
        }
    }
}

/// Looks up an environment variable.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
