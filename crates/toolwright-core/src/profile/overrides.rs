//! Settings of an upstream or alias that override those of the dialect and the model family.

use std::str::FromStr;

/// Settings that the operator configured for an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Limit on output tokens to send if the client sets none
    pub max_tokens: Option<u64>,
    /// Request settings that are never sent
    pub drop: Vec<Setting>,
}

impl Overrides {
    /// No overrides.
    pub const NONE: Overrides = Overrides { max_tokens: None, drop: Vec::new() };

    /// Whether requests must be rewritten for them, even if the client speaks the upstream's dialect.
    pub fn is_empty(&self) -> bool {
        *self == Overrides::NONE
    }
}

/// A request setting that can be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The limit on output tokens
    MaxTokens,
    /// Temperature
    Temperature,
    /// Nucleus sampling
    TopP,
    /// Number of candidate tokens
    TopK,
    /// Stop sequences
    Stop,
    /// Seed
    Seed,
    /// Penalty for frequent tokens
    FrequencyPenalty,
    /// Penalty for tokens that occurred
    PresencePenalty,
    /// Number of answers
    Answers,
    /// Log probabilities, with the number of alternatives
    Logprobs,
    /// Number of alternatives at each position
    TopLogprobs,
    /// Id of the end user
    User,
    /// Tool choice
    ToolChoice,
    /// The switch for parallel calls
    ParallelToolCalls,
    /// The `strict` flag of tools
    Strict,
    /// Every reasoning control
    Reasoning,
    /// Whether to show the thinking, or a summary of it
    ReasoningSummary,
    /// The response format
    ResponseFormat,
}

impl Setting {
    /// All settings.
    pub const ALL: [Setting; 18] = [
        Setting::MaxTokens,
        Setting::Temperature,
        Setting::TopP,
        Setting::TopK,
        Setting::Stop,
        Setting::Seed,
        Setting::FrequencyPenalty,
        Setting::PresencePenalty,
        Setting::Answers,
        Setting::Logprobs,
        Setting::TopLogprobs,
        Setting::User,
        Setting::ToolChoice,
        Setting::ParallelToolCalls,
        Setting::Strict,
        Setting::Reasoning,
        Setting::ReasoningSummary,
        Setting::ResponseFormat,
    ];

    /// Returns the name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Setting::MaxTokens => "max_tokens",
            Setting::Temperature => "temperature",
            Setting::TopP => "top_p",
            Setting::TopK => "top_k",
            Setting::Stop => "stop",
            Setting::Seed => "seed",
            Setting::FrequencyPenalty => "frequency_penalty",
            Setting::PresencePenalty => "presence_penalty",
            Setting::Answers => "n",
            Setting::Logprobs => "logprobs",
            Setting::TopLogprobs => "top_logprobs",
            Setting::User => "user",
            Setting::ToolChoice => "tool_choice",
            Setting::ParallelToolCalls => "parallel_tool_calls",
            Setting::Strict => "strict",
            Setting::Reasoning => "reasoning",
            Setting::ReasoningSummary => "reasoning_summary",
            Setting::ResponseFormat => "response_format",
        }
    }
}

impl FromStr for Setting {
    type Err = UnknownSetting;

    fn from_str(name: &str) -> Result<Setting, UnknownSetting> {
        let named = Setting::ALL.into_iter().find(|setting| setting.name() == name);
        named.ok_or_else(|| UnknownSetting(name.to_owned()))
    }
}

/// The error for a text that is not the name of a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no setting '{0}'; accepted: {names}", names = Setting::ALL.map(Setting::name).join(", "))]
pub struct UnknownSetting(String);
