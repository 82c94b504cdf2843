//! What Cohere accepts, with the evidence for each oddity in the wire facts §9.

use super::wire::DIALECT;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::Image;
use crate::response::StopReason;

/// The rules, for any model: what only some models know is refused by the vendor itself.
pub(super) fn profile() -> Profile {
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Any, letter_first: false, max: usize::MAX },
        ids: IdRule {
            charset: Charset::Any,
            min: 1,
            max: usize::MAX,
            required: true,
            prefix: "call_",
        },
        tools: ToolRule {
            custom: false,
            strict: Strictness::PerRequest,
            cache: false,
            output: false,
            examples: false,
            annotations: false,
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
        // `NONE` and `REQUIRED` are all there is; what is not said is auto.
        choice: ChoiceRule {
            auto: false,
            none: true,
            required: true,
            tool: false,
            allowed_auto: false,
            allowed_required: false,
            allowed_one: false,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: false,
        system: SystemRule { in_conversation: true, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::None,
            assistant_after_outcomes: false,
            ordered: false,
            single_text: false,
        },
        content: ContentRule {
            media: MediaRule { base64: &[Image], url: &[Image], ..MediaRule::NONE },
            cache: false,
            cache_on_calls: false,
            cache_ttl: false,
            refusal: false,
            arguments_object: false,
            arguments_free: false,
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MediaRule::NONE,
            // As the data of a document (captured/cohere_toolresult.json).
            json: JsonRule::Objects,
            error_flag: false,
            success_flag: false,
            name: false,
            cache: false,
            many_texts: true,
            empty: true,
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: false,
            must_echo: false,
            signature: false,
            signature_on_parts: false,
            redacted: false,
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
            effort: false,
            budget: true,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: true, schema: true, text: true, named: false },
        // There is no model in the body.
        reply: ReplyRule {
            id: true,
            model: false,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::StopSequence,
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
