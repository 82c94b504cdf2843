//! Presets for vendors with OpenAI's Chat Completions format.
//!
//! A preset has the address of the vendor, the variable of its key, and its differences from
//! OpenAI. Undocumented behaviour is assumed to be OpenAI's.

use toolwright_core::part::MediaKind;
use toolwright_core::profile::{LateSystem, Profile};

use crate::codec::{EmbedFormat, EmbedLimits, Target};
use crate::dialect::openai_chat::{
    OPENAI, OpenaiChat, Quirks, ThinkingSwitch, ToolShape, UsagePlace, thinks_in_text,
};

/// A vendor with OpenAI's Chat Completions format and its quirks.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct VendorPreset {
    /// The id, which can be used like that of a dialect
    pub id: &'static str,
    /// The base URL; `None` if every installation has its own
    pub base_url: Option<&'static str>,
    /// The environment variable that holds the key; `None` if no key is needed
    pub key_env: Option<&'static str>,
    /// The codec
    pub codec: OpenaiChat,
}

/// All presets.
pub static PRESETS: &[VendorPreset] = &[
    VendorPreset {
        id: "moonshot",
        base_url: Some("https://api.moonshot.ai"),
        key_env: Some("MOONSHOT_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            thinking: ThinkingSwitch::Thinking,
            stream_usage: UsagePlace::LastChunk,
            usage_unasked: true,
            rules: moonshot,
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "zhipu",
        base_url: Some("https://open.bigmodel.cn/api/paas"),
        key_env: Some("ZHIPUAI_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            path: "/v4/chat/completions",
            // "数组最大不得超过 64", says its page on embeddings.
            embed_format: Some(EmbedFormat::Openai {
                path: "/v4/embeddings",
                dimensions: "dimensions",
                limits: EmbedLimits::texts(64),
            }),
            max_tokens: "max_tokens",
            thinking: ThinkingSwitch::Thinking,
            stream_usage: UsagePlace::LastChunk,
            usage_unasked: true,
            rules: |profile, target| {
                thinks_in_text(profile, target);
                profile.thinking.switch = true;
                takes_videos(profile);
                profile.choice.none = false;
                profile.choice.required = false;
                profile.choice.tool = false;
                profile.parallel_switch = false;
                profile.sampling.max_temperature = Some(1);
                profile.sampling.seed = false;
                profile.format.schema = false;
                profile.format.named = false;
            },
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "qwen",
        base_url: Some("https://dashscope.aliyuncs.com/compatible-mode"),
        key_env: Some("DASHSCOPE_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            thinking: ThinkingSwitch::Flags,
            // "Each API call accepts up to 10 texts", says its page of questions.
            embed_format: Some(EmbedFormat::Openai {
                path: "/v1/embeddings",
                dimensions: "dimensions",
                limits: EmbedLimits::texts(10),
            }),
            rules: |profile, target| {
                thinks_in_text(profile, target);
                profile.system.late = LateSystem::Never;
                takes_videos(profile);
                profile.thinking.switch = true;
                profile.thinking.budget = true;
                profile.choice.required = false;
                profile.choice.forced_excludes_thinking = true;
                profile.sampling.top_k = true;
            },
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "groq",
        base_url: Some("https://api.groq.com/openai"),
        key_env: Some("GROQ_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            reasoning: "reasoning",
            rules: |profile, target| {
                thinks_in_text(profile, target);
                // Qwen's models there take `none` or `default`.
                profile.thinking.default_effort = true;
            },
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "openrouter",
        base_url: Some("https://openrouter.ai/api"),
        key_env: Some("OPENROUTER_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            max_tokens: "max_tokens",
            reasoning: "reasoning",
            thinking: ThinkingSwitch::Reasoning,
            cache_control: true,
            rules: |profile, target| {
                thinks_in_text(profile, target);
                // PDFs in base64 or by their address, says its page on them; videos, too.
                let kinds = &[MediaKind::Image, MediaKind::Document, MediaKind::Video];
                profile.content.media.base64 = kinds;
                profile.content.media.url = kinds;
                profile.content.cache = true;
                profile.content.cache_ttls = &["5m", "1h"];
                profile.tools.cache = true;
                profile.thinking.switch = true;
                profile.thinking.budget = true;
                // Its replies count `prompt_tokens_details.cache_write_tokens`.
                profile.reply.cache_write = true;
                // "One of the following (not both)", says its page on reasoning.
                profile.thinking.effort_or_budget = true;
                profile.sampling.top_k = true;
            },
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "xai",
        base_url: Some("https://api.x.ai"),
        key_env: Some("XAI_API_KEY"),
        codec: OpenaiChat::new(&Quirks { rules: thinks_in_text, ..OPENAI }),
    },
    VendorPreset {
        id: "vllm",
        base_url: Some("http://localhost:8000"),
        key_env: None,
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            reasoning: "reasoning",
            rules: served_here,
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "lmstudio",
        base_url: Some("http://localhost:1234"),
        key_env: None,
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            rules: |profile, target| {
                served_here(profile, target);
                // 400 "Invalid tool_choice type: 'object'".
                profile.choice.tool = false;
            },
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "together",
        base_url: Some("https://api.together.ai"),
        key_env: Some("TOGETHER_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            reasoning: "reasoning",
            rules: served_here,
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "fireworks",
        base_url: Some("https://api.fireworks.ai/inference"),
        key_env: Some("FIREWORKS_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            rules: served_here,
            ..OPENAI
        }),
    },
    VendorPreset {
        id: "siliconflow",
        base_url: Some("https://api.siliconflow.cn"),
        key_env: Some("SILICONFLOW_API_KEY"),
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            thinking: ThinkingSwitch::Flags,
            stream_usage: UsagePlace::LastChunk,
            usage_unasked: true,
            // 413 "input batch size … > maximum allowed batch size 32", or 64, by the model.
            embed_format: Some(EmbedFormat::Openai {
                path: "/v1/embeddings",
                dimensions: "dimensions",
                limits: EmbedLimits::texts(32),
            }),
            rules: |profile, target| {
                served_here(profile, target);
                profile.thinking.switch = true;
                profile.thinking.budget = true;
            },
            ..OPENAI
        }),
    },
    // Small projects use flat tools with chat messages, and no integers.
    VendorPreset {
        id: "openai-flat",
        base_url: None,
        key_env: None,
        codec: OpenaiChat::new(&Quirks {
            think_tags: true,
            max_tokens: "max_tokens",
            tool_shape: ToolShape::Flat,
            rules: |profile, target| {
                served_here(profile, target);
                profile.tools.parameters_required = true;
                profile.schema.integer_as_number = true;
            },
            ..OPENAI
        }),
    },
];

/// Finds a preset by its id.
pub fn find(id: &str) -> Option<&'static VendorPreset> {
    PRESETS.iter().find(|vendor| vendor.id == id)
}

/// Kimi, which thinks by default; the evidence is in `docs/dialects/vendors.md`.
fn moonshot(profile: &mut Profile, target: &Target<'_>) {
    thinks_in_text(profile, target);
    // The family before Kimi does not think, and accepts sampling settings.
    let kimi = target.model.is_none_or(|model| !model.starts_with("moonshot-v1"));
    // The third generation has an effort where the second has a switch.
    let third = target.model.is_some_and(|model| model.contains("kimi-k3"));
    profile.thinking.default_on = kimi;
    profile.thinking.switch = kimi && !third;
    profile.thinking.effort = third;
    profile.thinking.efforts = &["low", "high", "max"];
    // 400 "thinking is enabled but reasoning_content is missing in assistant tool call message".
    profile.reasoning.must_echo = kimi;
    // 400 "tool_choice 'specified' is incompatible with thinking enabled".
    profile.choice.forced_excludes_thinking = kimi && !third;
    profile.choice.tool = !third;
    profile.choice.required = third;
    profile.sampling.temperature = !kimi;
    profile.sampling.top_p = !kimi;
    profile.sampling.max_temperature = Some(1);
}

/// Images and videos, in base64 or by their address.
fn takes_videos(profile: &mut Profile) {
    profile.content.media.base64 = &[MediaKind::Image, MediaKind::Audio, MediaKind::Video];
    profile.content.media.url = &[MediaKind::Image, MediaKind::Video];
}

/// Open models behind a server: thinking in the text, more sampling settings, no limit on tools.
fn served_here(profile: &mut Profile, target: &Target<'_>) {
    thinks_in_text(profile, target);
    profile.system.late = LateSystem::Never;
    profile.tools.max = None;
    profile.schema.root_union = true;
    profile.sampling.top_k = true;
}
