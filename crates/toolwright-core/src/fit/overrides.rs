//! Settings of one upstream or alias that override what the dialect and the model family say, and the
//! last pass, which drops the request settings that an upstream is configured not to get.

use std::str::FromStr;

use super::{Severity, Site, Work};
use crate::origin::Origin;

/// What the operator configured for an upstream.
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
    /// The wish to see the thinking, or a summary of it
    ReasoningSummary,
    /// The format of the answer
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

    /// Its name in the configuration.
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
    type Err = ();

    fn from_str(name: &str) -> Result<Setting, ()> {
        Setting::ALL.into_iter().find(|setting| setting.name() == name).ok_or(())
    }
}

pub(super) fn pass(work: &mut Work<'_>) {
    for setting in &work.profile.overrides.drop {
        for site in remove(work, *setting) {
            let why = "the upstream is configured not to get it";
            work.lose(Severity::Minor, site, "dropped", why);
        }
    }
}

/// Removes a setting; the places where it stood.
fn remove(work: &mut Work<'_>, setting: Setting) -> Vec<Site> {
    let request = &mut work.request;
    let sampling = &mut request.sampling;
    let field = |was: bool, name: &'static str| {
        was.then(|| Site::field(&Origin::NONE, name)).into_iter().collect()
    };
    match setting {
        Setting::MaxTokens => field(sampling.max_tokens.take().is_some(), "max_tokens"),
        Setting::Temperature => field(sampling.temperature.take().is_some(), "temperature"),
        Setting::TopP => field(sampling.top_p.take().is_some(), "top_p"),
        Setting::TopK => field(sampling.top_k.take().is_some(), "top_k"),
        Setting::Stop => field(!std::mem::take(&mut sampling.stop).is_empty(), "stop"),
        Setting::Seed => field(sampling.seed.take().is_some(), "seed"),
        Setting::FrequencyPenalty => {
            field(sampling.frequency_penalty.take().is_some(), "frequency_penalty")
        }
        Setting::PresencePenalty => {
            field(sampling.presence_penalty.take().is_some(), "presence_penalty")
        }
        Setting::Answers => field(sampling.answers.take().is_some(), "answers"),
        Setting::Logprobs => {
            let mut sites: Vec<Site> = field(sampling.logprobs.take().is_some(), "logprobs");
            sites.extend(remove(work, Setting::TopLogprobs));
            sites
        }
        Setting::TopLogprobs => field(sampling.top_logprobs.take().is_some(), "top_logprobs"),
        Setting::User => field(request.user.take().is_some(), "user"),
        Setting::ToolChoice => field(request.tool_choice.take().is_some(), "tool_choice"),
        Setting::ParallelToolCalls => field(request.parallel.take().is_some(), "parallel"),
        Setting::Strict => {
            let strict = request
                .tools
                .iter_mut()
                .filter_map(|tool| tool.strict.take().map(|_| Site::field(&tool.origin, "strict")));
            strict.collect()
        }
        Setting::Reasoning => {
            let Some(thinking) = request.thinking.take() else { return Vec::new() };
            let said = [
                (thinking.enabled.is_some(), "thinking"),
                (thinking.effort.is_some(), "effort"),
                (thinking.budget.is_some(), "budget"),
                (thinking.show.is_some(), "show"),
            ];
            said.into_iter().flat_map(|(was, name)| field(was, name)).collect::<Vec<Site>>()
        }
        Setting::ReasoningSummary => {
            let thinking = request.thinking.as_mut();
            field(thinking.and_then(|own| own.show.take()).is_some(), "show")
        }
        Setting::ResponseFormat => field(request.format.take().is_some(), "format"),
    }
}
