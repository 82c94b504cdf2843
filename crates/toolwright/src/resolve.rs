//! Resolves the name of a model: the offline rules, or a model of a provider.

use crate::model::{Model, OFFLINE, UnknownModel};
#[cfg(feature = "upstream")]
use crate::upstream::{self, Environment, ProviderError, providers};

/// Why a model name cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No provider has a model of this name
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// The provider of the model is not configured
    #[cfg(feature = "upstream")]
    #[error(transparent)]
    Upstream(#[from] ProviderError),
}

impl Model {
    /// Finds a model by its name: `provider/model`, such as `offline/rules`.
    ///
    /// With the feature `upstream` also `deepseek/deepseek-chat`, or a bare id such as `gpt-4o`.
    /// The key is read from the environment variable that the vendor's SDK reads.
    pub fn new(name: &str) -> Result<Model, ModelError> {
        match name {
            OFFLINE | "offline" => Ok(Model::offline()),
            #[cfg(feature = "upstream")]
            _ => Model::from_env(name, &upstream::process),
            #[cfg(not(feature = "upstream"))]
            _ => Err(UnknownModel::new(name).into()),
        }
    }

    /// Finds a model of a provider, with keys and addresses from an environment.
    #[cfg(feature = "upstream")]
    pub fn from_env(name: &str, environment: Environment<'_>) -> Result<Model, ModelError> {
        let (provider, model) = providers::resolve(name)?;
        Ok(Model::with_upstream(provider.remote(environment)?, model))
    }
}
