//! Embeddings, compared with the requests and replies of the vendors' SDKs.

use toolwright_core::Json;
use toolwright_dialects::dialect::DecodeError;
use toolwright_dialects::dialect::{self, Dialect, lookup};
use toolwright_dialects::embed::{EmbedFormat, EmbedKind, EmbedRequest, Embeddings};

use crate::fixtures;

const TEXTS: [&str; 2] = ["two tools in parallel", "两个工具"];

fn format(dialect: Dialect) -> EmbedFormat {
    dialect::codec(dialect).unwrap().embed_format().unwrap()
}

/// Asserts that our request equals the SDK's, except for fields that we leave at their defaults.
#[track_caller]
fn sends(dialect: Dialect, file: &str, request: &EmbedRequest, unsaid: &[&str]) {
    let recorded = fixtures::json(dialect, &format!("embed/{file}_request.json"));
    let wire = format(dialect).encode(request);
    let path = recorded.get("path").and_then(Json::as_str).unwrap();
    // SDKs differ in the version that they call.
    assert_eq!(wire.path, path.replacen("/v1/models", "/v1beta/models", 1));
    let mut body = recorded.get("body").cloned().unwrap();
    for key in unsaid {
        assert!(body.as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    assert!(wire.body.same(&body), "{}\n{}", wire.body, body);
}

fn reads(dialect: Dialect, file: &str) -> Embeddings {
    let body = fixtures::json(dialect, &format!("embed/{file}_reply.json"));
    format(dialect).decode(dialect, body, 2).unwrap()
}

fn request(model: &str, kind: EmbedKind) -> EmbedRequest {
    EmbedRequest::new(model, TEXTS).with_kind(kind).with_dimensions(4)
}

#[test]
fn requests_equal_those_of_the_sdks() {
    use EmbedKind::{Document, Query};
    let openai = request("text-embedding-3-small", Query);
    sends(Dialect::OpenaiChat, "openai_embed", &openai, &["encoding_format"]);
    sends(Dialect::Mistral, "mistral_embed", &request("codestral-embed", Query), &[]);
    sends(Dialect::Ollama, "ollama_embed", &request("nomic-embed-text", Document), &[]);
    for (kind, word) in [(Query, "query"), (Document, "document")] {
        let file = format!("cohere_embed_search_{word}");
        sends(Dialect::Cohere, &file, &request("embed-v4.0", kind), &[]);
    }
    let gemini = |kind| request("gemini-embedding-001", kind);
    sends(Dialect::Gemini, "gemini_embed_query", &gemini(Query), &[]);
    sends(Dialect::Gemini, "gemini_embed_document_v1beta", &gemini(Document), &[]);
    let listed = request("models/gemini-embedding-001", Query);
    sends(Dialect::Gemini, "gemini_embed_query", &listed, &[]);
}

#[test]
fn replies_have_a_vector_for_each_text() {
    let vectors = vec![vec![0.5, -0.25, 0.125, 1.0], vec![0.0625, 0.75, -1.0, 0.03125]];
    let files = [
        (Dialect::OpenaiChat, "openai_embed", Some(9)),
        (Dialect::Mistral, "mistral_embed", Some(9)),
        (Dialect::Ollama, "ollama_embed", Some(9)),
        (Dialect::Cohere, "cohere_embed_search_query", Some(9)),
        (Dialect::Gemini, "gemini_embed_query", None),
    ];
    for (dialect, file, tokens) in files {
        let embeddings = reads(dialect, file);
        assert_eq!(embeddings.vectors, vectors, "{file}");
        assert_eq!(embeddings.usage.map(|usage| usage.total()), tokens, "{file}");
    }
    let body = fixtures::json(Dialect::Gemini, "embed/gemini_embed_one_reply.json");
    let one = format(Dialect::Gemini).decode(Dialect::Gemini, body, 1).unwrap();
    assert_eq!((one.vectors.len(), one.usage.unwrap().input), (1, Some(9)));
}

fn refused(body: &str, inputs: usize) -> String {
    let body = Json::parse(body).unwrap();
    let error: DecodeError =
        EmbedFormat::OPENAI.decode(Dialect::OpenaiChat, body, inputs).unwrap_err();
    error.to_string()
}

#[test]
fn vectors_are_matched_to_texts_by_index_or_refused() {
    let body = r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1e0]}]}"#;
    let body = Json::parse(body).unwrap();
    let embeddings = EmbedFormat::OPENAI.decode(Dialect::OpenaiChat, body, 2).unwrap();
    assert_eq!(embeddings, Embeddings { vectors: vec![vec![1.0], vec![2.0]], usage: None });

    let twice = r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}"#;
    assert!(refused(twice, 2).contains("/data/1/index"), "{}", refused(twice, 2));
    let far = r#"{"data":[{"index":7,"embedding":[1]}]}"#;
    assert!(refused(far, 1).contains("/data/0/index"));
    let few = r#"{"data":[{"index":0,"embedding":[1]}]}"#;
    assert!(refused(few, 2).contains("a vector for each text"));
    let uneven = r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#;
    assert!(refused(uneven, 2).contains("one length"));
    let huge = r#"{"data":[{"embedding":[1e400]}]}"#;
    assert!(refused(huge, 1).contains("/data/0/embedding"));
    assert!(refused(r#"{"data":"no"}"#, 1).contains("/data: expected an array"));
    assert!(refused(r#"{"error":"no"}"#, 1).contains("missing field 'data'"));
}

#[test]
fn presets_have_their_own_path_and_batch_limit() {
    let wire = |id: &str| {
        let format = lookup(id).unwrap().embed_format().unwrap();
        (format.encode(&EmbedRequest::new("m", ["a"])).path, format.limits().texts)
    };
    assert_eq!(wire("zhipu"), ("/v4/embeddings".to_owned(), 64));
    assert_eq!(wire("qwen"), ("/v1/embeddings".to_owned(), 10));
    assert_eq!(wire("openai-responses"), ("/v1/embeddings".to_owned(), 2048));
    assert_eq!(wire("siliconflow"), ("/v1/embeddings".to_owned(), 32));
    for id in ["anthropic", "bedrock", "deepseek"] {
        assert!(lookup(id).unwrap().embed_format().is_none(), "{id}");
    }
}
