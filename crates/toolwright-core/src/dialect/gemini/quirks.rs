//! What Gemini accepts, with the evidence for each oddity in the wire facts §6.

use super::wire::DIALECT;
use crate::dialect::Target;
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::part::MediaKind::{self, Audio, Document, Image, Video};
use crate::response::StopReason;

/// What stands in for a signature on calls of foreign history. Not in the SDK, but used by others
/// against the real server (case 6). It happens to be valid base64 in the alphabet for URLs, as
/// proto-JSON demands of a field of bytes.
const STAND_IN: &str = "skip_thought_signature_validator";

/// Families older than those that check signatures.
const UNCHECKED: [&str; 2] = ["gemini-1", "gemini-2"];

const KINDS: &[MediaKind] = &[Image, Document, Audio, Video];

const MEDIA: MediaRule = MediaRule {
    base64: KINDS,
    url: KINDS,
    text_document: false,
    file: true,
    name: false,
    url_mime: true,
};

/// The rules for a target.
pub(super) fn profile(target: &Target<'_>) -> Profile {
    let checks = |model: &str| !UNCHECKED.iter().any(|family| model.contains(family));
    Profile {
        dialect: DIALECT,
        names: NameRule { charset: Charset::WordDotColon, letter_first: true, max: 128 },
        ids: IdRule { charset: Charset::Any, min: 1, max: 256, required: false, prefix: "call_" },
        tools: ToolRule {
            custom: false,
            // Modes `VALIDATED` and `ANY` hold the model to its schemas; there is no flag.
            strict: Strictness::None,
            cache: false,
            output: true,
            examples: false,
            annotations: false,
            max: Some(512),
            max_description: None,
            parameters_required: false,
            required_by_history: false,
        },
        // `parametersJsonSchema` takes what `parameters` refuses (case 22).
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::Full,
            root_union: true,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: true,
            none: true,
            required: true,
            tool: true,
            allowed_auto: true,
            allowed_required: true,
            allowed_one: false,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: false,
        system: SystemRule { in_conversation: false, developer: false, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::UserTurn,
            merges: Merges::All,
            assistant_after_outcomes: false,
            ordered: true,
            single_text: false,
        },
        content: ContentRule {
            media: MEDIA,
            cache: false,
            cache_on_calls: false,
            cache_ttl: false,
            refusal: false,
            arguments_object: true,
            arguments_free: false,
            // A signature may come on a text without words, and must return there.
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MEDIA,
            json: JsonRule::Any,
            error_flag: true,
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
            signature: true,
            signature_on_parts: true,
            redacted: false,
            sections: false,
            positioned: true,
            stand_in: target.model.is_none_or(checks).then_some(STAND_IN),
        },
        sampling: SamplingRule {
            default_max_tokens: None,
            temperature: true,
            max_temperature: Some(2),
            top_p: true,
            top_k: true,
            stop: true,
            seed: true,
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            budget: true,
            one_field: false,
            off_is_effort: false,
            default_on: true,
        },
        format: FormatRule { json: true, schema: true, text: true, named: false },
        reply: ReplyRule {
            id: true,
            model: true,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
                StopReason::MalformedCall,
                StopReason::Pause,
                StopReason::Failed,
            ],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: true,
            cache_write: false,
            reasoning_tokens: true,
            usage: true,
            counts_required: false,
        },
    }
}
