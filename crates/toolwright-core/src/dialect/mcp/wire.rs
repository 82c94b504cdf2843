//! Words of the protocol, and what it can say of tools in each era, with the evidence in the wire
//! facts §10. It has no conversations, so every rule about them says no.

use super::Era;
use crate::dialect::Dialect;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Audio, Image};

/// Whose words these are.
pub(super) const DIALECT: Dialect = Dialect::Mcp;

/// The first version without a handshake.
pub(super) const STATELESS_SINCE: &str = "2026-07-28";

/// The rules of an era.
pub(super) fn profile(era: Era) -> Profile {
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::WordDot, letter_first: false, max: 128 },
        ids: IdRule { charset: Charset::Any, min: 0, max: usize::MAX, required: false, prefix: "" },
        tools: ToolRule {
            custom: false,
            strict: Strictness::None,
            cache: false,
            output: true,
            examples: false,
            annotations: true,
            max: None,
            max_description: None,
            parameters_required: true,
            required_by_history: false,
        },
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::Full,
            root_union: true,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: false,
            none: false,
            required: false,
            tool: false,
            allowed_auto: false,
            allowed_required: false,
            allowed_one: false,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: false,
        system: SystemRule { in_conversation: false, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::None,
            assistant_after_outcomes: false,
            ordered: false,
            single_text: false,
        },
        content: ContentRule {
            media: MediaRule::NONE,
            cache: false,
            cache_on_calls: false,
            cache_ttl: false,
            refusal: false,
            arguments_object: true,
            arguments_free: false,
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MediaRule { base64: &[Image, Audio], ..MediaRule::NONE },
            json: match era {
                Era::Handshake => JsonRule::Objects,
                Era::Stateless => JsonRule::Any,
            },
            error_flag: true,
            success_flag: true,
            name: false,
            cache: false,
            many_texts: true,
            empty: true,
        },
        reasoning: ReasoningRule {
            replay: false,
            signed_only: false,
            must_echo: false,
            signature: false,
            signature_on_parts: false,
            redacted: false,
            sections: false,
            positioned: false,
            stand_in: None,
        },
        sampling: SamplingRule {
            default_max_tokens: None,
            temperature: false,
            max_temperature: None,
            top_p: false,
            top_k: false,
            stop: false,
            seed: false,
        },
        thinking: ThinkingRule {
            switch: false,
            effort: false,
            budget: false,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: false, schema: false, text: false, named: false },
        reply: ReplyRule {
            id: false,
            model: false,
            stops: &[],
            stop_sequence: false,
            stop_details: false,
            reasoning: false,
            cache_read: false,
            cache_write: false,
            reasoning_tokens: false,
            usage: false,
            counts_required: false,
        },
    }
}

/// Where canonical fields stand on the wire.
pub(super) const SPELLING: &[(&str, &str)] = &[
    ("parameters", "inputSchema"),
    ("output", "outputSchema"),
    ("call_id", "id"),
    ("error", "isError"),
];
