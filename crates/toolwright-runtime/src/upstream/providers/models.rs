//! Names of models: `provider/model`, or a bare id whose prefix identifies the provider.

use toolwright_core::suggest;

use super::{Provider, all, find};
use crate::model::UnknownModel;

/// Prefixes of bare ids, with the provider of each. The longest matching prefix counts.
/// `docs/dialects/vendors.md` says which lists of models the table was checked against.
const PREFIXES: &[(&str, &str)] = &[
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

/// Geographies of Bedrock's inference profiles, which precede the vendor: `us.anthropic.claude-…`.
const GEOGRAPHIES: &[&str] =
    &["us.", "eu.", "apac.", "global.", "jp.", "au.", "ca.", "us-gov.", "sa."];

/// Other names of providers, with the id here.
const SYNONYMS: &[(&str, &str)] = &[
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

/// Finds the provider of a model and the name that the provider has for it.
pub fn resolve(name: &str) -> Result<(Provider, &str), UnknownModel> {
    let split = name.split_once('/');
    if let Some((id, model)) = split
        && let Some(provider) = find(id)
        && !model.is_empty()
    {
        return Ok((provider, model));
    }
    if let Some(provider) = for_model(name) {
        return Ok((provider, name));
    }
    let unknown = UnknownModel::new(name);
    let Some((id, model)) = split else { return Err(unknown) };
    let ids: Vec<&str> = all().map(|provider| provider.id).collect();
    let synonym = SYNONYMS.iter().find(|(name, _)| name.eq_ignore_ascii_case(id));
    let suggestion = synonym.map(|(_, id)| *id).or_else(|| suggest(id, ids.iter().copied()));
    Err(match suggestion {
        Some(id) if !model.is_empty() => unknown.with_suggestion(format!("{id}/{model}")),
        _ => unknown,
    })
}

/// Finds the provider of a bare id by its prefix.
pub fn for_model(model: &str) -> Option<Provider> {
    let id = |model: &str| {
        let matching = PREFIXES.iter().filter(|(prefix, _)| model.starts_with(prefix));
        matching.max_by_key(|(prefix, _)| prefix.len()).map(|(_, id)| *id)
    };
    // Only ids of Bedrock have a geography.
    let regional = GEOGRAPHIES.iter().find_map(|geography| model.strip_prefix(geography));
    match regional.and_then(id) {
        Some("bedrock") => find("bedrock"),
        _ => find(id(model)?),
    }
}
