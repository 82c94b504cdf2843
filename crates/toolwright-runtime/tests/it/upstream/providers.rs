//! Known upstreams, found in given environments.

use toolwright_core::Message;
use toolwright_runtime::model::Model;
use toolwright_runtime::resolve::ModelError;
use toolwright_runtime::upstream::providers::{
    self, discover, find, for_dialect, for_model, resolve,
};
use toolwright_transport::secret::SecretString;

use super::replay::{Replay, Reply, recorded};

/// Variables with their values.
type Pairs<'e> = &'e [(&'e str, &'e str)];

/// An environment of these variables.
fn environment(pairs: Pairs<'_>) -> impl Fn(&str) -> Option<String> + '_ {
    move |name| pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
}

fn found(pairs: Pairs<'_>) -> Vec<String> {
    let remotes = discover(&environment(pairs)).expect("remotes");
    remotes.iter().map(|remote| remote.id().to_owned()).collect()
}

fn refused(name: &str, pairs: Pairs<'_>) -> String {
    Model::from_env(name, &environment(pairs)).unwrap_err().to_string()
}

#[test]
fn an_empty_environment_has_no_upstreams() {
    assert_eq!(found(&[]), [""; 0]);
    assert_eq!(found(&[("OPENAI_API_KEY", ""), ("PATH", "/bin")]), [""; 0]);
}

#[test]
fn upstreams_are_found_by_the_variables_of_their_sdks() {
    let cases: &[(Pairs<'_>, &[&str])] = &[
        (&[("OPENAI_API_KEY", "k")], &["openai", "openai-responses"]),
        (&[("ANTHROPIC_API_KEY", "k")], &["anthropic"]),
        (&[("ANTHROPIC_AUTH_TOKEN", "k")], &["anthropic"]),
        (&[("GEMINI_API_KEY", "k")], &["gemini"]),
        (&[("GOOGLE_API_KEY", "k")], &["gemini"]),
        (&[("CO_API_KEY", "k")], &["cohere"]),
        (&[("COHERE_API_KEY", "k")], &["cohere"]),
        (&[("DEEPSEEK_API_KEY", "k"), ("MISTRAL_API_KEY", "k")], &["deepseek", "mistral"]),
        (&[("OLLAMA_HOST", "0.0.0.0")], &["ollama"]),
        (&[("OLLAMA_API_KEY", "k")], &["ollama"]),
        (&[("DASHSCOPE_API_KEY", "k"), ("XAI_API_KEY", "k")], &["qwen", "xai"]),
        (&[("AWS_BEARER_TOKEN_BEDROCK", "k"), ("AWS_REGION", "eu-west-1")], &["bedrock"]),
        (&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")], &[]),
        (
            &[
                ("AWS_ACCESS_KEY_ID", "a"),
                ("AWS_SECRET_ACCESS_KEY", "s"),
                ("AWS_DEFAULT_REGION", "us-east-1"),
            ],
            &["bedrock"],
        ),
    ];
    for (pairs, ids) in cases {
        assert_eq!(found(pairs), *ids, "{pairs:?}");
    }
    let wrong = discover(&environment(&[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "nowhere")]));
    let message = wrong.unwrap_err().to_string();
    assert!(message.contains("OPENAI_BASE_URL") && !message.contains("nowhere"), "{message}");
}

#[test]
fn every_known_upstream_can_be_set_up() {
    for provider in providers::all() {
        let every = |name: &str| match name {
            "AWS_REGION" => Some("us-east-1".to_owned()),
            name if provider.addresses.contains(&name) => None,
            _ => Some("key".to_owned()),
        };
        let remote = provider.remote(&every).unwrap();
        assert_eq!(remote.id(), provider.id);
        assert_eq!(find(provider.id).map(|own| own.id), Some(provider.id));
        assert!(!provider.setup_hint().is_empty());
    }
    assert!(find("openai-flat").is_none(), "everybody has it at another address");
    let ids: Vec<&str> = providers::all().map(|provider| provider.id).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "{ids:?}");
}

#[test]
fn a_dialect_has_a_default_upstream() {
    let id = |dialect| for_dialect(dialect).map(|provider| provider.id);
    assert_eq!(id("openai-chat"), Some("openai"));
    assert_eq!(id("openai-responses"), Some("openai-responses"));
    assert_eq!(id("moonshot"), Some("moonshot"));
    assert_eq!(id("mcp"), None);
    let bedrock = find("bedrock").unwrap();
    let url = |region| bedrock.base_url(region).map_err(|error| error.to_string());
    let host = "https://bedrock-runtime.cn-north-1.amazonaws.com.cn";
    assert_eq!(url(Some("cn-north-1")).as_deref(), Ok(host));
    assert!(url(Some("evil.example/")).is_err() && url(None).is_err());
    let key = || SecretString::from("k");
    let shown = |id| format!("{:?}", find(id).unwrap().credential(key()));
    assert_eq!(shown("anthropic"), r#"Header("x-api-key", Secret(…))"#);
    assert_eq!(shown("gemini"), r#"Header("x-goog-api-key", Secret(…))"#);
    assert_eq!(shown("bedrock"), "Bearer(Secret(…))");
    assert_eq!(shown("qwen"), "Bearer(Secret(…))");
}

#[test]
fn bare_model_ids_identify_their_vendor() {
    let cases = [
        ("gpt-4o", "openai"),
        ("o3-mini", "openai"),
        ("text-embedding-3-small", "openai"),
        ("text-embedding-004", "gemini"),
        ("text-embedding-v4", "qwen"),
        ("claude-haiku-5", "anthropic"),
        ("gemini-3-pro", "gemini"),
        ("deepseek-chat", "deepseek"),
        ("codestral-latest", "mistral"),
        ("open-codestral-mamba", "mistral"),
        ("ft:o4-mini-2025-04-16", "openai"),
        ("eu.twelvelabs.pegasus-1-2-v1:0", "bedrock"),
        ("command-a-03-2025", "cohere"),
        ("qwen3-max", "qwen"),
        ("kimi-k2", "moonshot"),
        ("glm-4.6", "zhipu"),
        ("grok-4", "xai"),
        ("anthropic.claude-haiku-5-v1:0", "bedrock"),
        ("us.anthropic.claude-haiku-5-v1:0", "bedrock"),
        ("global.amazon.nova-pro-v1:0", "bedrock"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude", "bedrock"),
    ];
    for (model, id) in cases {
        assert_eq!(for_model(model).map(|provider| provider.id), Some(id), "{model}");
        let (provider, name) = resolve(model).unwrap();
        assert_eq!((provider.id, name), (id, model));
    }
    for model in ["", "llama3", "us.gpt-4o", "nobody/gpt"] {
        assert!(for_model(model).is_none(), "{model}");
    }
    let (provider, name) = resolve("openrouter/qwen/qwen3-max").unwrap();
    assert_eq!((provider.id, name), ("openrouter", "qwen/qwen3-max"));
}

#[test]
fn unknown_vendors_and_missing_keys_are_reported() {
    let cases = [
        ("opnai/gpt-4o", "did you mean 'openai/gpt-4o'?"),
        ("google/gemini-3-pro", "did you mean 'gemini/gemini-3-pro'?"),
        ("llama3", "no upstream is known for the model 'llama3'; one that"),
        ("openai/", "no upstream is known for the model 'openai/'"),
        ("gpt-4o", "upstream `openai` needs a key: set OPENAI_API_KEY"),
        ("gemini/x", "set GOOGLE_API_KEY, or GEMINI_API_KEY"),
        ("zhipu/x", "set ZHIPUAI_API_KEY"),
        (
            "bedrock/x",
            "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
        ),
    ];
    for (name, said) in cases {
        let message = refused(name, &[]);
        assert!(message.contains(said), "{name}: {message}");
    }
    let message = refused("bedrock/x", &[("AWS_BEARER_TOKEN_BEDROCK", "k")]);
    assert!(message.contains("AWS_REGION"), "{message}");
    let message = refused("gpt-4o", &[("OPENAI_API_KEY", "very\nsecret")]);
    assert!(!message.contains("secret"), "{message}");
    assert!(matches!(Model::new("nobody/nothing"), Err(ModelError::Unknown(_))));
    #[cfg(feature = "offline")]
    assert_eq!(Model::new("offline/rules").unwrap().name(), "offline/rules");
}

#[tokio::test]
async fn a_model_is_called_by_its_name_alone() {
    let openai = || Reply::json(recorded("openai-chat/accepted/openai_chat_final.json"));
    let replay = Replay::of([openai()]).await;
    // With the version, as OpenAI's SDK expects.
    let url = format!("{}/v1", replay.url());
    let pairs = [
        ("OPENAI_API_KEY", " sk-1 "),
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_ORG_ID", "org-1"),
    ];
    for name in ["gpt-4o", "openai/gpt-4o"] {
        let model = Model::from_env(name, &environment(&pairs)).unwrap();
        let response = model.chat([Message::user("hi")]).send().await.unwrap();
        assert!(!response.text().is_empty());
    }
    for seen in replay.seen() {
        assert_eq!(seen.path(), "/v1/chat/completions");
        assert_eq!(seen.text("/model"), Some("gpt-4o"));
        assert_eq!(seen.header("authorization"), Some("Bearer sk-1"));
        assert_eq!(seen.header("openai-organization"), Some("org-1"));
    }
    let anthropic = Reply::json(recorded("anthropic/accepted/anthropic_final.json"));
    let replay = Replay::of([anthropic]).await;
    let url = replay.url();
    let pairs = [("ANTHROPIC_API_KEY", "sk-2"), ("ANTHROPIC_BASE_URL", url.as_str())];
    let model = Model::from_env("claude-haiku-5", &environment(&pairs)).unwrap();
    model.chat([Message::user("hi")]).send().await.unwrap();
    let seen = &replay.seen()[0];
    assert_eq!(seen.header("x-api-key"), Some("sk-2"));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
}
