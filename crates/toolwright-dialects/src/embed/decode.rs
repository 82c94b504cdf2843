//! Decodes replies, in each format. A reply with too few vectors, or vectors of different lengths,
//! is refused, because texts would be matched to wrong vectors.

use toolwright_core::{Dialect, Usage};
use toolwright_json::{Json, Path};

use super::{EmbedFormat, Embeddings};
use crate::codec::{DecodeError, DecodeErrorKind, Fields, Result};

pub(super) fn decode(
    format: EmbedFormat,
    dialect: Dialect,
    body: Json,
    inputs: usize,
) -> Result<Embeddings> {
    let mut fields = Fields::new(body, Path::ROOT, dialect)?;
    let found = match format {
        EmbedFormat::Openai { .. } => {
            let usage = count(fields.take("usage"), "prompt_tokens");
            (listed(&mut fields, dialect, inputs)?, usage)
        }
        EmbedFormat::Gemini => {
            let usage = fields.take("usageMetadata").or_else(|| fields.take("usage_metadata"));
            let key = ["promptTokenCount", "prompt_token_count"];
            let usage = key.iter().find_map(|key| count(usage.clone(), key));
            let place = Path::ROOT.key("embeddings");
            let items = array(fields.need("embeddings")?, &place, dialect)?;
            let read = |(at, item): (usize, Json)| {
                let place = place.index(at);
                let mut own = Fields::new(item, place, dialect)?;
                vector(own.need("values")?, &place.key("values"), dialect)
            };
            (items.into_iter().enumerate().map(read).collect::<Result<_, _>>()?, usage)
        }
        EmbedFormat::Cohere => {
            let meta = fields.take("meta").and_then(|meta| meta.get("billed_units").cloned());
            let place = Path::ROOT.key("embeddings");
            let mut own = Fields::new(fields.need("embeddings")?, place, dialect)?;
            let vectors = vectors(own.need("float")?, &place.key("float"), dialect)?;
            (vectors, count(meta, "input_tokens"))
        }
        EmbedFormat::Ollama => {
            let usage = fields.u64("prompt_eval_count")?.map(used);
            let place = Path::ROOT.key("embeddings");
            (vectors(fields.need("embeddings")?, &place, dialect)?, usage)
        }
    };
    let (vectors, usage): (Vec<Vec<f32>>, _) = found;
    let lengths = vectors.first().map_or(0, Vec::len);
    if vectors.len() != inputs {
        return Err(DecodeError::expected(dialect, &Path::ROOT, "a vector for each text"));
    }
    if vectors.iter().any(|vector| vector.is_empty() || vector.len() != lengths) {
        return Err(DecodeError::expected(dialect, &Path::ROOT, "vectors of one length"));
    }
    Ok(Embeddings { vectors, usage })
}

/// Reads vectors with an index, in any order; without an index they are in order.
fn listed(fields: &mut Fields<'_>, dialect: Dialect, inputs: usize) -> Result<Vec<Vec<f32>>> {
    let place = Path::ROOT.key("data");
    let items = array(fields.need("data")?, &place, dialect)?;
    let mut slots: Vec<Option<Vec<f32>>> = vec![None; inputs];
    for (at, item) in items.into_iter().enumerate() {
        let place = place.index(at);
        let mut own = Fields::new(item, place, dialect)?;
        let index = own.u64("index")?.and_then(|index| usize::try_from(index).ok()).unwrap_or(at);
        let vector = vector(own.need("embedding")?, &place.key("embedding"), dialect)?;
        let Some(slot @ None) = slots.get_mut(index) else {
            let what = "the index of a text, once each";
            return Err(DecodeError::expected(dialect, &place.key("index"), what));
        };
        *slot = Some(vector);
    }
    Ok(slots.into_iter().flatten().collect())
}

fn vectors(wire: Json, place: &Path<'_>, dialect: Dialect) -> Result<Vec<Vec<f32>>> {
    let items = array(wire, place, dialect)?.into_iter().enumerate();
    items.map(|(at, item)| vector(item, &place.index(at), dialect)).collect()
}

fn vector(wire: Json, place: &Path<'_>, dialect: Dialect) -> Result<Vec<f32>> {
    let number = |item: &Json| match item {
        Json::Number(number) => number.as_str().parse().ok().filter(|own: &f32| own.is_finite()),
        _ => None,
    };
    let items = array(wire, place, dialect)?;
    let numbers: Option<Vec<f32>> = items.iter().map(number).collect();
    numbers.ok_or_else(|| DecodeError::expected(dialect, place, "an array of numbers"))
}

fn array(wire: Json, place: &Path<'_>, dialect: Dialect) -> Result<Vec<Json>> {
    match wire {
        Json::Array(items) => Ok(items),
        _ => Err(DecodeError::new(dialect, place, DecodeErrorKind::Expected("an array"))),
    }
}

fn count(counts: Option<Json>, key: &str) -> Option<Usage> {
    counts?.get(key)?.as_u64().map(used)
}

fn used(tokens: u64) -> Usage {
    Usage { input: Some(tokens), ..Usage::default() }
}
