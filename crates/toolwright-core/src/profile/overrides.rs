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

toolwright_json::words! {
    /// A request setting that can be dropped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Setting: name {
        /// The limit on output tokens
        MaxTokens = "max_tokens",
        /// Temperature
        Temperature = "temperature",
        /// Nucleus sampling
        TopP = "top_p",
        /// Number of candidate tokens
        TopK = "top_k",
        /// Stop sequences
        Stop = "stop",
        /// Seed
        Seed = "seed",
        /// Penalty for frequent tokens
        FrequencyPenalty = "frequency_penalty",
        /// Penalty for tokens that occurred
        PresencePenalty = "presence_penalty",
        /// Number of answers
        Answers = "n",
        /// Log probabilities, with the number of alternatives
        Logprobs = "logprobs",
        /// Number of alternatives at each position
        TopLogprobs = "top_logprobs",
        /// Id of the end user
        User = "user",
        /// Tool choice
        ToolChoice = "tool_choice",
        /// The switch for parallel calls
        ParallelToolCalls = "parallel_tool_calls",
        /// The `strict` flag of tools
        Strict = "strict",
        /// Every reasoning control
        Reasoning = "reasoning",
        /// Whether to show the thinking, or a summary of it
        ReasoningSummary = "reasoning_summary",
        /// The response format
        ResponseFormat = "response_format",
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
