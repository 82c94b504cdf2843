//! Encodes requests, in each format.

use toolwright_core::percent;
use toolwright_json::{Json, Object, object};

use super::{EmbedFormat, EmbedKind, EmbedRequest};
use crate::codec::WireRequest;

pub(super) fn encode(format: EmbedFormat, request: &EmbedRequest) -> WireRequest {
    let (path, body) = match format {
        EmbedFormat::Openai { path, dimensions, .. } => {
            (path.to_owned(), listed(request, dimensions))
        }
        EmbedFormat::Gemini => {
            let model = percent::encode(request.model.trim_start_matches(MODELS));
            (format!("/v1beta/{MODELS}{model}:batchEmbedContents"), batched(request))
        }
        EmbedFormat::Cohere => ("/v2/embed".to_owned(), typed(request)),
        EmbedFormat::Ollama => ("/api/embed".to_owned(), listed(request, "dimensions")),
    };
    WireRequest { path, headers: vec![], body: Json::Object(body) }
}

/// The prefix of a model's name at Gemini, which its lists include and users omit.
const MODELS: &str = "models/";

fn listed(request: &EmbedRequest, dimensions: &'static str) -> Object {
    let mut body = object! {
        "model": request.model.as_str(),
        "input": request.inputs.clone(),
    };
    body.insert_some(dimensions, request.dimensions);
    body
}

fn batched(request: &EmbedRequest) -> Object {
    let task = match request.kind {
        EmbedKind::Document => "RETRIEVAL_DOCUMENT",
        EmbedKind::Query => "RETRIEVAL_QUERY",
    };
    let name = format!("{MODELS}{}", request.model.trim_start_matches(MODELS));
    let one = |text: &String| {
        let part = object! {"text": text.as_str()};
        let mut own = object! {
            "content": object! {"parts": vec![part], "role": "user"},
            "taskType": task,
        };
        own.insert_some("outputDimensionality", request.dimensions);
        own.insert("model", name.as_str());
        own
    };
    object! {"requests": request.inputs.iter().map(one).collect::<Vec<Object>>()}
}

fn typed(request: &EmbedRequest) -> Object {
    let kind = match request.kind {
        EmbedKind::Document => "search_document",
        EmbedKind::Query => "search_query",
    };
    let mut body = object! {
        "model": request.model.as_str(),
        "input_type": kind,
        "texts": request.inputs.clone(),
        "embedding_types": vec!["float"],
    };
    body.insert_some("output_dimension", request.dimensions);
    body
}
