//! What Anthropic accepts, by API version, with the evidence for each oddity in the wire facts §3.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Document, Image};
use crate::response::StopReason;

/// The version that refuses `temperature`, `top_p` and `top_k`.
const NO_SAMPLING_SINCE: &str = "2026-10-21";

/// What to ask for when the client set no limit: `max_tokens` is required here.
const DEFAULT_MAX_TOKENS: u64 = 4096;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document],
    url: &[Image, Document],
    text_document: true,
    file: true,
    name: true,
    url_mime: false,
};

/// The rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    // Versions are dates, so they compare as text.
    let sampling = target.version.is_none_or(|version| version < NO_SAMPLING_SINCE);
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Word, letter_first: false, max: 64 },
        ids: IdRule { charset: Charset::Word, min: 1, max: 256, required: true, prefix: "toolu_" },
        tools: ToolRule {
            custom: false,
            strict: Strictness::PerTool,
            cache: true,
            output: false,
            examples: true,
            annotations: false,
            max: None,
            max_description: None,
            parameters_required: true,
            required_by_history: false,
        },
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::AnthropicStrict,
            root_union: false,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: true,
            none: true,
            required: true,
            tool: true,
            allowed_auto: false,
            allowed_required: false,
            allowed_one: false,
            forced_excludes_thinking: true,
            holds_parallel: true,
        },
        parallel_switch: true,
        system: SystemRule { in_conversation: true, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            // The server merges neighbours of one role by itself.
            merges: Merges::None,
            assistant_after_outcomes: false,
            ordered: true,
            single_text: false,
        },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            cache_on_calls: true,
            cache_ttl: true,
            refusal: false,
            arguments_object: true,
            arguments_free: false,
            empty_text: false,
        },
        outcome: OutcomeRule {
            media: MEDIA,
            json: JsonRule::Text,
            error_flag: true,
            success_flag: true,
            name: false,
            cache: true,
            many_texts: true,
            empty: true,
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: true,
            must_echo: false,
            signature: true,
            signature_on_parts: false,
            redacted: true,
            sections: false,
            positioned: true,
            stand_in: None,
        },
        sampling: SamplingRule {
            default_max_tokens: Some(DEFAULT_MAX_TOKENS),
            temperature: sampling,
            max_temperature: Some(1),
            top_p: sampling,
            top_k: sampling,
            stop: true,
            seed: false,
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            budget: true,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: false, schema: true, text: false, named: false },
        reply: ReplyRule {
            id: true,
            model: true,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::ContextWindow,
                StopReason::StopSequence,
                StopReason::Refusal,
                StopReason::Pause,
            ],
            stop_sequence: true,
            stop_details: true,
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: true,
            usage: true,
            counts_required: false,
        },
    }
}
