//! What Ollama accepts, with the evidence for each oddity in the wire facts §7.

use super::wire::DIALECT;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::Image;
use crate::response::StopReason;

/// The rules, for any model: the server has the same for all.
pub(super) fn profile() -> Profile {
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::Any, letter_first: false, max: usize::MAX },
        // Ids are new on the server; calls and outcomes pair by name and order without them.
        ids: IdRule {
            charset: Charset::Any,
            min: 1,
            max: usize::MAX,
            required: false,
            prefix: "call_",
        },
        tools: ToolRule {
            custom: false,
            strict: Strictness::None,
            cache: false,
            output: false,
            examples: false,
            annotations: false,
            max: None,
            max_description: None,
            parameters_required: false,
            required_by_history: false,
        },
        // The server parses a schema into a fixed struct and drops the rest in silence.
        schema: SchemaRule {
            subset: Subset::Ollama,
            strict: Subset::Ollama,
            root_union: false,
            integer_as_number: false,
        },
        // There is no such field at all.
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
        system: SystemRule { in_conversation: true, developer: false, single_text: true },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::None,
            assistant_after_outcomes: false,
            ordered: false,
            single_text: true,
        },
        content: ContentRule {
            media: MediaRule { base64: &[Image], ..MediaRule::NONE },
            cache: false,
            cache_on_calls: false,
            cache_ttl: false,
            refusal: false,
            // A string fails the SDK's validation (negative.json, "ollama: arguments as string").
            arguments_object: true,
            arguments_free: false,
            // An empty text is what a message without text says.
            empty_text: false,
        },
        outcome: OutcomeRule {
            media: MediaRule::NONE,
            json: JsonRule::Text,
            error_flag: false,
            success_flag: false,
            name: true,
            cache: false,
            many_texts: false,
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
            positioned: false,
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
            one_field: true,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: true, schema: true, text: false, named: false },
        reply: ReplyRule {
            id: false,
            model: true,
            stops: &[StopReason::End, StopReason::ToolUse, StopReason::MaxTokens],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: false,
            cache_write: false,
            reasoning_tokens: false,
            usage: true,
            counts_required: false,
        },
    }
}
