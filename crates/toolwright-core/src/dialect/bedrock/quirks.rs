//! What Bedrock accepts, with the evidence for each oddity in the wire facts §4.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Audio, Document, Image, Video};
use crate::response::StopReason;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio, Video],
    url: &[],
    text_document: true,
    file: false,
    name: true,
    url_mime: false,
};

/// The rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    // `thinking` and `top_k` pass through `additionalModelRequestFields`, where they are Claude's
    // words; another model refuses them.
    let claude = target.model.is_none_or(|model| model.contains("claude"));
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Word, letter_first: false, max: 64 },
        ids: IdRule {
            charset: Charset::WordDotColon,
            min: 1,
            max: 64,
            required: true,
            prefix: "tooluse_",
        },
        tools: ToolRule {
            custom: false,
            strict: Strictness::PerTool,
            cache: true,
            output: false,
            examples: false,
            annotations: false,
            max: None,
            max_description: None,
            parameters_required: true,
            required_by_history: true,
        },
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::Full,
            root_union: false,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: true,
            none: false,
            required: true,
            tool: true,
            allowed_auto: false,
            allowed_required: false,
            allowed_one: false,
            forced_excludes_thinking: claude,
            holds_parallel: false,
        },
        parallel_switch: false,
        system: SystemRule { in_conversation: true, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            merges: Merges::All,
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
            media: MediaRule { base64: &[Image, Document, Video], ..MEDIA },
            json: JsonRule::Objects,
            error_flag: true,
            success_flag: true,
            name: false,
            cache: false,
            many_texts: true,
            // Refused with a failure, and by some models always (case 16).
            empty: false,
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
            default_max_tokens: None,
            temperature: true,
            max_temperature: Some(1),
            top_p: true,
            top_k: claude,
            stop: true,
            seed: false,
        },
        thinking: ThinkingRule {
            switch: claude,
            effort: true,
            budget: claude,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        // A name and a description can be said, but not whether the schema binds.
        format: FormatRule { json: false, schema: true, text: false, named: false },
        reply: ReplyRule {
            // In a header.
            id: true,
            model: false,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::ContextWindow,
                StopReason::StopSequence,
                StopReason::Filtered,
                StopReason::MalformedCall,
            ],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: false,
            usage: true,
            counts_required: false,
        },
    }
}
