//! What Anthropic accepts, by API version, with the evidence for each oddity in the wire facts §3.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, MediaRule, NameRule, OutcomeCarrier,
    OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule, Strictness, Subset,
    ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{Document, Image};
use crate::response::StopReason;

/// The version that refuses `temperature`, `top_p` and `top_k`.
const NO_SAMPLING_SINCE: &str = "2026-10-21";

/// What to ask for when the client set no limit: `max_tokens` is required here.
const DEFAULT_MAX_TOKENS: u64 = 4096;

/// The words of the SDK's `output_config.effort`.
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// The least `budget_tokens`, which must also be less than `max_tokens`.
const LEAST_BUDGET: u64 = 1024;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document],
    url: &[Image, Document],
    text_document: true,
    file: true,
    name: true,
    ..MediaRule::NONE
};

/// The rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    // Versions are dates, so they compare as text.
    let sampling = target.version.is_none_or(|version| version < NO_SAMPLING_SINCE);
    Profile {
        names: NameRule::USUAL,
        ids: IdRule { charset: Charset::Word, min: 1, max: 256, required: true, prefix: "toolu_" },
        tools: ToolRule {
            strict: Strictness::PerTool,
            cache: true,
            examples: true,
            parameters_required: true,
            ..ToolRule::PLAIN
        },
        schema: SchemaRule {
            strict: Subset::AnthropicStrict,
            root_union: false,
            ..SchemaRule::FULL
        },
        choice: ChoiceRule {
            forced_excludes_thinking: true,
            holds_parallel: true,
            ..ChoiceRule::USUAL
        },
        parallel_switch: true,
        // Neighbours of one role may stay apart: the server merges them by itself.
        turns: TurnRule { outcomes: OutcomeCarrier::UserTurn, ordered: true, ..TurnRule::PLAIN },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            cache_on_calls: true,
            cache_ttl: true,
            arguments_object: true,
            empty_text: false,
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule {
            media: MEDIA,
            error_flag: true,
            success_flag: true,
            cache: true,
            ..OutcomeRule::TEXT
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: true,
            signature: true,
            redacted: true,
            ..ReasoningRule::NONE
        },
        sampling: SamplingRule {
            default_max_tokens: Some(DEFAULT_MAX_TOKENS),
            temperature: sampling,
            max_temperature: Some(1),
            top_p: sampling,
            top_k: sampling,
            ..SamplingRule::PLAIN
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            efforts: EFFORTS,
            budget: true,
            least_budget: Some(LEAST_BUDGET),
            ..ThinkingRule::NONE
        },
        format: FormatRule { schema: true, ..FormatRule::NONE },
        reply: ReplyRule {
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
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
