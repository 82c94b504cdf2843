//! The profile of Ollama. `docs/dialects/ollama.md` has a section for each group of rules, with the
//! source and date of every fact.

use toolwright_core::part::MediaKind::Image;
use toolwright_core::profile::{
    ChoiceRule, ContentRule, FormatRule, IdRule, LateSystem, MediaRule, OutcomeRule, Profile,
    ReasoningRule, ReplyRule, SamplingRule, SchemaRule, Subset, SystemRule, ThinkingRule, TurnRule,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// Returns the rules for any model: the server has the same for all.
pub(super) fn profile(_: &Target<'_>) -> Profile {
    Profile {
        // Ids are a recent addition; calls and outcomes are paired by name and order without them.
        ids: IdRule { required: false, ..IdRule::ANY },
        // The server parses a schema into a fixed struct and ignores other keywords.
        schema: SchemaRule {
            subset: Subset::Ollama,
            strict: Subset::Ollama,
            root_union: false,
            ..SchemaRule::FULL
        },
        // The field does not exist.
        choice: ChoiceRule { forced_by_format: true, ..ChoiceRule::NONE },
        // Templates of Qwen, Llama and Gemma refuse or ignore a system message after the first
        // turn.
        system: SystemRule { late: LateSystem::Never, single_text: true, ..SystemRule::PLAIN },
        turns: TurnRule { single_text: true, ..TurnRule::PLAIN },
        content: ContentRule {
            media: MediaRule { base64: &[Image], ..MediaRule::NONE },
            // A string fails the SDK's validation (`fixtures/negative.json`, "ollama: arguments as string").
            arguments_object: true,
            // A message without text has an empty text.
            empty_text: false,
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule { name: true, many_texts: false, ..OutcomeRule::TEXT },
        reasoning: ReasoningRule { replay: true, ..ReasoningRule::NONE },
        sampling: SamplingRule {
            top_k: true,
            seed: true,
            penalties: true,
            logprobs: true,
            top_logprobs: true,
            ..SamplingRule::PLAIN
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            efforts: &["low", "medium", "high"],
            one_field: true,
            ..ThinkingRule::NONE
        },
        format: FormatRule { json: true, schema: true, ..FormatRule::NONE },
        reply: ReplyRule {
            whole_calls: true,
            single_text: true,
            id: false,
            reasoning: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
