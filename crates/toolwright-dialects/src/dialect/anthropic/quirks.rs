//! The profile of Anthropic, by API version. `docs/dialects/anthropic.md` has a section for each
//! group of rules, with the source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::{Document, Image};
use toolwright_core::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, HostedChoice, HostedKind, HostedMark,
    HostedParameter, HostedRule, IdRule, LatePlace, LateSystem, MediaRule, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    StrictLimits, Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule, family,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// The version that refuses `temperature`, `top_p` and `top_k`.
const NO_SAMPLING_SINCE: &str = "2026-10-21";

/// `max_tokens`, which is required here, if the client set none and the model's maximum is unknown.
const DEFAULT_MAX_TOKENS: u64 = 32_000;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document],
    // The SDK's type of a base64 source has no other; text is sent as `type: "text"`.
    documents: &["application/pdf"],
    url: &[Image, Document],
    text_document: true,
    file: true,
    name: true,
    ..MediaRule::NONE
};

/// Whether `role: "system"` is allowed in `messages`, by the page on mid-conversation system
/// messages. Older models refuse it, and so does Vertex, whose model ids contain an `@`.
fn late_system(target: &Target<'_>) -> LateSystem {
    let model = target.model.filter(|model| !model.contains('@'));
    if !model.and_then(family::claude).is_some_and(|family| family.late_system) {
        return LateSystem::Never;
    }
    LateSystem::AfterUser(LatePlace {
        after_outcomes: true,
        after_hosted: true,
        before_user: false,
        last: true,
    })
}

/// Web search, web fetch and code execution, in the oldest version that needs no beta header.
const HOSTED: &[HostedRule] = &[
    HostedRule {
        kind: HostedKind::WebSearch,
        mark: HostedMark::Type("web_search_"),
        definition: r#"{"type":"web_search_20250305","name":"web_search"}"#,
        parameters: &[
            (HostedParameter::AllowedDomains, &["allowed_domains"]),
            (HostedParameter::BlockedDomains, &["blocked_domains"]),
            (HostedParameter::MaxUses, &["max_uses"]),
            (HostedParameter::UserLocation, &["user_location"]),
        ],
        choice: HostedChoice::Name("web_search"),
    },
    HostedRule {
        kind: HostedKind::WebFetch,
        mark: HostedMark::Type("web_fetch_"),
        definition: r#"{"type":"web_fetch_20250910","name":"web_fetch"}"#,
        parameters: &[
            (HostedParameter::AllowedDomains, &["allowed_domains"]),
            (HostedParameter::BlockedDomains, &["blocked_domains"]),
            (HostedParameter::MaxUses, &["max_uses"]),
        ],
        choice: HostedChoice::Name("web_fetch"),
    },
    HostedRule {
        kind: HostedKind::CodeExecution,
        mark: HostedMark::Type("code_execution_"),
        definition: r#"{"type":"code_execution_20250825","name":"code_execution"}"#,
        parameters: &[],
        choice: HostedChoice::Name("code_execution"),
    },
];

/// 400 "too many strict tools" and the like; see `docs/dialects/anthropic.md#tools`.
const STRICT_LIMITS: StrictLimits = StrictLimits { tools: 20, unions: 16, optional: 24 };

/// Lifetimes of cache breakpoints.
const TTLS: &[&str] = &["5m", "1h"];

/// Returns the rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    // Versions are dates, so they compare as text.
    let sampling = target.version.is_none_or(|version| version < NO_SAMPLING_SINCE);
    let family = target.model.and_then(family::claude).unwrap_or(&family::ANY_CLAUDE);
    Profile {
        names: NameRule::USUAL,
        ids: IdRule { charset: Charset::Word, min: 1, max: 256, required: true, prefix: "toolu_" },
        tools: ToolRule {
            strict: Strictness::PerTool,
            cache: true,
            examples: true,
            parameters_required: true,
            hosted: HOSTED,
            strict_limits: Some(STRICT_LIMITS),
            ..ToolRule::PLAIN
        },
        schema: SchemaRule {
            strict: Subset::AnthropicStrict,
            root_union: false,
            ..SchemaRule::FULL
        },
        choice: ChoiceRule {
            required: family.forced_choice,
            tool: family.forced_choice,
            forced_excludes_thinking: true,
            holds_parallel: true,
            ..ChoiceRule::USUAL
        },
        parallel_switch: true,
        system: SystemRule { late: late_system(target), ..SystemRule::PLAIN },
        // Consecutive messages of one role are allowed: the server merges them.
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            user_first: true,
            ordered: true,
            ..TurnRule::PLAIN
        },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            cache_on_calls: true,
            cache_ttls: TTLS,
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
            default_max_tokens: Some(family.max_output.unwrap_or(DEFAULT_MAX_TOKENS)),
            temperature: sampling,
            max_temperature: Some(1),
            user: true,
            top_p: sampling,
            top_k: sampling,
            ..SamplingRule::PLAIN.with_family(family)
        },
        thinking: ThinkingRule::claude(family),
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
