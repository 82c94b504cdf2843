//! Definitions of tools that were approved, and the digests that tell them from others.

use std::collections::HashSet;

use toolwright_core::Json;

use toolwright_json::canonical;

/// The definitions of a server's tools that were approved.
pub trait DefinitionPins: Send + Sync + 'static {
    /// Returns the names of the tools whose definitions have changed since they were approved. The definitions are
    /// those of a listing: names with [digests](definition_digest).
    fn changed(&self, definitions: &[(String, String)]) -> HashSet<String>;

    /// Whether tools with changed definitions are left out.
    fn blocks(&self) -> bool;

    /// Whether a tool is blocked: its definition had changed when it was last listed. A listing without it does not
    /// unblock it.
    fn is_blocked(&self, tool: &str) -> bool;
}

/// Returns the BLAKE3 digest of a tool's definition as a server sent it, without `_meta`, in hexadecimal digits. The
/// order of members does not matter.
pub fn definition_digest(definition: &Json) -> String {
    let mut definition = definition.as_object().cloned().unwrap_or_default();
    definition.remove("_meta");
    blake3::hash(canonical(&definition).as_bytes()).to_hex().to_string()
}
