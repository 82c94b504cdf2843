//! Model Context Protocol: definitions, calls and results of tools, in both eras.
//!
//! A definition is an element of `tools/list`, a call the parameters of `tools/call`, an outcome its
//! result. JSON-RPC around them, sessions and headers belong to the transport.

mod call;
mod tool;
mod wire;

use toolwright_core::profile::Profile;
use toolwright_core::{Dialect, Part, Tool};
use toolwright_json::{Json, Path};

use crate::codec::{Result, Target, ToolCodec};

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mcp {
    /// The era whose rules are used for writing; both are read if they do not contradict each other
    pub era: Era,
}

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` and a session; structured results and their schemas are
    /// objects
    Handshake,
    /// Since 2026-07-28: stateless requests; structured results are any JSON, and a result has a
    /// type
    #[default]
    Stateless,
}

impl Era {
    /// Returns the era of a protocol version.
    pub fn of(version: &str) -> Era {
        // Versions are dates, so they compare as text.
        if version < wire::STATELESS_SINCE { Era::Handshake } else { Era::Stateless }
    }
}

impl ToolCodec for Mcp {
    fn dialect(&self) -> Dialect {
        Dialect::Mcp
    }

    fn profile(&self, target: &Target<'_>) -> Profile {
        wire::profile(target.version.map_or(self.era, Era::of))
    }

    fn field_paths(&self) -> &'static [(&'static str, &'static str)] {
        wire::FIELD_PATHS
    }

    fn encode_tool(&self, tool: &Tool) -> Json {
        tool::encode(tool, self.era)
    }

    fn decode_tool(&self, wire: Json) -> Result<Tool> {
        tool::decode(wire, Path::ROOT, self.era)
    }

    fn encode_call(&self, part: &Part) -> Json {
        call::encode(part).unwrap_or_default()
    }

    fn decode_call(&self, wire: Json) -> Result<Part> {
        call::decode(wire, Path::ROOT)
    }

    fn encode_outcome(&self, part: &Part) -> Json {
        call::encode_outcome(part, self.era).unwrap_or_default()
    }

    fn decode_outcome(&self, wire: Json) -> Result<Part> {
        call::decode_outcome(wire, Path::ROOT, self.era)
    }
}
