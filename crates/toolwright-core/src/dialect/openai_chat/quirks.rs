//! How the vendors of this format differ, and what OpenAI itself accepts. Sources and dates are in
//! `docs/dialects/openai-chat.md` and `docs/dialects/vendors.md`.

use crate::codec::{EmbedFormat, Target};
use crate::json::Json;
use crate::model::dialect::Dialect;
use crate::model::part::{Body, MediaKind, Part};
use crate::model::response::StopReason;
use crate::profile::{
    ChoiceRule, ContentRule, Family, FormatRule, IdRule, KnownFields, LateSystem, MediaRule,
    NameRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule, Strictness, Subset,
    SystemRule, ThinkingRule, ToolRule, family,
};

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
    /// Whether models behind it write `<think>…</think>` before their text
    pub think_tags: bool,
    /// How thinking is switched
    pub thinking: ThinkingSwitch,
    /// Whether a cache breakpoint is `cache_control`, as Anthropic has it. Both are read everywhere.
    pub cache_control: bool,
    /// How tools are written
    pub tool_shape: ToolShape,
    /// Whether content is `""` rather than `null` beside calls
    pub empty_content: bool,
    /// Where a stream says what the answer cost
    pub stream_usage: UsagePlace,
    /// Whether a stream has usage even if the request does not ask for it
    pub usage_unasked: bool,
    /// How texts become vectors; `None` if they do not
    pub embed_format: Option<EmbedFormat>,
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
    think_tags: false,
    thinking: ThinkingSwitch::Effort,
    cache_control: false,
    tool_shape: ToolShape::Nested,
    empty_content: false,
    stream_usage: UsagePlace::OwnChunk,
    usage_unasked: false,
    embed_format: Some(EmbedFormat::OPENAI),
    rules: |_, _| {},
};

impl Quirks {
    /// The rules for a target.
    pub(super) fn profile(&self, target: &Target<'_>) -> Profile {
        let mut profile = openai(self.dialect, target);
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

/// 400 "Unknown parameter" for any other: the fields of the SDK's request types that have no canonical name.
const KNOWN_FIELDS: KnownFields = KnownFields {
    request: &[
        "audio",
        "function_call",
        "functions",
        "logit_bias",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "response_format",
        "safety_identifier",
        "service_tier",
        "store",
        "stream_options",
        "verbosity",
        "web_search_options",
    ],
    values: &[("service_tier", &["auto", "default", "flex", "scale", "priority", "fast"])],
    message: &["audio", "function_call", "name", "refusal"],
    part: &["file", "image_url", "input_audio", "prompt_cache_breakpoint"],
    tool: &[],
};

/// What OpenAI accepts.
fn openai(dialect: Dialect, target: &Target<'_>) -> Profile {
    let family = target.model.and_then(family::openai).unwrap_or(&Family::UNKNOWN);
    Profile {
        known_fields: Some(KNOWN_FIELDS),
        known_types_only: true,
        names: NameRule::USUAL,
        ids: IdRule { max: 40, required: true, ..IdRule::ANY },
        tools: ToolRule {
            custom: true,
            strict: Strictness::PerTool,
            max: Some(128),
            max_description: Some(1024),
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
        system: SystemRule { developer: true, ..SystemRule::PLAIN },
        content: ContentRule {
            media: MediaRule {
                base64: &[MediaKind::Image, MediaKind::Document, MediaKind::Audio],
                url: &[MediaKind::Image],
                file: true,
                name: true,
                ..MediaRule::NONE
            },
            cache: true,
            cache_ttls: &["30m", "12h"],
            refusal: true,
            arguments_free: true,
            ..ContentRule::PLAIN
        },
        // The official types have no field for thinking, neither way; clients read one all the same.
        reasoning: ReasoningRule::NONE,
        sampling: SamplingRule {
            max_temperature: Some(2),
            seed: true,
            penalties: true,
            answers: true,
            logprobs: true,
            top_logprobs: true,
            user: true,
            ..SamplingRule::PLAIN.with_family(family)
        },
        thinking: ThinkingRule {
            tools_exclude: family.tools_exclude_reasoning,
            ..ThinkingRule::openai(family)
        },
        format: FormatRule { json: true, schema: true, text: true, named: true },
        reply: ReplyRule {
            echoes: &["metadata", "prompt", "provider", "service_tier"],
            single_text: true,
            stops: &[
                StopReason::End,
                StopReason::ToolUse,
                StopReason::MaxTokens,
                StopReason::Filtered,
            ],
            reasoning: true,
            cache_read: true,
            cache_write: true,
            reasoning_tokens: true,
            ..ReplyRule::PLAIN
        },
        ..Profile::plain(dialect)
    }
}

/// Families whose chat templates refuse a system message after the first turn, on any server.
const ONE_SYSTEM_MESSAGE: [&str; 3] = ["qwen", "llama", "gemma"];

/// The rules of most other vendors: what only OpenAI has is missing, and thinking comes and goes as
/// a text.
pub fn thinks_in_text(profile: &mut Profile, target: &Target<'_>) {
    profile.known_fields = None;
    profile.known_types_only = false;
    profile.content.media.native = &[MediaKind::Video];
    let model = target.model.unwrap_or_default().to_ascii_lowercase();
    if ONE_SYSTEM_MESSAGE.iter().any(|family| model.contains(family)) {
        profile.system.late = LateSystem::Never;
    }
    profile.tools.custom = false;
    profile.tools.max_description = None;
    profile.ids.max = 64;
    profile.choice.allowed_auto = false;
    profile.choice.allowed_required = false;
    profile.system.developer = false;
    profile.content.media.base64 = &[MediaKind::Image];
    profile.content.media.file = false;
    profile.content.cache = false;
    profile.content.cache_ttls = &[];
    profile.content.refusal = false;
    profile.content.arguments_free = false;
    profile.reasoning.replay = true;
    // A model named like one of OpenAI's is judged by the vendor that serves it.
    let sampling = profile.sampling.with_family(&Family::UNKNOWN);
    profile.sampling = SamplingRule { stop: true, ..sampling };
    profile.thinking = ThinkingRule::openai(&Family::UNKNOWN);
    profile.reply.cache_write = false;
}
