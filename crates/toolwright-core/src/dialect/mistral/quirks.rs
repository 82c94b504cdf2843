//! What Mistral accepts, with the evidence for each oddity in the wire facts §8.

use super::wire::DIALECT;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Audio, Document, Image};
use crate::response::StopReason;

/// The length of every call id; any other is refused with code 3280 (`mistral_error_400_toolid`).
const ID_LENGTH: usize = 9;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio],
    url: &[Image, Document, Audio],
    text_document: false,
    file: true,
    name: true,
    url_mime: false,
};

/// The rules, which are the same for all models.
pub(super) fn profile() -> Profile {
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Word, letter_first: false, max: 64 },
        ids: IdRule {
            charset: Charset::Alphanumeric,
            min: ID_LENGTH,
            max: ID_LENGTH,
            required: true,
            prefix: "",
        },
        tools: ToolRule {
            custom: false,
            strict: Strictness::PerTool,
            cache: false,
            output: false,
            examples: false,
            annotations: false,
            max: None,
            max_description: None,
            // Required by the SDK's `Function` type.
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
            auto: true,
            none: true,
            required: true,
            tool: true,
            allowed_auto: false,
            allowed_required: false,
            allowed_one: false,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: true,
        system: SystemRule { in_conversation: true, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::None,
            // `user` right after `tool` is refused with code 3230 (`mistral_error_400_order`).
            assistant_after_outcomes: true,
            ordered: false,
            single_text: false,
        },
        content: ContentRule {
            media: MEDIA,
            cache: false,
            cache_on_calls: false,
            cache_ttl: false,
            refusal: false,
            arguments_object: false,
            arguments_free: false,
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MEDIA,
            json: JsonRule::Text,
            error_flag: false,
            success_flag: false,
            name: true,
            cache: false,
            many_texts: true,
            empty: true,
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: false,
            must_echo: false,
            signature: true,
            signature_on_parts: false,
            redacted: false,
            // Sections would stay apart, but a summary could not be told from thinking.
            sections: false,
            positioned: true,
            stand_in: None,
        },
        sampling: SamplingRule {
            default_max_tokens: None,
            temperature: true,
            max_temperature: None,
            top_p: true,
            top_k: true,
            stop: true,
            seed: true,
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            budget: false,
            one_field: false,
            off_is_effort: true,
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
                StopReason::ContextWindow,
                StopReason::Failed,
            ],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: true,
            cache_write: false,
            reasoning_tokens: false,
            usage: true,
            counts_required: false,
        },
    }
}
