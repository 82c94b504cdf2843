//! What the Responses API accepts, with the evidence for each oddity in the wire facts §2.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Audio, Document, Image};
use crate::response::StopReason;

/// What a user may send.
const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio],
    url: &[Image, Document],
    text_document: false,
    file: true,
    name: true,
    url_mime: false,
};

/// The rules, the same for all targets.
pub(super) fn profile(_: &Target<'_>) -> Profile {
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Word, letter_first: false, max: 64 },
        // The limit is Chat's; this format states none.
        ids: IdRule { charset: Charset::Any, min: 1, max: 40, required: true, prefix: "call_" },
        tools: ToolRule {
            custom: true,
            strict: Strictness::PerTool,
            cache: false,
            output: true,
            examples: false,
            annotations: false,
            max: None,
            max_description: None,
            parameters_required: false,
            required_by_history: false,
        },
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::OpenaiStrict,
            root_union: false,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: true,
            none: true,
            required: true,
            tool: true,
            allowed_auto: true,
            allowed_required: true,
            allowed_one: true,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: true,
        system: SystemRule { in_conversation: true, developer: true, single_text: true },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::Assistant,
            assistant_after_outcomes: false,
            ordered: true,
            single_text: false,
        },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            cache_on_calls: false,
            // `30m` and `12h` are the only lifetimes, and nobody else has them.
            cache_ttl: false,
            refusal: true,
            arguments_object: false,
            arguments_free: true,
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MediaRule { base64: &[Image, Document], ..MEDIA },
            json: JsonRule::Text,
            error_flag: false,
            success_flag: false,
            name: false,
            cache: false,
            many_texts: true,
            empty: true,
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: true,
            must_echo: false,
            signature: true,
            signature_on_parts: false,
            redacted: false,
            sections: true,
            positioned: true,
            stand_in: None,
        },
        sampling: SamplingRule {
            default_max_tokens: None,
            temperature: true,
            max_temperature: Some(2),
            top_p: true,
            top_k: false,
            stop: false,
            seed: false,
        },
        thinking: ThinkingRule {
            switch: false,
            effort: true,
            budget: false,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: true, schema: true, text: true, named: true },
        reply: ReplyRule {
            id: true,
            model: true,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
                StopReason::Pause,
                StopReason::Failed,
            ],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: true,
            usage: true,
            counts_required: true,
        },
    }
}
