//! The profile of Bedrock. `docs/dialects/bedrock.md` has a section for each group of rules, with
//! the source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::{Audio, Document, Image, Video};
use toolwright_core::profile::{
    Charset, ChoiceRule, ContentRule, Family, FormatRule, IdRule, JsonRule, LateSystem, MediaRule,
    Merges, NameRule, OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule,
    SchemaRule, Strictness, SystemRule, ThinkingRule, ToolRule, TurnRule, family,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// The values of `outputConfig.effort` in the service's model.
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio, Video],
    text_document: true,
    name: true,
    ..MediaRule::NONE
};

/// Returns the rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    // `thinking` and `top_k` are sent in `additionalModelRequestFields`, where only Claude accepts
    // them.
    let claude = target.model.is_none_or(|model| model.contains("claude"));
    let any = if claude { &family::ANY_CLAUDE } else { &Family::UNKNOWN };
    let family = target.model.and_then(family::claude).unwrap_or(any);
    Profile {
        names: NameRule::USUAL,
        ids: IdRule {
            charset: Charset::WordDotColon,
            min: 1,
            max: 64,
            required: true,
            prefix: "tooluse_",
        },
        tools: ToolRule {
            strict: Strictness::PerTool,
            cache: true,
            parameters_required: true,
            required_by_history: true,
            ..ToolRule::PLAIN
        },
        schema: SchemaRule { root_union: false, ..SchemaRule::FULL },
        choice: ChoiceRule {
            none: false,
            required: family.forced_choice,
            tool: family.forced_choice,
            forced_excludes_thinking: claude,
            ..ChoiceRule::USUAL
        },
        // 400 "role 'system' is not supported", at any position (BerriAI/litellm#41043).
        system: SystemRule { late: LateSystem::Never, ..SystemRule::PLAIN },
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            merges: Merges::All,
            user_first: true,
            ordered: true,
            ..TurnRule::PLAIN
        },
        content: ContentRule {
            media: MEDIA,
            cache: true,
            cache_on_calls: true,
            cache_ttls: &["5m", "1h"],
            arguments_object: true,
            empty_text: false,
            // 400 "The document file name can only contain…" and "Messages can't contain duplicate
            // document names" (reports); the service's model asks for a text beside a document.
            labelled_documents: true,
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule {
            media: MediaRule { base64: &[Image, Document, Video], ..MEDIA },
            json: JsonRule::Objects,
            error_flag: true,
            success_flag: true,
            // Refused with a failure, and by some models always (case 16).
            empty: false,
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
            max_temperature: Some(1),
            top_k: claude,
            ..SamplingRule::PLAIN.with_family(family)
        },
        thinking: if claude {
            ThinkingRule::claude(family)
        } else {
            ThinkingRule { effort: true, efforts: EFFORTS, ..ThinkingRule::NONE }
        },
        // A name and a description can be set, but not strictness.
        format: FormatRule { schema: true, ..FormatRule::NONE },
        // The id is in a header; there is no model.
        reply: ReplyRule {
            echoes: &["performanceConfig", "serviceTier"],
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
            reasoning: true,
            cache_read: true,
            cache_write: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
