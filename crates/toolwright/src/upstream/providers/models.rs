//! Names of models: `upstream/model`, or a bare id whose beginning tells whose it is.

use toolwright_core::suggest;

use super::{Known, all, find};
use crate::model::UnknownModel;

/// How bare ids begin, and whose they are then. The longest beginning counts. The page on vendors
/// says what the table was held against.
const BEGINNINGS: &[(&str, &str)] = &[
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("ft:gpt-", "openai"),
    ("ft:o4-", "openai"),
    ("codex-", "openai"),
    ("computer-use-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4-", "openai"),
    ("text-embedding-", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
    ("gemma-", "gemini"),
    ("learnlm-", "gemini"),
    ("lyria-", "gemini"),
    // Gemini's, not OpenAI's: text-embedding-004.
    ("text-embedding-0", "gemini"),
    // Qwen's: text-embedding-v4.
    ("text-embedding-v", "qwen"),
    ("deepseek-", "deepseek"),
    ("mistral-", "mistral"),
    ("ministral-", "mistral"),
    ("magistral-", "mistral"),
    ("codestral-", "mistral"),
    ("devstral-", "mistral"),
    ("pixtral-", "mistral"),
    ("voxtral-", "mistral"),
    ("labs-", "mistral"),
    ("open-codestral-", "mistral"),
    ("open-mistral-", "mistral"),
    ("open-mixtral-", "mistral"),
    ("command-", "cohere"),
    ("c4ai-", "cohere"),
    ("embed-", "cohere"),
    ("qwen", "qwen"),
    ("qwq-", "qwen"),
    ("qvq-", "qwen"),
    ("kimi-", "moonshot"),
    ("moonshot-", "moonshot"),
    ("glm-", "zhipu"),
    ("grok-", "xai"),
    ("arn:aws:bedrock:", "bedrock"),
    ("arn:aws-cn:bedrock:", "bedrock"),
    ("arn:aws-us-gov:bedrock:", "bedrock"),
    ("ai21.", "bedrock"),
    ("amazon.", "bedrock"),
    ("anthropic.", "bedrock"),
    ("cohere.", "bedrock"),
    ("deepseek.", "bedrock"),
    ("google.", "bedrock"),
    ("meta.", "bedrock"),
    ("minimax.", "bedrock"),
    ("mistral.", "bedrock"),
    ("moonshot.", "bedrock"),
    ("moonshotai.", "bedrock"),
    ("nvidia.", "bedrock"),
    ("openai.", "bedrock"),
    ("qwen.", "bedrock"),
    ("twelvelabs.", "bedrock"),
    ("writer.", "bedrock"),
    ("zai.", "bedrock"),
];

/// Where Bedrock's inference profiles run, before the vendor of an id: `us.anthropic.claude-…`.
const GEOGRAPHIES: &[&str] =
    &["us.", "eu.", "apac.", "global.", "jp.", "au.", "ca.", "us-gov.", "sa."];

/// What people call an upstream that has another id here.
const ALSO: &[(&str, &str)] = &[
    ("alibaba", "qwen"),
    ("amazon", "bedrock"),
    ("aws", "bedrock"),
    ("bigmodel", "zhipu"),
    ("chatgpt", "openai"),
    ("claude", "anthropic"),
    ("dashscope", "qwen"),
    ("glm", "zhipu"),
    ("google", "gemini"),
    ("grok", "xai"),
    ("kimi", "moonshot"),
    ("vertex", "gemini"),
];

/// The upstream of a model, and the model's name there.
pub fn resolve(name: &str) -> Result<(Known, &str), UnknownModel> {
    let split = name.split_once('/');
    if let Some((upstream, model)) = split
        && let Some(known) = find(upstream)
        && !model.is_empty()
    {
        return Ok((known, model));
    }
    if let Some(known) = of_model(name) {
        return Ok((known, name));
    }
    let unknown = UnknownModel::new(name);
    let Some((upstream, model)) = split else { return Err(unknown) };
    let ids: Vec<&str> = all().map(|known| known.id).collect();
    let also = ALSO.iter().find(|(own, _)| own.eq_ignore_ascii_case(upstream));
    let suggestion = also.map(|(_, id)| *id).or_else(|| suggest(upstream, ids.iter().copied()));
    Err(match suggestion {
        Some(id) if !model.is_empty() => unknown.with_suggestion(format!("{id}/{model}")),
        _ => unknown,
    })
}

/// Whose a bare id is, by how it begins.
pub fn of_model(model: &str) -> Option<Known> {
    let id = |model: &str| {
        let begins = BEGINNINGS.iter().filter(|(beginning, _)| model.starts_with(beginning));
        begins.max_by_key(|(beginning, _)| beginning.len()).map(|(_, id)| *id)
    };
    // A geography stands only before ids of Bedrock.
    let placed = GEOGRAPHIES.iter().find_map(|geography| model.strip_prefix(geography));
    match placed.and_then(id) {
        Some("bedrock") => find("bedrock"),
        _ => find(id(model)?),
    }
}
