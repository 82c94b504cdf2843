//! Which route a path belongs to, and what the path encodes.

use http::{HeaderMap, Method};
use toolwright_core::Dialect::{
    self, Anthropic, Bedrock, Cohere, Deepseek, Gemini, Mistral, Ollama, OpenaiChat,
    OpenaiResponses,
};
use toolwright_gateway::gateway::openapi;
use toolwright_gateway::gateway::routes::{
    self as table, ClientEndpoint, FaultForm, NoRoute, ROUTES, Target, nearest_form,
};
use toolwright_gateway::proxy::endpoint::Endpoint;
use toolwright_gateway::responses::routes::Action;

/// The endpoint of an exchange at a path.
fn endpoint(path: &str, query: Option<&str>) -> Option<Endpoint> {
    table::find(&Method::POST, path, &HeaderMap::new()).ok()?.endpoint(query)
}

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
        let found = endpoint(path, None);
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
        assert!(endpoint(path, None).is_none(), "{path}");
    }
    assert_eq!(nearest_form("/bedrock/nothing"), FaultForm::Dialect(Bedrock));
    assert_eq!(nearest_form("/v1beta/models/m:embedContent"), FaultForm::Dialect(Gemini));
    assert_eq!(nearest_form("/elsewhere"), FaultForm::Dialect(OpenaiChat));
    assert_eq!(nearest_form("/internal/nothing"), FaultForm::Detail);
}

#[test]
fn a_model_in_the_path_is_read_raw_and_escaped_and_can_be_replaced() {
    let found = |path: &str| endpoint(path, None).unwrap();
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
        endpoint("/v1/models/m:streamGenerateContent", Some(query)).unwrap().address()
    };
    assert_eq!(address("alt=sse"), "/v1/models/m:streamGenerateContent?alt=sse");
    assert_eq!(address("key=secret&alt=sse"), "/v1/models/m:streamGenerateContent?alt=sse");
    for query in ["key=secret", "KEY=secret", "%6bey=secret"] {
        assert_eq!(address(query), "/v1/models/m:streamGenerateContent", "{query}");
    }
}

#[test]
fn stored_responses_are_found_by_path_and_method() {
    let find = |method: &Method, path: &str| {
        let found = table::find(method, path, &HeaderMap::new()).ok()?;
        match found.route.target {
            Target::Client(ClientEndpoint::StoredResponse(action)) => {
                Some((action, found.parameters.text("id", found.path)?.to_owned()))
            }
            _ => None,
        }
    };
    for (method, path, action) in [
        (Method::GET, "/v1/responses/resp_1", Some(Action::Retrieve)),
        (Method::GET, "/openai-responses/responses/resp_1", Some(Action::Retrieve)),
        (Method::DELETE, "/v1/responses/resp_1", Some(Action::Delete)),
        (
            Method::GET,
            "/openai-responses/v1/responses/resp_1/input_items",
            Some(Action::InputItems),
        ),
        (Method::POST, "/v1/responses/resp_1/cancel", Some(Action::Cancel)),
        (Method::POST, "/v1/responses/resp_1", None),
        (Method::GET, "/v1/responses/", None),
        (Method::GET, "/v1/responses", None),
        (Method::GET, "/v1/responses/%2e%2e", None),
        (Method::GET, "/anthropic/v1/responses/resp_1", None),
    ] {
        let expected = action.map(|action| (action, "resp_1".to_owned()));
        assert_eq!(find(&method, path), expected, "{method} {path}");
    }
}

#[test]
fn a_wrong_method_names_those_that_the_path_has() {
    let allowed = |method: &Method, path: &str| match table::find(method, path, &HeaderMap::new()) {
        Err(NoRoute::Method(form, allowed)) => (form, allowed),
        other => panic!("{method} {path}: {other:?}"),
    };
    assert_eq!(
        allowed(&Method::PUT, "/v1/responses/resp_1"),
        (FaultForm::Dialect(OpenaiResponses), vec!["GET", "DELETE"])
    );
    assert_eq!(
        allowed(&Method::GET, "/v1/messages"),
        (FaultForm::Dialect(Anthropic), vec!["POST"])
    );
    assert_eq!(
        allowed(&Method::POST, "/gemini/v1beta/models"),
        (FaultForm::Dialect(Gemini), vec!["GET"])
    );
    assert!(table::find(&Method::HEAD, "/healthz", &HeaderMap::new()).is_ok());
}

#[test]
fn every_route_is_described() {
    let document = toolwright_core::Json::parse(openapi::document()).unwrap();
    let paths = document.get("paths").and_then(toolwright_core::Json::as_object).unwrap();
    let described: Vec<(String, Target)> = paths
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |own| (own, path)))
        .map(|(method, path)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let found = table::find(&method, path, &HeaderMap::new());
            let found = found.unwrap_or_else(|_| panic!("no route for {method} {path}"));
            (found.route.pattern.to_owned(), found.route.target)
        })
        .collect();
    for route in ROUTES {
        let own = (route.pattern.to_owned(), route.target);
        assert!(described.contains(&own), "{} {} is not described", route.verb.name(), own.0);
    }
}
