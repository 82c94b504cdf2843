//! The providers that need no configuration: the address of each, the environment variables that hold
//! its key and address, and the models that it has.
//!
//! ```text
//! model name → resolve → Provider → remote(environment) → Remote
//! environment → discover → a Remote for each provider whose key is set
//! ```
//!
//! OpenAI-compatible vendors are presets of the core ([`PRESETS`]); the table here has the others.

mod aws;
mod models;

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use toolwright_dialects::dialect::vendors::{self, PRESETS, VendorPreset};
use toolwright_dialects::dialect::{
    ChatCodec, anthropic, bedrock, cohere, deepseek, gemini, mistral, ollama, openai_chat,
    openai_responses,
};
use toolwright_transport::environment::{self, Environment};
use toolwright_transport::secret::SecretString;

use super::error::ProviderError;
use super::{Credential, Proxy, Remote};

pub use aws::region;
pub use models::{for_model, resolve};

/// A provider of models: its address, its dialect and the environment variables of its key.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Provider {
    /// Its id, which stands before the `/` of a model name
    pub id: &'static str,
    /// The id of its dialect, or of its preset among the vendors
    pub dialect: &'static str,
    /// The codec of its dialect
    pub codec: &'static dyn ChatCodec,
    endpoint: Endpoint,
    /// Variables that override the address; the first that is set counts
    pub addresses: &'static [&'static str],
    /// Ways to authenticate; the first whose variable is set counts
    auth: &'static [Auth],
    /// For a preset: the variable that holds its key
    preset_key: Option<&'static str>,
    /// Whether it accepts requests without a key
    pub keyless: bool,
    /// Variables that are sent as a header, each with the name of the header
    headers: &'static [(&'static str, &'static str)],
}

/// Where a provider is reached.
#[derive(Debug, Clone, Copy)]
enum Endpoint {
    /// A fixed base URL
    Url(&'static str),
    /// The endpoint of an AWS region
    Aws,
}

/// How a provider authenticates requests, and the variable of the key.
#[derive(Debug, Clone, Copy)]
enum Auth {
    /// `Authorization: Bearer`
    Bearer(&'static str),
    /// A header of the vendor, by its name
    Header(&'static str, &'static str),
    /// A signature with the keys of an AWS account
    Aws,
    /// The same, with the keys of an AWS profile
    Profile,
}

const OPENAI: Provider = Provider {
    id: "openai",
    dialect: "openai-chat",
    codec: &openai_chat::CODEC,
    endpoint: Endpoint::Url("https://api.openai.com"),
    addresses: &["OPENAI_BASE_URL"],
    auth: &[Auth::Bearer("OPENAI_API_KEY")],
    preset_key: None,
    keyless: false,
    headers: &[("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")],
};

/// The providers that are no preset. The variables are those of the vendors' own SDKs, in their order.
static BUILT_IN: [Provider; 9] = [
    OPENAI,
    Provider {
        id: "openai-responses",
        dialect: "openai-responses",
        codec: &openai_responses::OpenaiResponses,
        ..OPENAI
    },
    Provider {
        id: "anthropic",
        dialect: "anthropic",
        codec: &anthropic::Anthropic,
        endpoint: Endpoint::Url("https://api.anthropic.com"),
        addresses: &["ANTHROPIC_BASE_URL"],
        auth: &[
            Auth::Header("x-api-key", "ANTHROPIC_API_KEY"),
            Auth::Bearer("ANTHROPIC_AUTH_TOKEN"),
        ],
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "bedrock",
        dialect: "bedrock",
        codec: &bedrock::Bedrock,
        endpoint: Endpoint::Aws,
        addresses: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        // The bearer key takes precedence over account keys, as in botocore
        // (`docs/dialects/bedrock.md#where-it-is-spoken`).
        auth: &[Auth::Bearer("AWS_BEARER_TOKEN_BEDROCK"), Auth::Aws, Auth::Profile],
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "gemini",
        dialect: "gemini",
        codec: &gemini::Gemini,
        endpoint: Endpoint::Url("https://generativelanguage.googleapis.com"),
        addresses: &["GOOGLE_GEMINI_BASE_URL"],
        auth: &[
            Auth::Header("x-goog-api-key", "GOOGLE_API_KEY"),
            Auth::Header("x-goog-api-key", "GEMINI_API_KEY"),
        ],
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "deepseek",
        dialect: "deepseek",
        codec: &deepseek::CODEC,
        endpoint: Endpoint::Url("https://api.deepseek.com"),
        addresses: &[],
        auth: &[Auth::Bearer("DEEPSEEK_API_KEY")],
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "ollama",
        dialect: "ollama",
        codec: &ollama::Ollama,
        endpoint: Endpoint::Url("http://127.0.0.1:11434"),
        addresses: &["OLLAMA_HOST"],
        auth: &[Auth::Bearer("OLLAMA_API_KEY")],
        keyless: true,
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "mistral",
        dialect: "mistral",
        codec: &mistral::Mistral,
        endpoint: Endpoint::Url("https://api.mistral.ai"),
        addresses: &[],
        auth: &[Auth::Bearer("MISTRAL_API_KEY")],
        headers: &[],
        ..OPENAI
    },
    Provider {
        id: "cohere",
        dialect: "cohere",
        codec: &cohere::Cohere,
        endpoint: Endpoint::Url("https://api.cohere.com"),
        addresses: &["CO_API_URL"],
        auth: &[Auth::Bearer("CO_API_KEY"), Auth::Bearer("COHERE_API_KEY")],
        headers: &[],
        ..OPENAI
    },
];

/// All providers.
pub fn all() -> impl Iterator<Item = Provider> {
    BUILT_IN.iter().copied().chain(PRESETS.iter().filter_map(from_preset))
}

/// The provider of a vendor preset; none if the preset has no default address.
fn from_preset(vendor: &'static VendorPreset) -> Option<Provider> {
    Some(Provider {
        id: vendor.id,
        dialect: vendor.id,
        codec: &vendor.codec,
        endpoint: Endpoint::Url(vendor.base_url?),
        addresses: &[],
        auth: &[],
        preset_key: vendor.key_env,
        keyless: vendor.key_env.is_none(),
        headers: &[],
    })
}

/// Finds a provider by its id.
pub fn find(id: &str) -> Option<Provider> {
    let built_in = BUILT_IN.iter().copied().find(|provider| provider.id == id);
    built_in.or_else(|| vendors::find(id).and_then(from_preset))
}

/// Finds the first provider of a dialect or of a vendor preset. Its address and authentication are the
/// defaults of that dialect.
pub fn for_dialect(id: &str) -> Option<Provider> {
    BUILT_IN.iter().copied().find(|provider| provider.dialect == id).or_else(|| find(id))
}

/// Creates a remote for every provider whose key is in the environment, and for each that needs no key
/// if its address is. An invalid address or key is an error.
pub fn discover(environment: Environment<'_>) -> Result<Vec<Remote>, ProviderError> {
    let configured = all().filter(|provider| provider.is_configured(environment));
    configured.map(|provider| provider.remote(environment)).collect()
}

impl Provider {
    /// The credential for a key of this provider.
    pub fn credential(&self, key: SecretString) -> Credential {
        match self.auth.first() {
            Some(Auth::Header(name, _)) => Credential::Header(HeaderName::from_static(name), key),
            _ => Credential::Bearer(key),
        }
    }

    /// The default base URL; AWS has one for each region.
    pub fn base_url(&self, region: Option<&str>) -> Result<String, ProviderError> {
        match (self.endpoint, region) {
            (Endpoint::Url(address), _) => Ok(address.to_owned()),
            (Endpoint::Aws, Some(region)) if aws::is_region(region) => {
                // China's regions are a partition of their own.
                let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
                Ok(format!("https://bedrock-runtime.{region}.amazonaws.com{suffix}"))
            }
            (Endpoint::Aws, Some(_)) => Err(ProviderError::Region),
            (Endpoint::Aws, None) => Err(ProviderError::NoRegion),
        }
    }

    /// The base URL: the value of a variable, or else the default.
    pub fn address(&self, environment: Environment<'_>) -> Result<String, ProviderError> {
        match environment::first(self.addresses, environment) {
            Some((_, address)) => Ok(address),
            None => self.base_url(region(environment).as_deref()),
        }
    }

    /// Creates a remote with the key and the address of an environment.
    pub fn remote(&self, environment: Environment<'_>) -> Result<Remote, ProviderError> {
        self.remote_as(self.id, environment)
    }

    /// Creates a remote with an id other than the provider's.
    pub fn remote_as(
        &self,
        id: impl Into<Arc<str>>,
        environment: Environment<'_>,
    ) -> Result<Remote, ProviderError> {
        let credential = match self.credential_from_env(environment)? {
            Some(credential) => credential,
            None if self.keyless => Credential::None,
            None => return Err(ProviderError::NoKey { id: self.id, variables: self.variables() }),
        };
        let base_url = self.address(environment)?;
        let remote = Remote::new(id, self.codec, &base_url, credential);
        let mut remote =
            remote.map_err(|source| match environment::first(self.addresses, environment) {
                Some((variable, _)) => ProviderError::Variable { variable, source },
                None => ProviderError::Remote(source),
            })?;
        remote = remote.with_proxy(&Proxy::from_env(environment)?);
        for (variable, header) in self.headers {
            if let Some(value) = environment::get(environment, variable) {
                let invalid = |source| ProviderError::Variable { variable, source };
                remote = remote.with_header(header, &value).map_err(invalid)?;
            }
        }
        Ok(remote)
    }

    /// Whether an environment has all that a remote needs.
    pub fn is_configured(&self, environment: Environment<'_>) -> bool {
        let has_address = environment::first(self.addresses, environment).is_some();
        let has_endpoint = matches!(self.endpoint, Endpoint::Url(_)) || has_address;
        match self.credential_from_env(environment) {
            Ok(Some(_)) => has_endpoint || region(environment).is_some(),
            Ok(None) => self.keyless && has_address,
            Err(_) => false,
        }
    }

    /// The credential of an environment.
    fn credential_from_env(
        &self,
        environment: Environment<'_>,
    ) -> Result<Option<Credential>, ProviderError> {
        let preset = self.preset_key.map(Auth::Bearer);
        for method in self.auth.iter().copied().chain(preset) {
            let credential = match method {
                Auth::Bearer(name) => {
                    environment::secret(environment, name).map(Credential::Bearer)
                }
                Auth::Header(header, name) => environment::secret(environment, name)
                    .map(|key| Credential::Header(HeaderName::from_static(header), key)),
                Auth::Aws => aws::keys(environment)?.map(Credential::SigV4),
                Auth::Profile => aws::profile(environment)?.map(Credential::Profile),
            };
            if credential.is_some() {
                return Ok(credential);
            }
        }
        Ok(None)
    }

    /// Says how to configure the provider.
    pub fn setup_hint(&self) -> String {
        let address = self.addresses.first().map(|name| format!("set {name}"));
        match address {
            Some(hint) if self.keyless => hint,
            _ if self.keyless => "name it in the configuration".to_owned(),
            _ => format!("set {}", self.variables()),
        }
    }

    /// The variables that may hold a key, as text.
    pub fn variables(&self) -> String {
        let preset = self.preset_key.map(Auth::Bearer);
        let names = self.auth.iter().copied().chain(preset).map(|method| match method {
            Auth::Bearer(name) | Auth::Header(_, name) => name.to_owned(),
            Auth::Aws => format!("{} and {}", aws::ACCESS_KEY, aws::SECRET_KEY),
            Auth::Profile => "AWS_PROFILE".to_owned(),
        });
        names.collect::<Vec<_>>().join(", or ")
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Provider").field(&self.id).finish()
    }
}
