//! The profile of Gemini. `docs/dialects/gemini.md` has a section for each group of rules, with the
//! source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::{self, Audio, Document, Image, Video};
use toolwright_core::profile::{
    Charset, ChoiceRule, ContentRule, Family, FormatRule, HostedChoice, HostedKind, HostedMark,
    HostedRule, IdRule, JsonRule, LateSystem, MediaRule, Merges, NameRule, OutcomeCarrier,
    OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule, ShowRule, SystemRule,
    ThinkingRule, ToolRule, TurnRule, family,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// The stand-in for a signature on calls from other vendors. Not in the SDK, but used by other
/// projects with the real server (case 6). It is valid URL-safe base64, as proto-JSON requires for
/// bytes.
const STAND_IN: &str = "skip_thought_signature_validator";

/// Families that do not verify signatures and have no thinking levels.
const OLD: [&str; 2] = ["gemini-1", "gemini-2"];

const KINDS: &[MediaKind] = &[Image, Document, Audio, Video];

const MEDIA: MediaRule =
    MediaRule { base64: KINDS, url: KINDS, file: true, url_mime: true, ..MediaRule::NONE };

/// Search, URL context and code execution, each a member of an entry of `tools`.
const HOSTED: &[HostedRule] = &[
    HostedRule {
        kind: HostedKind::WebSearch,
        mark: HostedMark::Member("googleSearch"),
        definition: r#"{"googleSearch":{}}"#,
        parameters: &[],
        choice: HostedChoice::None,
    },
    HostedRule {
        kind: HostedKind::WebFetch,
        mark: HostedMark::Member("urlContext"),
        definition: r#"{"urlContext":{}}"#,
        parameters: &[],
        choice: HostedChoice::None,
    },
    HostedRule {
        kind: HostedKind::CodeExecution,
        mark: HostedMark::Member("codeExecution"),
        definition: r#"{"codeExecution":{}}"#,
        parameters: &[],
        choice: HostedChoice::None,
    },
];

/// Returns the rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    let family = target.model.and_then(family::gemini).unwrap_or(&family::ANY_GEMINI);
    let is_recent = |model: &str| !OLD.iter().any(|family| model.contains(family));
    Profile {
        names: NameRule { charset: Charset::WordDotColon, letter_first: true, max: 128 },
        ids: IdRule { max: 256, ..IdRule::ANY },
        // The modes `VALIDATED` and `ANY` enforce schemas; there is no strict flag.
        tools: ToolRule {
            output: true,
            max: Some(512),
            hosted: HOSTED,
            // 400 "Tool use with function calling is unsupported" before Gemini 3 (reports).
            hosted_alone: true,
            ..ToolRule::PLAIN
        },
        // `parametersJsonSchema` takes what `parameters` refuses (case 22).
        schema: SchemaRule::FULL,
        choice: ChoiceRule { allowed_auto: true, allowed_required: true, ..ChoiceRule::USUAL },
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
            arguments_object: true,
            // A signature may be on an empty text, and must be returned there.
            empty_text: true,
            ..ContentRule::PLAIN
        },
        outcome: OutcomeRule {
            media: MEDIA,
            json: JsonRule::Any,
            error_flag: true,
            name: true,
            many_texts: false,
            ..OutcomeRule::TEXT
        },
        reasoning: ReasoningRule {
            replay: true,
            signature: true,
            signature_on_parts: true,
            stand_in: target.model.is_none_or(is_recent).then_some(STAND_IN),
            ..ReasoningRule::NONE
        },
        sampling: SamplingRule {
            max_temperature: Some(2),
            top_k: true,
            seed: true,
            penalties: true,
            answers: true,
            logprobs: true,
            top_logprobs: true,
            ..SamplingRule::PLAIN.with_family(family)
        },
        thinking: thinking(family),
        format: FormatRule { json: true, schema: true, text: true, ..FormatRule::NONE },
        reply: ReplyRule {
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
                StopReason::MalformedCall,
                StopReason::Pause,
                StopReason::Failed,
            ],
            whole_calls: true,
            reasoning: true,
            cache_read: true,
            reasoning_tokens: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}

/// Returns the rule of `thinkingConfig`: no family accepts a level and a budget together (400), and
/// one that does not think accepts neither.
fn thinking(family: &Family) -> ThinkingRule {
    ThinkingRule {
        switch: family.thinks(),
        effort: !family.efforts.is_empty(),
        budget: family.budget.is_some(),
        effort_or_budget: true,
        show: if family.thinks() { ShowRule::Switch } else { ShowRule::None },
        ..ThinkingRule::NONE
    }
    .with_family(family)
}
