//! Resolves the name of a model: a model of a provider, or the offline rules.

use crate::model::{Model, UnknownModel};
#[cfg(feature = "offline")]
use crate::offline::OFFLINE;
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
    /// Finds a model by its name.
    ///
    /// With the feature `upstream`, this is `provider/model`, such as `deepseek/deepseek-chat`, or a bare
    /// id such as `gpt-4o`. The key is read from the environment variable that the vendor's SDK reads.
    /// With the feature `offline`, it may be `offline/rules`.
    pub fn new(name: &str) -> Result<Model, ModelError> {
        match name {
            #[cfg(feature = "offline")]
            OFFLINE | "offline" => Ok(Model::offline()),
            #[cfg(feature = "upstream")]
            _ => Model::from_env(name, &upstream::process),
            #[cfg(not(feature = "upstream"))]
            _ => Err(with_local(UnknownModel::new(name)).into()),
        }
    }

    /// Finds a model of a provider, with keys and addresses from an environment.
    #[cfg(feature = "upstream")]
    pub fn from_env(name: &str, environment: Environment<'_>) -> Result<Model, ModelError> {
        let (provider, model) = providers::resolve(name).map_err(with_local)?;
        Ok(Model::with_upstream(provider.remote(environment)?, model))
    }
}

/// Adds the name of the offline rules.
#[cfg(feature = "offline")]
fn with_local(error: UnknownModel) -> UnknownModel {
    error.with_local(OFFLINE)
}

/// There is no model that needs neither key nor network.
#[cfg(not(feature = "offline"))]
fn with_local(error: UnknownModel) -> UnknownModel {
    error
}
