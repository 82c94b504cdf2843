//! In what the vendors of this format differ, and what OpenAI itself accepts; the evidence is in
//! the wire facts §1.

use crate::dialect::{Dialect, Target};
use crate::fit::profile::{
    Charset, ChoiceRule, ContentRule, FormatRule, IdRule, JsonRule, MediaRule, Merges, NameRule,
    OutcomeCarrier, OutcomeRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule,
    Strictness, Subset, SystemRule, ThinkingRule, ToolRule, TurnRule,
};
use crate::json::Json;
use crate::part::{Body, MediaKind, Part};
use crate::response::StopReason;

/// How one vendor speaks the format. Everything that is not listed is as with OpenAI.
#[derive(Debug, Clone, Copy)]
pub struct Quirks {
    /// Whose extra fields these are
    pub dialect: Dialect,
    /// The path of a request, after the vendor's base address
    pub path: &'static str,
    /// The path of a request with strict tools, where it is another
    pub strict_path: Option<&'static str>,
    /// The key of the limit on tokens
    pub max_tokens: &'static str,
    /// The field of an assistant's message that holds thinking
    pub reasoning: &'static str,
    /// How thinking is switched
    pub thinking: ThinkingSwitch,
    /// How tools are written
    pub tool_shape: ToolShape,
    /// Whether content is `""` rather than `null` beside calls
    pub empty_content: bool,
    /// Where a stream says what the answer cost
    pub stream_usage: UsagePlace,
    /// How the rules differ from OpenAI's
    pub rules: fn(&mut Profile, &Target<'_>),
}

/// How thinking is switched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingSwitch {
    /// Not at all: there is only `reasoning_effort`
    Effort,
    /// `thinking: {"type": "enabled"|"disabled"}` beside `reasoning_effort`
    Thinking,
    /// `enable_thinking` and `thinking_budget` beside `reasoning_effort`
    Flags,
    /// `reasoning: {"enabled", "effort", "max_tokens"}`
    Reasoning,
}

/// How tools are written. Both shapes are read everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolShape {
    /// `{"type": "function", "function": {"name", …}}`
    Nested,
    /// `{"type": "function", "name", …}`
    Flat,
}

/// Where a stream says what the answer cost. All places are read everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsagePlace {
    /// On a chunk of its own, if the client asks for it
    OwnChunk,
    /// On the chunk that ends the answer, always
    LastChunk,
}

/// OpenAI's own ways.
pub const OPENAI: Quirks = Quirks {
    dialect: Dialect::OpenaiChat,
    path: "/v1/chat/completions",
    strict_path: None,
    max_tokens: "max_completion_tokens",
    reasoning: "reasoning_content",
    thinking: ThinkingSwitch::Effort,
    tool_shape: ToolShape::Nested,
    empty_content: false,
    stream_usage: UsagePlace::OwnChunk,
    rules: |_, _| {},
};

impl Quirks {
    /// The rules for a target.
    pub(super) fn profile(&self, target: &Target<'_>) -> Profile {
        let mut profile = openai(self.dialect);
        (self.rules)(&mut profile, target);
        profile
    }

    /// What stands for content where an assistant says nothing but this.
    pub(super) fn nothing(&self, said: &[Part]) -> Json {
        let calls = said.iter().any(|part| matches!(part.body, Body::Call(_) | Body::Opaque(_)));
        let refused = said.iter().any(|part| matches!(part.body, Body::Refusal(_)));
        if (calls && !self.empty_content) || (refused && !calls) { Json::Null } else { "".into() }
    }
}

/// What OpenAI accepts.
fn openai(dialect: Dialect) -> Profile {
    Profile {
        dialect,
        names: NameRule { charset: Charset::Word, letter_first: false, max: 64 },
        ids: IdRule { charset: Charset::Any, min: 1, max: 40, required: true, prefix: "call_" },
        tools: ToolRule {
            custom: true,
            strict: Strictness::PerTool,
            cache: false,
            output: false,
            examples: false,
            annotations: false,
            max: Some(128),
            max_description: Some(1024),
            parameters_required: false,
            required_by_history: false,
        },
        schema: SchemaRule {
            subset: Subset::Full,
            strict: Subset::OpenaiStrict,
            root_union: false,
            integer_as_number: false,
        },
        choice: ChoiceRule {
            auto: true,
            none: true,
            required: true,
            tool: true,
            allowed_auto: true,
            allowed_required: true,
            allowed_one: true,
            forced_excludes_thinking: false,
            holds_parallel: false,
        },
        parallel_switch: true,
        system: SystemRule { in_conversation: true, developer: true, single_text: false },
        turns: TurnRule {
            outcomes: OutcomeCarrier::OwnMessage,
            merges: Merges::None,
            assistant_after_outcomes: false,
            ordered: false,
            single_text: false,
        },
        content: ContentRule {
            media: MediaRule {
                base64: &[MediaKind::Image, MediaKind::Document, MediaKind::Audio],
                url: &[MediaKind::Image],
                text_document: false,
                file: true,
                name: true,
                url_mime: false,
            },
            cache: true,
            cache_on_calls: false,
            cache_ttl: true,
            refusal: true,
            arguments_object: false,
            arguments_free: true,
            empty_text: true,
        },
        outcome: OutcomeRule {
            media: MediaRule::NONE,
            json: JsonRule::Text,
            error_flag: false,
            success_flag: false,
            name: false,
            cache: false,
            many_texts: true,
            empty: true,
        },
        // The official types have no field for thinking, neither way; clients read one all the same.
        reasoning: ReasoningRule {
            replay: false,
            signed_only: false,
            must_echo: false,
            signature: false,
            signature_on_parts: false,
            redacted: false,
            sections: false,
            positioned: false,
            stand_in: None,
        },
        sampling: SamplingRule {
            default_max_tokens: None,
            temperature: true,
            max_temperature: Some(2),
            top_p: true,
            top_k: false,
            stop: true,
            seed: true,
        },
        thinking: ThinkingRule {
            switch: false,
            effort: true,
            budget: false,
            one_field: false,
            off_is_effort: false,
            default_on: false,
        },
        format: FormatRule { json: true, schema: true, text: true, named: true },
        reply: ReplyRule {
            id: true,
            model: true,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
            ],
            stop_sequence: false,
            stop_details: false,
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: true,
            usage: true,
            counts_required: false,
        },
    }
}
