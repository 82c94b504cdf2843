//! Resolves the name of a model: the offline rules, or a model of a known provider.

use crate::model::{Model, OFFLINE, UnknownModel};
#[cfg(feature = "upstream")]
use crate::upstream::{self, Environment, KnownError, providers};

/// Why a name gives no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No known provider has a model of this name
    #[error(transparent)]
    Unknown(#[from] UnknownModel),
    /// The provider of the model is not set up
    #[cfg(feature = "upstream")]
    #[error(transparent)]
    Upstream(#[from] KnownError),
}

impl Model {
    /// Finds a model by its name: `provider/model`, such as `offline/rules`.
    ///
    /// With the feature `upstream` also `deepseek/deepseek-chat`, or a bare id such as `gpt-4o`. The
    /// key is read from the environment variable that the vendor's own SDK reads.
    pub fn new(name: &str) -> Result<Model, ModelError> {
        match name {
            OFFLINE | "offline" => Ok(Model::offline()),
            #[cfg(feature = "upstream")]
            _ => Model::found(name, &upstream::process),
            #[cfg(not(feature = "upstream"))]
            _ => Err(UnknownModel::new(name).into()),
        }
    }

    /// Finds a model of a known provider, with keys and addresses from an environment.
    #[cfg(feature = "upstream")]
    pub fn found(name: &str, environment: Environment<'_>) -> Result<Model, ModelError> {
        let (known, model) = providers::resolve(name)?;
        Ok(Model::at(known.remote(environment)?, model))
    }
}
