//! What a server says about itself.

use toolwright_core::Json;
use toolwright_dialects::dialect::mcp::Era;
use toolwright_json::Object;

use crate::protocol::{LATEST, meta};

/// What a server says about itself. Nothing of it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// The version of the protocol that is spoken with it
    pub version: String,
    /// Its capabilities
    pub capabilities: Object,
    /// Its name and version
    pub implementation: Object,
    /// How to use it, for models
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Reads the result of `server/discover`.
    pub(super) fn discovered(result: &Object) -> ServerInfo {
        let own = result.get(meta::META).and_then(|own| own.get(meta::SERVER));
        ServerInfo::new(LATEST, own, result)
    }

    /// Reads the result of `initialize`.
    pub(super) fn initialized(result: &Object) -> ServerInfo {
        let version = result.get("protocolVersion").and_then(Json::as_str).unwrap_or_default();
        ServerInfo::new(version, result.get("serverInfo"), result)
    }

    fn new(version: &str, implementation: Option<&Json>, result: &Object) -> ServerInfo {
        let object = |value: Option<&Json>| value.and_then(Json::as_object).cloned();
        ServerInfo {
            version: version.to_owned(),
            capabilities: object(result.get("capabilities")).unwrap_or_default(),
            implementation: object(implementation).unwrap_or_default(),
            instructions: result.get("instructions").and_then(Json::as_str).map(str::to_owned),
        }
    }

    /// The era of the version that is spoken.
    pub fn era(&self) -> Era {
        Era::of(&self.version)
    }

    /// Whether the server has a capability.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.contains_key(capability)
    }

    /// Whether the server announces changes of its `tools`, `prompts` or `resources`.
    pub fn announces_changes(&self, capability: &str) -> bool {
        self.has_option(capability, "listChanged")
    }

    /// Whether the server announces updates of single resources.
    pub fn announces_updates(&self) -> bool {
        self.has_option("resources", "subscribe")
    }

    fn has_option(&self, capability: &str, option: &str) -> bool {
        let capability = self.capabilities.get(capability);
        capability.and_then(|own| own.get(option)).and_then(Json::as_bool) == Some(true)
    }
}
