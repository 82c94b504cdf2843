//! The profile of Mistral. `docs/dialects/mistral.md` has a section for each group of rules, with the
//! source and date of every fact.

use toolwright_core::StopReason;
use toolwright_core::part::MediaKind::{Audio, Document, Image};
use toolwright_core::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, LatePlace, LateSystem, MediaRule,
    NameRule, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, Strictness, SystemRule,
    ThinkingRule, ToolRule, TurnRule,
};

use super::wire::DIALECT;
use crate::codec::Target;

/// The length of every call id; any other is refused with code 3280 (`mistral_error_400_toolid`).
const ID_LENGTH: usize = 9;

const MEDIA: MediaRule = MediaRule {
    base64: &[Image, Document, Audio],
    url: &[Image, Document, Audio],
    file: true,
    name: true,
    ..MediaRule::NONE
};

/// "Unexpected role 'system' after role 'tool'", and "Expected last role User or Tool (or Assistant
/// with prefix True) for serving but got system", both with code 3230. After a user message it is
/// accepted.
const LATE_SYSTEM: LateSystem = LateSystem::AfterUser(LatePlace {
    after_outcomes: false,
    after_hosted: false,
    before_user: true,
    last: false,
});

/// Returns the rules, which are the same for all models.
pub(super) fn profile(_: &Target<'_>) -> Profile {
    Profile {
        names: NameRule::USUAL,
        ids: IdRule {
            charset: Charset::Alphanumeric,
            min: ID_LENGTH,
            max: ID_LENGTH,
            required: true,
            prefix: "",
        },
        tools: ToolRule {
            strict: Strictness::PerTool,
            // Required by the SDK's `Function` type.
            parameters_required: true,
            ..ToolRule::PLAIN
        },
        choice: ChoiceRule::USUAL,
        parallel_switch: true,
        system: SystemRule { late: LATE_SYSTEM, ..SystemRule::PLAIN },
        turns: TurnRule { user_first: true, ..TurnRule::PLAIN },
        content: ContentRule { media: MEDIA, ..ContentRule::PLAIN },
        outcome: OutcomeRule { media: MEDIA, name: true, ..OutcomeRule::TEXT },
        reasoning: ReasoningRule {
            replay: true,
            signature: true,
            // Sections would stay separate, but a summary could not be distinguished from thinking.
            sections: false,
            ..ReasoningRule::NONE
        },
        sampling: SamplingRule {
            top_k: true,
            seed: true,
            penalties: true,
            answers: true,
            ..SamplingRule::PLAIN
        },
        thinking: ThinkingRule {
            switch: true,
            effort: true,
            off_is_effort: true,
            ..ThinkingRule::NONE
        },
        format: FormatRule { json: true, schema: true, text: true, named: true },
        reply: ReplyRule {
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::ContextWindow,
                StopReason::Failed,
            ],
            // Pydantic AI and langchain-mistralai return a hash of any other id.
            legal_call_ids: true,
            reasoning: true,
            cache_read: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(DIALECT)
    }
}
