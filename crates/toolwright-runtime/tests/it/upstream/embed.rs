//! Embeddings, against recorded replies.

use toolwright_core::FaultClass;
use toolwright_core::Json;
use toolwright_runtime::upstream::{EmbedKind, EmbedRequest};

use super::answer::at;
use super::replay::{Replay, Reply, recorded};

#[tokio::test]
async fn every_vendor_with_embeddings_returns_vectors() {
    let rows = [
        ("openai-chat", "openai-chat/embed/openai_embed", "/v1/embeddings", "/input/1"),
        ("openai-responses", "openai-chat/embed/openai_embed", "/v1/embeddings", "/input/1"),
        ("mistral", "mistral/embed/mistral_embed", "/v1/embeddings", "/input/1"),
        ("cohere", "cohere/embed/cohere_embed_search_query", "/v2/embed", "/texts/1"),
        ("ollama", "ollama/embed/ollama_embed", "/api/embed", "/input/1"),
        (
            "gemini",
            "gemini/embed/gemini_embed_query",
            "/v1beta/models/m:batchEmbedContents",
            "/requests/1/content/parts/0/text",
        ),
    ];
    for (id, file, path, text) in rows {
        let replay = Replay::of([Reply::json(recorded(&format!("{file}_reply.json")))]).await;
        let request = EmbedRequest::new("m", ["two tools in parallel", "两个工具"])
            .with_kind(EmbedKind::Query)
            .with_dimensions(4);
        let embeddings = at(id, &replay).embed(request).await.expect(id);
        let wanted = [vec![0.5, -0.25, 0.125, 1.0], vec![0.0625, 0.75, -1.0, 0.03125]];
        assert_eq!(embeddings.vectors, wanted, "{id}");
        let seen = &replay.seen()[0];
        assert_eq!((seen.path(), seen.text(text)), (path, Some("两个工具")), "{id}");
    }
}

/// A vector for each text: its length.
fn counted(texts: &[Json]) -> Reply {
    let vector = |(at, text): (usize, &Json)| {
        let length = text.as_str().unwrap().len();
        format!(r#"{{"index":{at},"embedding":[{length}]}}"#)
    };
    let data: Vec<String> = texts.iter().enumerate().map(vector).collect();
    let usage = format!(r#"{{"prompt_tokens":{}}}"#, texts.len());
    Reply::json(format!(r#"{{"data":[{}],"usage":{usage}}}"#, data.join(",")))
}

#[tokio::test]
async fn many_texts_are_split_into_batches() {
    let replay =
        Replay::by(|_, seen| counted(seen.body.pointer("/input").unwrap().as_array().unwrap()));
    let replay = replay.await;
    let texts: Vec<String> = (1..=25).map(|length| "x".repeat(length)).collect();
    let embeddings = at("qwen", &replay).embed(EmbedRequest::new("m", texts)).await.unwrap();
    let lengths: Vec<f32> = embeddings.vectors.iter().map(|vector| vector[0]).collect();
    assert_eq!(lengths, (1..=25u8).map(f32::from).collect::<Vec<_>>());
    assert_eq!(embeddings.usage.unwrap().input, Some(25));
    assert_eq!(replay.seen().len(), 3);
    // Mistral counts the tokens of all texts together.
    let texts: Vec<String> = (1..=25).map(|length| "x".repeat(length * 100)).collect();
    at("mistral", &replay).embed(EmbedRequest::new("m", texts)).await.unwrap();
    let seen = replay.seen().split_off(3);
    let sizes = seen.iter().map(|seen| {
        let texts = seen.body.pointer("/input").unwrap().as_array().unwrap();
        texts.iter().map(|text| text.as_str().unwrap().len()).sum::<usize>()
    });
    let sizes: Vec<usize> = sizes.collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (3, 32_500));
    assert!(sizes.iter().all(|size| *size <= 16_000), "{sizes:?}");
    let none = at("qwen", &replay).embed(EmbedRequest::new("m", [""; 0])).await.unwrap();
    assert_eq!((none.vectors.len(), replay.seen().len()), (0, 6));
}

#[tokio::test]
async fn an_invalid_vector_is_a_fault() {
    let one = || EmbedRequest::new("m", ["a"]);
    let replay = Replay::of([Reply::json("{}")]).await;
    let fault = at("anthropic", &replay).embed(one()).await.unwrap_err();
    assert_eq!(fault.class, FaultClass::NotFound);
    assert!(replay.seen().is_empty());
    let fault = at("openai-chat", &replay).embed(one()).await.unwrap_err();
    assert_eq!(fault.code.as_deref(), Some("upstream_answer"));
    let limited = Reply::json(recorded("mistral/accepted/mistral_error_429.json")).status(429);
    let replay = Replay::of([limited]).await;
    let fault = at("mistral", &replay).with_retries(0).embed(one()).await.unwrap_err();
    assert_eq!(fault.class, FaultClass::RateLimited);
}
