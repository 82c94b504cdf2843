//! Model families: the limits, sampling settings and reasoning controls of a model, found by its id.
//!
//! One row per family, one table per maker ([`claude`], [`openai`], [`gemini`]). The id may have any
//! of the forms in use: `claude-sonnet-4-5-20250929`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`
//! (Bedrock), `anthropic/claude-sonnet-4.5` (OpenRouter), `claude-sonnet-4-5@20250929` (Vertex).
//! Rows are ordered from the newest version to the oldest, so a version that is not listed yet gets
//! the rules of the newest one below it. The sources are listed in `docs/dialects/models.md`.

mod claude;
mod gemini;
mod openai;

pub use claude::{ANY_CLAUDE, CLAUDE, claude};
pub use gemini::{ANY_GEMINI, GEMINI, gemini};
pub use openai::{OPENAI, openai};

/// A group of models that accept the same settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Name of the row, for tests and documentation
    pub name: &'static str,
    /// Context window in tokens, of which some models of the family may have more; `None` if unknown
    pub context_window: Option<u64>,
    /// Maximum number of output tokens in one request; `None` if unknown
    pub max_output: Option<u64>,
    /// When `temperature`, `top_p` and `top_k` must keep their defaults
    pub fixed_sampling: FixedSampling,
    /// Whether `temperature` and `top_p` exclude each other
    pub one_of_sampling: bool,
    /// Whether stop sequences are accepted
    pub stop: bool,
    /// Accepted effort words, from the least to the greatest; empty if effort is refused
    pub efforts: &'static [&'static str],
    /// Accepted thinking budgets in tokens, least and greatest; `None` if budgets are refused
    pub budget: Option<(u64, u64)>,
    /// Whether thinking can be switched on without a budget (`adaptive`)
    pub adaptive: bool,
    /// Whether the model thinks if the request does not say
    pub default_on: bool,
    /// Whether thinking can be switched off
    pub can_disable: bool,
    /// Whether replies omit the text of the thinking unless the request asks for it
    pub hidden: bool,
    /// Whether a tool call can be forced
    pub forced_choice: bool,
    /// Whether a system message may stand within the conversation
    pub late_system: bool,
    /// Whether function tools require that reasoning is off (Chat Completions only)
    pub tools_exclude_reasoning: bool,
}

/// When `temperature`, `top_p` and `top_k` must keep their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixedSampling {
    /// Never
    Never,
    /// While the model thinks
    WhileThinking,
    /// Always
    Always,
}

impl Family {
    /// A family about which nothing is known: every setting is passed on.
    pub const UNKNOWN: Family = Family {
        name: "unknown",
        context_window: None,
        max_output: None,
        fixed_sampling: FixedSampling::Never,
        one_of_sampling: false,
        stop: true,
        efforts: &[],
        budget: None,
        adaptive: true,
        default_on: false,
        can_disable: true,
        hidden: false,
        forced_choice: true,
        late_system: false,
        tools_exclude_reasoning: false,
    };

    /// The family of a model of any maker.
    pub fn find(model: &str) -> Option<&'static Family> {
        let deepseek = || words(model).iter().any(|word| word == "deepseek").then_some(&DEEPSEEK);
        claude(model).or_else(|| openai(model)).or_else(|| gemini(model)).or_else(deepseek)
    }

    /// Whether the model can think at all.
    pub fn thinks(&self) -> bool {
        !self.efforts.is_empty() || self.budget.is_some() || self.default_on
    }
}

/// DeepSeek's models. The dialect has their other rules.
const DEEPSEEK: Family =
    Family { name: "deepseek", context_window: Some(128_000), ..Family::UNKNOWN };

/// Returns the words of a model id, in lower case, without what precedes the last slash (a vendor,
/// an ARN, a resource path) or follows a colon (a Bedrock revision, an OpenRouter variant).
fn words(id: &str) -> Vec<String> {
    let name = id.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default().to_ascii_lowercase();
    name.split(['-', '.', '@', '_']).map(str::to_owned).collect()
}

/// Returns the version in the words of an id: its first number, and the number after it. A date is
/// not a version.
fn version(words: &[String]) -> Option<(u32, u32)> {
    let number = |word: &String| word.parse().ok().filter(|_| word.len() <= 2);
    let (at, major) = words.iter().enumerate().find_map(|(at, word)| Some((at, number(word)?)))?;
    Some((major, words.get(at + 1).and_then(number).unwrap_or(0)))
}
