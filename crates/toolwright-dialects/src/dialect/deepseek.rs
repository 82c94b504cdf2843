//! DeepSeek: the Chat Completions format with its own quirks. Sources and dates are in
//! `docs/dialects/deepseek.md`.

use toolwright_core::Dialect;
use toolwright_core::profile::{MediaRule, Profile, Subset};

use crate::codec::Target;
use crate::dialect::openai_chat::{
    OPENAI, OpenaiChat, Quirks, ThinkingSwitch, UsagePlace, thinks_in_text,
};

/// The codec.
pub static CODEC: OpenaiChat = OpenaiChat::new(&Quirks {
    dialect: Dialect::Deepseek,
    path: "/chat/completions",
    strict_path: Some("/beta/chat/completions"),
    max_tokens: "max_tokens",
    thinking: ThinkingSwitch::Thinking,
    empty_content: true,
    stream_usage: UsagePlace::LastChunk,
    embed_format: None,
    rules,
    ..OPENAI
});

fn rules(profile: &mut Profile, target: &Target<'_>) {
    thinks_in_text(profile, target);
    // 400 "tools[7].type: unknown variant `namespace`, expected `function`"; unknown fields are ignored.
    profile.known_types_only = true;
    profile.schema.strict = Subset::DeepseekStrict;
    // 400 "Thinking mode does not support this tool_choice".
    profile.choice.forced_excludes_thinking = true;
    profile.parallel_switch = false;
    profile.system.single_text = true;
    profile.turns.single_text = true;
    profile.content.media = MediaRule::NONE;
    profile.outcome.many_texts = false;
    // Once tools are involved, the thinking of every turn must be returned (case 8); the reasoner
    // models before V4 refused it.
    let echo = target.model != Some("deepseek-reasoner");
    profile.reasoning.replay = echo;
    profile.reasoning.must_echo = echo;
    profile.sampling.seed = false;
    profile.sampling.answers = false;
    profile.sampling.user = false;
    profile.thinking.switch = true;
    profile.thinking.default_on = true;
    profile.format.schema = false;
    profile.format.named = false;
}
