//! The profile of the Responses API. `docs/dialects/openai-responses.md` has a section for each
//! group of rules, with the source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::{Audio, Document, Image};
use toolwright_core::profile::{
    ChoiceRule, ContentRule, Family, FormatRule, HostedChoice, HostedKind, HostedMark,
    HostedParameter, HostedRule, IdRule, MediaRule, Merges, NameRule, OutcomeRule, Profile,
    ReasoningRule, ReplyRule, SamplingRule, SchemaRule, ShowRule, Strictness, Subset, SystemRule,
    ThinkingRule, ToolRule, TurnRule, family,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// Media in user messages.
const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio],
    url: &[Image, Document],
    file: true,
    name: true,
    ..MediaRule::NONE
};

/// Web search, also in its older and dated versions, and code execution.
const HOSTED: &[HostedRule] = &[
    HostedRule {
        kind: HostedKind::WebSearch,
        mark: HostedMark::Type("web_search"),
        definition: r#"{"type":"web_search"}"#,
        parameters: &[
            (HostedParameter::AllowedDomains, &["filters", "allowed_domains"]),
            (HostedParameter::BlockedDomains, &["filters", "blocked_domains"]),
            (HostedParameter::UserLocation, &["user_location"]),
        ],
        choice: HostedChoice::Type("web_search"),
    },
    HostedRule {
        kind: HostedKind::CodeExecution,
        mark: HostedMark::Type("code_interpreter"),
        definition: r#"{"type":"code_interpreter","container":{"type":"auto"}}"#,
        parameters: &[],
        choice: HostedChoice::Type("code_interpreter"),
    },
];

/// Returns the rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    let family = target.model.and_then(family::openai).unwrap_or(&Family::UNKNOWN);
    Profile {
        names: NameRule::USUAL,
        // 400 "Expected a string with maximum length 64" of `input[].call_id` (reports), not Chat's 40.
        ids: IdRule { max: 64, required: true, ..IdRule::ANY },
        tools: ToolRule {
            custom: true,
            namespaces: true,
            strict: Strictness::PerTool,
            output: true,
            hosted: HOSTED,
            ..ToolRule::PLAIN
        },
        schema: SchemaRule { strict: Subset::OpenaiStrict, root_union: false, ..SchemaRule::FULL },
        choice: ChoiceRule {
            allowed_auto: true,
            allowed_required: true,
            allowed_one: true,
            ..ChoiceRule::USUAL
        },
        parallel_switch: true,
        system: SystemRule { developer: true, single_text: true, ..SystemRule::PLAIN },
        turns: TurnRule { merges: Merges::Assistant, ordered: true, ..TurnRule::PLAIN },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            // Input blocks have cache breakpoints, `output_text` has none.
            cache_on_answers: false,
            cache_ttls: &["30m", "12h"],
            refusal: true,
            arguments_free: true,
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule {
            media: MediaRule { base64: &[Image, Document], ..MEDIA },
            ..OutcomeRule::TEXT
        },
        reasoning: ReasoningRule {
            replay: true,
            signed_only: true,
            signature: true,
            sections: true,
            ..ReasoningRule::NONE
        },
        sampling: SamplingRule {
            max_temperature: Some(2),
            stop: false,
            logprobs: true,
            top_logprobs: true,
            user: true,
            ..SamplingRule::PLAIN.with_family(family)
        },
        thinking: ThinkingRule {
            show: ShowRule::Field { hides: true, can_hide: false },
            ..ThinkingRule::openai(family)
        },
        format: FormatRule { json: true, schema: true, text: true, named: true },
        reply: ReplyRule {
            echoes: &[
                "background",
                "conversation",
                "frequency_penalty",
                "instructions",
                "max_output_tokens",
                "max_tool_calls",
                "metadata",
                "parallel_tool_calls",
                "presence_penalty",
                "previous_response_id",
                "prompt_cache_key",
                "prompt_cache_options",
                "prompt_cache_retention",
                "reasoning",
                "safety_identifier",
                "service_tier",
                "store",
                "temperature",
                "text",
                "tool_choice",
                "tools",
                "top_logprobs",
                "top_p",
                "truncation",
                "user",
            ],
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
                StopReason::Pause,
                StopReason::Failed,
            ],
            // `previous_response_id` and `GET /v1/responses/{id}`.
            referable: true,
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: true,
            counts_required: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
