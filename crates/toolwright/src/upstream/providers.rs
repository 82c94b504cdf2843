//! Upstreams that everybody knows: where each is, which variables hold its key and address, and
//! which models are its own.
//!
//! ```text
//! name → resolve → Known → remote(environment) → Remote
//! environment → discover → every Remote whose key is there
//! ```
//!
//! OpenAI-compatible vendors are presets of the core ([`PRESETS`]); the table here has the others. The
//! environment is a parameter, so that nothing depends on the process but [`process`].

mod aws;
mod models;

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use toolwright_core::dialect::vendors::{self, PRESETS, VendorPreset};
use toolwright_core::dialect::{
    ChatCodec, anthropic, bedrock, cohere, deepseek, gemini, mistral, ollama, openai_chat,
    openai_responses,
};

use super::environment::{self, Environment};
use super::error::KnownError;
use super::{Credential, Proxy, Remote};
use crate::secret::SecretString;

pub use aws::region;
pub use models::{of_model, resolve};

/// An upstream that everybody knows.
#[derive(Clone, Copy)]
pub struct Known {
    /// Its id, before the `/` of a model's name
    pub id: &'static str,
    /// The id of its dialect, or of its row among the vendors
    pub dialect: &'static str,
    /// How it speaks
    pub codec: &'static dyn ChatCodec,
    place: Place,
    /// Variables that hold another address, the first one that is set counts
    pub addresses: &'static [&'static str],
    /// Ways to show who asks, the first one whose variable is set counts
    ways: &'static [Way],
    /// Of a row: the variable that holds its key
    row_key: Option<&'static str>,
    /// Whether it answers without a key
    pub keyless: bool,
    /// Variables that are sent as a header
    headers: &'static [(&'static str, &'static str)],
}

/// Where an upstream is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// At one address
    At(&'static str),
    /// At AWS, in a region
    Aws,
}

/// How an upstream is shown who asks, by which variable.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// `Authorization: Bearer`
    Bearer(&'static str),
    /// A header of its own
    Header(&'static str, &'static str),
    /// A signature with the keys of an AWS account
    Aws,
    /// The same, with the keys in AWS's files
    Profile,
}

const OPENAI: Known = Known {
    id: "openai",
    dialect: "openai-chat",
    codec: &openai_chat::CODEC,
    place: Place::At("https://api.openai.com"),
    addresses: &["OPENAI_BASE_URL"],
    ways: &[Way::Bearer("OPENAI_API_KEY")],
    row_key: None,
    keyless: false,
    headers: &[("OPENAI_ORG_ID", "openai-organization"), ("OPENAI_PROJECT_ID", "openai-project")],
};

/// Those that are no row. The variables are those of the vendors' own SDKs, in their order.
static OWN: [Known; 9] = [
    OPENAI,
    Known {
        id: "openai-responses",
        dialect: "openai-responses",
        codec: &openai_responses::OpenaiResponses,
        ..OPENAI
    },
    Known {
        id: "anthropic",
        dialect: "anthropic",
        codec: &anthropic::Anthropic,
        place: Place::At("https://api.anthropic.com"),
        addresses: &["ANTHROPIC_BASE_URL"],
        ways: &[Way::Header("x-api-key", "ANTHROPIC_API_KEY"), Way::Bearer("ANTHROPIC_AUTH_TOKEN")],
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "bedrock",
        dialect: "bedrock",
        codec: &bedrock::Bedrock,
        place: Place::Aws,
        addresses: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        // The bearer key takes precedence over account keys, as in botocore
        // (`docs/dialects/bedrock.md#where-it-is-spoken`).
        ways: &[Way::Bearer("AWS_BEARER_TOKEN_BEDROCK"), Way::Aws, Way::Profile],
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "gemini",
        dialect: "gemini",
        codec: &gemini::Gemini,
        place: Place::At("https://generativelanguage.googleapis.com"),
        addresses: &["GOOGLE_GEMINI_BASE_URL"],
        ways: &[
            Way::Header("x-goog-api-key", "GOOGLE_API_KEY"),
            Way::Header("x-goog-api-key", "GEMINI_API_KEY"),
        ],
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "deepseek",
        dialect: "deepseek",
        codec: &deepseek::CODEC,
        place: Place::At("https://api.deepseek.com"),
        addresses: &[],
        ways: &[Way::Bearer("DEEPSEEK_API_KEY")],
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "ollama",
        dialect: "ollama",
        codec: &ollama::Ollama,
        place: Place::At("http://127.0.0.1:11434"),
        addresses: &["OLLAMA_HOST"],
        ways: &[Way::Bearer("OLLAMA_API_KEY")],
        keyless: true,
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "mistral",
        dialect: "mistral",
        codec: &mistral::Mistral,
        place: Place::At("https://api.mistral.ai"),
        addresses: &[],
        ways: &[Way::Bearer("MISTRAL_API_KEY")],
        headers: &[],
        ..OPENAI
    },
    Known {
        id: "cohere",
        dialect: "cohere",
        codec: &cohere::Cohere,
        place: Place::At("https://api.cohere.com"),
        addresses: &["CO_API_URL"],
        ways: &[Way::Bearer("CO_API_KEY"), Way::Bearer("COHERE_API_KEY")],
        headers: &[],
        ..OPENAI
    },
];

/// All of them.
pub fn all() -> impl Iterator<Item = Known> {
    OWN.iter().copied().chain(PRESETS.iter().filter_map(of_preset))
}

/// A vendor's row, unless everybody has it at another address.
fn of_preset(vendor: &'static VendorPreset) -> Option<Known> {
    Some(Known {
        id: vendor.id,
        dialect: vendor.id,
        codec: &vendor.codec,
        place: Place::At(vendor.base_url?),
        addresses: &[],
        ways: &[],
        row_key: vendor.key_env,
        keyless: vendor.key_env.is_none(),
        headers: &[],
    })
}

/// One by its id.
pub fn find(id: &str) -> Option<Known> {
    let own = OWN.iter().copied().find(|known| known.id == id);
    own.or_else(|| vendors::find(id).and_then(of_preset))
}

/// The first one that speaks a dialect, or a vendor's row: its address and its way with keys are
/// the usual ones for that dialect.
pub fn of_dialect(id: &str) -> Option<Known> {
    OWN.iter().copied().find(|known| known.dialect == id).or_else(|| find(id))
}

/// Every upstream whose key is in the environment; of those that need none, the ones whose address
/// is. An address or a key that cannot do is an error: whoever set it wants to know.
pub fn discover(environment: Environment<'_>) -> Result<Vec<Remote>, KnownError> {
    let there = all().filter(|known| known.is_there(environment));
    there.map(|known| known.remote(environment)).collect()
}

impl Known {
    /// The credential that a key makes here.
    pub fn credential(&self, key: SecretString) -> Credential {
        match self.ways.first() {
            Some(Way::Header(name, _)) => Credential::Header(HeaderName::from_static(name), key),
            _ => Credential::Bearer(key),
        }
    }

    /// Its usual address; AWS has one for each region.
    pub fn base_url(&self, region: Option<&str>) -> Result<String, KnownError> {
        match (self.place, region) {
            (Place::At(address), _) => Ok(address.to_owned()),
            (Place::Aws, Some(region)) if aws::is_region(region) => {
                // China's regions are a partition of their own.
                let tail = if region.starts_with("cn-") { ".cn" } else { "" };
                Ok(format!("https://bedrock-runtime.{region}.amazonaws.com{tail}"))
            }
            (Place::Aws, Some(_)) => Err(KnownError::Region),
            (Place::Aws, None) => Err(KnownError::NoRegion),
        }
    }

    /// Where it is: as a variable says, or else at its usual address.
    pub fn address(&self, environment: Environment<'_>) -> Result<String, KnownError> {
        match environment::first(self.addresses, environment) {
            Some((_, address)) => Ok(address),
            None => self.base_url(region(environment).as_deref()),
        }
    }

    /// The upstream, by what the environment says of it.
    pub fn remote(&self, environment: Environment<'_>) -> Result<Remote, KnownError> {
        self.remote_as(self.id, environment)
    }

    /// The upstream, under another id.
    pub fn remote_as(
        &self,
        id: impl Into<Arc<str>>,
        environment: Environment<'_>,
    ) -> Result<Remote, KnownError> {
        let credential = match self.shown(environment)? {
            Some(credential) => credential,
            None if self.keyless => Credential::None,
            None => return Err(KnownError::NoKey { id: self.id, variables: self.variables() }),
        };
        let base_url = self.address(environment)?;
        let remote = Remote::new(id, self.codec, &base_url, credential);
        let mut remote =
            remote.map_err(|source| match environment::first(self.addresses, environment) {
                Some((variable, _)) => KnownError::Variable { variable, source },
                None => KnownError::Remote(source),
            })?;
        remote = remote.with_proxy(&Proxy::of_environment(environment)?);
        for (variable, header) in self.headers {
            if let Some(value) = environment::get(environment, variable) {
                let wrong = |source| KnownError::Variable { variable, source };
                remote = remote.with_header(header, &value).map_err(wrong)?;
            }
        }
        Ok(remote)
    }

    /// Whether the environment says enough of it.
    pub fn is_there(&self, environment: Environment<'_>) -> bool {
        let addressed = environment::first(self.addresses, environment).is_some();
        let placed = matches!(self.place, Place::At(_)) || addressed;
        match self.shown(environment) {
            Ok(Some(_)) => placed || region(environment).is_some(),
            Ok(None) => self.keyless && addressed,
            Err(_) => false,
        }
    }

    /// What the environment has to show.
    fn shown(&self, environment: Environment<'_>) -> Result<Option<Credential>, KnownError> {
        let row = self.row_key.map(Way::Bearer);
        for way in self.ways.iter().copied().chain(row) {
            let shown = match way {
                Way::Bearer(name) => environment::secret(environment, name).map(Credential::Bearer),
                Way::Header(header, name) => environment::secret(environment, name)
                    .map(|key| Credential::Header(HeaderName::from_static(header), key)),
                Way::Aws => aws::keys(environment)?.map(Credential::SigV4),
                Way::Profile => aws::profile(environment)?.map(Credential::Profile),
            };
            if shown.is_some() {
                return Ok(shown);
            }
        }
        Ok(None)
    }

    /// What to do so that it is there, in words.
    pub fn advice(&self) -> String {
        let address = self.addresses.first().map(|name| format!("set {name}"));
        match address {
            Some(advice) if self.keyless => advice,
            _ if self.keyless => "name it in the configuration".to_owned(),
            _ => format!("set {}", self.variables()),
        }
    }

    /// The variables that a key may be in, in words.
    pub fn variables(&self) -> String {
        let row = self.row_key.map(Way::Bearer);
        let names = self.ways.iter().copied().chain(row).map(|way| match way {
            Way::Bearer(name) | Way::Header(_, name) => name.to_owned(),
            Way::Aws => format!("{} and {}", aws::ACCESS_KEY, aws::SECRET_KEY),
            Way::Profile => "AWS_PROFILE".to_owned(),
        });
        names.collect::<Vec<_>>().join(", or ")
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Known").field(&self.id).finish()
    }
}
