//! The profile of Cohere. `docs/dialects/cohere.md` has a section for each group of rules, with the
//! source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::Image;
use toolwright_core::profile::{
    ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, OutcomeRule, Profile,
    ReasoningRule, ReplyRule, SamplingRule, Strictness, ThinkingRule, ToolRule,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// Returns the rules for any model: the vendor itself refuses what a model does not support.
pub(super) fn profile(_: &Target<'_>) -> Profile {
    Profile {
        ids: IdRule { required: true, ..IdRule::ANY },
        tools: ToolRule {
            strict: Strictness::PerRequest,
            parameters_required: true,
            ..ToolRule::PLAIN
        },
        // Only `NONE` and `REQUIRED` exist; auto is the default.
        choice: ChoiceRule { none: true, required: true, ..ChoiceRule::NONE },
        content: ContentRule {
            media: MediaRule { base64: &[Image], url: &[Image], ..MediaRule::NONE },
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule {
            // As the data of a document (`fixtures/cohere/captured/cohere_toolresult.json`).
            json: JsonRule::Objects,
            ..OutcomeRule::TEXT
        },
        reasoning: ReasoningRule { replay: true, ..ReasoningRule::NONE },
        sampling: SamplingRule {
            top_k: true,
            seed: true,
            penalties: true,
            logprobs: true,
            ..SamplingRule::PLAIN
        },
        thinking: ThinkingRule {
            switch: true,
            budget: true,
            effort_needs_switch: true,
            ..ThinkingRule::NONE
        },
        format: FormatRule { json: true, schema: true, text: true, ..FormatRule::NONE },
        reply: ReplyRule {
            // The body has no model.
            model: false,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::StopSequence,
                StopReason::Failed,
            ],
            reasoning: true,
            cache_read: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
