//! What Gemini accepts, with the evidence for each oddity in the wire facts §6.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{self, Audio, Document, Image, Video};
use crate::response::StopReason;

/// What stands in for a signature on calls of foreign history. Not in the SDK, but used by others
/// against the real server (case 6). It happens to be valid base64 in the alphabet for URLs, as
/// proto-JSON demands of a field of bytes.
const STAND_IN: &str = "skip_thought_signature_validator";

/// The words of the SDK's `ThinkingLevel`.
const EFFORTS: &[&str] = &["minimal", "low", "medium", "high"];

/// Families older than those that check signatures and know levels of thinking.
const OLD: [&str; 2] = ["gemini-1", "gemini-2"];

const KINDS: &[MediaKind] = &[Image, Document, Audio, Video];

const MEDIA: MediaRule =
    MediaRule { base64: KINDS, url: KINDS, file: true, url_mime: true, ..MediaRule::NONE };

/// The rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    let is_recent = |model: &str| !OLD.iter().any(|family| model.contains(family));
    Profile {
        names: NameRule { charset: Charset::WordDotColon, letter_first: true, max: 128 },
        ids: IdRule { max: 256, ..IdRule::ANY },
        // Modes `VALIDATED` and `ANY` hold the model to its schemas; there is no flag for strictness.
        tools: ToolRule { output: true, max: Some(512), ..ToolRule::PLAIN },
        // `parametersJsonSchema` takes what `parameters` refuses (case 22).
        schema: SchemaRule::FULL,
        choice: ChoiceRule { allowed_auto: true, allowed_required: true, ..ChoiceRule::USUAL },
        system: SystemRule { in_conversation: false, ..SystemRule::PLAIN },
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            merges: Merges::All,
            ordered: true,
            ..TurnRule::PLAIN
        },
        content: ContentRule {
            media: MEDIA,
            arguments_object: true,
            // A signature may come on a text without words, and must return there.
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
            ..SamplingRule::PLAIN
        },
        thinking: ThinkingRule {
            switch: true,
            // Older families have budgets only, and no family takes both (400).
            effort: target.model.is_none_or(is_recent),
            efforts: EFFORTS,
            budget: true,
            effort_or_budget: true,
            default_on: true,
            ..ThinkingRule::NONE
        },
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
            reasoning: true,
            cache_read: true,
            reasoning_tokens: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
