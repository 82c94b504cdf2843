//! Names of the protocol, and its profile in each era, from the types of the SDK
//! (`docs/dialects/mcp.md`). MCP has no conversations, so their rules are disabled.

use toolwright_core::Dialect;
use toolwright_core::part::MediaKind::{Audio, Image};
use toolwright_core::profile::{
    Charset, ContentRule, IdRule, JsonRule, LateSystem, MediaRule, NameRule, OutcomeRule, Profile,
    ReplyRule, SamplingRule, SystemRule, ToolRule,
};

use super::Era;

/// The dialect of this module.
pub(super) const DIALECT: Dialect = Dialect::Mcp;

/// The first version without a handshake.
pub(super) const STATELESS_SINCE: &str = "2026-07-28";

/// Returns the rules of an era.
pub(super) fn profile(era: Era) -> Profile {
    Profile {
        names: NameRule { charset: Charset::WordDot, letter_first: false, max: 128 },
        ids: IdRule { min: 0, prefix: "", ..IdRule::ANY },
        tools: ToolRule {
            output: true,
            annotations: true,
            parameters_required: true,
            ..ToolRule::PLAIN
        },
        system: SystemRule { late: LateSystem::Never, ..SystemRule::PLAIN },
        content: ContentRule { arguments_object: true, ..ContentRule::PLAIN },
        outcome: OutcomeRule {
            media: MediaRule { base64: &[Image, Audio], ..MediaRule::NONE },
            json: match era {
                Era::Handshake => JsonRule::Objects,
                Era::Stateless => JsonRule::Any,
            },
            error_flag: true,
            success_flag: true,
            ..OutcomeRule::TEXT
        },
        sampling: SamplingRule {
            temperature: false,
            top_p: false,
            stop: false,
            ..SamplingRule::PLAIN
        },
        reply: ReplyRule { id: false, model: false, stops: &[], ..ReplyRule::PLAIN },
        ..Profile::plain(DIALECT)
    }
}

/// The paths of canonical fields.
pub(super) const FIELD_PATHS: &[(&str, &str)] = &[
    ("parameters", "inputSchema"),
    ("output", "outputSchema"),
    ("call_id", "id"),
    ("error", "isError"),
];
