//! Differences between the vendors of this format, and the profile of OpenAI. Sources and dates are
//! in `docs/dialects/openai-chat.md` and `docs/dialects/vendors.md`.

use toolwright_core::part::MediaKind;
use toolwright_core::profile::{
    ChoiceRule, ContentRule, Family, FormatRule, IdRule, KnownFields, LateSystem, MediaRule,
    NameRule, Profile, ReasoningRule, ReplyRule, SamplingRule, SchemaRule, Strictness, Subset,
    SystemRule, ThinkingRule, ToolRule, family,
};
use toolwright_core::{Body, Dialect, Part, StopReason};
use toolwright_json::Json;

use crate::codec::{EmbedFormat, Target};

/// The quirks of one vendor. Everything else is as in OpenAI.
#[derive(Debug, Clone, Copy)]
pub struct Quirks {
    /// The dialect of its extra fields
    pub dialect: Dialect,
    /// The path of a request, after the vendor's base URL
    pub path: &'static str,
    /// The path of a request with strict tools, if it is another
    pub strict_path: Option<&'static str>,
    /// The key of the token limit
    pub max_tokens: &'static str,
    /// The field of an assistant message with the thinking
    pub reasoning: &'static str,
    /// Whether its models write `<think>…</think>` before their text
    pub think_tags: bool,
    /// How thinking is enabled
    pub thinking: ThinkingSwitch,
    /// Whether a cache breakpoint is `cache_control`, as in Anthropic. Both are always decoded.
    pub cache_control: bool,
    /// The form of tools
    pub tool_shape: ToolShape,
    /// Whether content is `""` instead of `null` beside calls
    pub empty_content: bool,
    /// The position of usage in a stream
    pub stream_usage: UsagePlace,
    /// Whether a stream has usage even if the request does not ask for it
    pub usage_unasked: bool,
    /// The format of embeddings, if there are any
    pub embed_format: Option<EmbedFormat>,
    /// Changes OpenAI's profile to the vendor's
    pub rules: fn(&mut Profile, &Target<'_>),
}

/// How thinking is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThinkingSwitch {
    /// Only by `reasoning_effort`
    Effort,
    /// `thinking: {"type": "enabled"|"disabled"}` beside `reasoning_effort`
    Thinking,
    /// `enable_thinking` and `thinking_budget` beside `reasoning_effort`
    Flags,
    /// `reasoning: {"enabled", "effort", "max_tokens"}`
    Reasoning,
}

/// The form of tools. Both forms are always decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolShape {
    /// `{"type": "function", "function": {"name", …}}`
    Nested,
    /// `{"type": "function", "name", …}`
    Flat,
}

/// The position of usage in a stream. All positions are always decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsagePlace {
    /// On a separate chunk, if the client asks for it
    OwnChunk,
    /// On the last chunk, always
    LastChunk,
}

/// The quirks of OpenAI: none.
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
    /// Returns the rules for a target.
    pub(super) fn profile(&self, target: &Target<'_>) -> Profile {
        let mut profile = openai(self.dialect, target);
        (self.rules)(&mut profile, target);
        profile
    }

    /// Returns the content of an assistant message without text.
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

/// Returns the profile of OpenAI.
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
        // The official types have no field for thinking in either direction; clients read one
        // nevertheless.
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

/// Sets the rules of most other vendors: OpenAI's own features are missing, and thinking is a text.
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
    // A model that is named like one of OpenAI's has the rules of the vendor that serves it.
    let sampling = profile.sampling.with_family(&Family::UNKNOWN);
    profile.sampling = SamplingRule { stop: true, ..sampling };
    profile.thinking = ThinkingRule::openai(&Family::UNKNOWN);
    profile.reply.cache_write = false;
}
