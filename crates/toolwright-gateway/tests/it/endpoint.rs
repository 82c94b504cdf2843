//! Which dialect a path belongs to, and what the path encodes.

use toolwright_core::Dialect::{
    self, Anthropic, Bedrock, Cohere, Deepseek, Gemini, Mistral, Ollama, OpenaiChat,
    OpenaiResponses,
};
use toolwright_gateway::proxy::endpoint::Endpoint;

#[test]
fn every_vendor_is_under_its_own_path_and_under_its_id() {
    let paths: &[(&str, Dialect)] = &[
        ("/v1/chat/completions", OpenaiChat),
        ("/openai-chat/v1/chat/completions", OpenaiChat),
        ("/openai-chat/chat/completions", OpenaiChat),
        ("/v1/responses", OpenaiResponses),
        ("/openai-responses/v1/responses", OpenaiResponses),
        ("/v1/messages", Anthropic),
        ("/anthropic/v1/messages", Anthropic),
        ("/v1/messages/count_tokens", Anthropic),
        ("/anthropic/v1/messages/count_tokens", Anthropic),
        ("/model/m/converse", Bedrock),
        ("/bedrock/model/m/converse-stream", Bedrock),
        ("/deepseek/chat/completions", Deepseek),
        ("/deepseek/v1/chat/completions", Deepseek),
        ("/deepseek/beta/chat/completions", Deepseek),
        ("/v1beta/models/m:generateContent", Gemini),
        ("/v1/models/m:streamGenerateContent", Gemini),
        ("/v1beta1/publishers/google/models/m:generateContent", Gemini),
        ("/v1/projects/p-1/locations/us/publishers/google/models/m:generateContent", Gemini),
        ("/gemini/v1beta/models/m:generateContent", Gemini),
        ("/v1beta/models/m:countTokens", Gemini),
        ("/api/show", Ollama),
        ("/ollama/api/show", Ollama),
        ("/api/chat", Ollama),
        ("/ollama/api/chat", Ollama),
        ("/mistral/v1/chat/completions", Mistral),
        ("/v2/chat", Cohere),
        ("/cohere/v2/chat", Cohere),
    ];
    for (path, dialect) in paths {
        let found = Endpoint::find(path, None);
        assert_eq!(found.map(|own| own.dialect), Some(*dialect), "{path}");
    }
}

#[test]
fn unknown_paths_have_no_endpoint() {
    for path in [
        "/",
        "/v1",
        "/v1/chat/completions/",
        "/chat/completions",
        "/anthropic/v1/chat/completions",
        "/anthropic/model/m/converse",
        "/mcp/v1/chat/completions",
        "/model//converse",
        "/model/converse",
        "/v1/models/:generateContent",
        "/v1/models/m:embedContent",
        "/v3/models/m:generateContent",
        // Path traversal, and prefixes that are not the vendor's.
        "/v1beta/x%2F..%2F..%2Fadmin/models/m:generateContent",
        "/v1beta/x%252F%252e%252e%252Fadmin/models/m:generateContent",
        "/v1beta/cachedContents/models/m:generateContent",
        "/v1beta1/publishers/a%2Fb/models/m:generateContent",
        "/v1beta/models/..%2F..%2Fadmin:generateContent",
        "/model/a%2f..%2f..%2fadmin/converse",
        "/model/a%5c..%5cadmin/converse",
        "/model/a%2f..;x%2fadmin/converse",
        "/model/%25252525252e%25252525252e/converse",
    ] {
        assert!(Endpoint::find(path, None).is_none(), "{path}");
    }
    assert_eq!(Endpoint::nearest("/bedrock/nothing"), Bedrock);
    assert_eq!(Endpoint::nearest("/v1beta/models/m:embedContent"), Gemini);
    assert_eq!(Endpoint::nearest("/elsewhere"), OpenaiChat);
}

#[test]
fn a_model_in_the_path_is_read_raw_and_escaped_and_can_be_replaced() {
    let found = |path: &str| Endpoint::find(path, None).unwrap();
    for (path, model, stream) in [
        ("/model/us.anthropic.claude%3A0/converse", "us.anthropic.claude:0", false),
        ("/model/us.anthropic.claude:0/converse-stream", "us.anthropic.claude:0", true),
        ("/model/claude%2Fhaiku/converse", "claude/haiku", false),
        ("/model/claude/haiku/converse", "claude/haiku", false),
        ("/v1beta/models/claude/haiku:generateContent", "claude/haiku", false),
        ("/v1/models/claude%2Fhaiku:streamGenerateContent", "claude/haiku", true),
        ("/v1/models/a:b:generateContent", "a:b", false),
        ("/v1/models/快速:generateContent", "快速", false),
    ] {
        let said = found(path).target.unwrap();
        assert_eq!((said.model.as_str(), said.stream), (model, stream), "{path}");
    }
    let renamed = |path: &str, model: &str| found(path).address_for(model);
    assert_eq!(renamed("/model/a/converse", "b/c:0"), "/model/b%2Fc%3A0/converse");
    assert_eq!(renamed("/gemini/v1/models/a:generateContent", "b"), "/v1/models/b:generateContent");
    // A path that already names the model stays byte for byte.
    assert_eq!(renamed("/model/a:0/converse", "a:0"), "/model/a:0/converse");
}

#[test]
fn a_credential_in_the_query_is_not_forwarded() {
    let address = |query: &str| {
        Endpoint::find("/v1/models/m:streamGenerateContent", Some(query)).unwrap().address()
    };
    assert_eq!(address("alt=sse"), "/v1/models/m:streamGenerateContent?alt=sse");
    assert_eq!(address("key=secret&alt=sse"), "/v1/models/m:streamGenerateContent?alt=sse");
    for query in ["key=secret", "KEY=secret", "%6bey=secret"] {
        assert_eq!(address(query), "/v1/models/m:streamGenerateContent", "{query}");
    }
}
