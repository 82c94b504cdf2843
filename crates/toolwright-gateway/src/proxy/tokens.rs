//! Estimates how many tokens a request has, where no vendor can be asked.
//!
//! Text is counted with the vocabulary `o200k_base`, whatever the model: vendors do not publish the
//! tokenizers of their current models. The vocabulary is decompressed at the first use.

use toolwright_core::json::{Member, each_member, peek};
use toolwright_core::part::{Media, MediaKind, MediaSource};
use toolwright_core::request::Format;
use toolwright_core::{Body, Json, Message, Part, Request, Tool, ToolKind};

use crate::telemetry::BYTES_PER_TOKEN;

/// Tokens that mark the role and the end of a message.
const PER_MESSAGE: usize = 4;

/// Tokens around a tool definition.
const PER_TOOL: usize = 8;

/// Tokens of an image, whatever its size: what vendors charge for one of about a megapixel.
const PER_IMAGE: usize = 1_600;

/// Bytes of a document, audio or video that count as [`PER_IMAGE`] tokens: about a page of a PDF.
const BYTES_PER_PAGE: usize = 64 << 10;

/// Maximum number of bytes that are given to the tokenizer at once. A long run without a word
/// boundary takes memory in proportion to its length.
const MAX_PIECE: usize = 16 << 10;

/// Output tokens that are expected of a request that sets no limit.
const USUAL_OUTPUT: u64 = 1_024;

/// Members in which a body limits the tokens of the answer, with the object that they are in.
const OUTPUT_LIMITS: [(&str, &str); 6] = [
    ("", "max_tokens"),
    ("", "max_completion_tokens"),
    ("", "max_output_tokens"),
    ("generationConfig", "maxOutputTokens"),
    ("inferenceConfig", "maxTokens"),
    ("options", "num_predict"),
];

/// Estimates the tokens of a request before it is sent: its bytes, and its limit on output tokens
/// times the number of replies that it asks for.
pub fn expected(body: &[u8]) -> u64 {
    let (mut output, mut answers) = (None, 1);
    // A body that is not a JSON object was refused before.
    let _read = each_member(body, |own, value| {
        if own == "n" {
            answers = count(&value).unwrap_or(1).max(1);
        }
        for (object, key) in OUTPUT_LIMITS {
            let limit = match object {
                "" if own == key => count(&value),
                object if !object.is_empty() && own == object => {
                    let inner = peek(value.text().as_bytes(), &[key]).unwrap_or_default();
                    inner[0].as_ref().and_then(count)
                }
                _ => None,
            };
            output = output.max(limit);
        }
    });
    let output = output.unwrap_or(USUAL_OUTPUT);
    (body.len() as u64 / BYTES_PER_TOKEN).saturating_add(output.saturating_mul(answers))
}

/// Parses a count; one that is too large becomes the maximum.
fn count(member: &Member<'_>) -> Option<u64> {
    let is_number = member.text().starts_with(|own: char| own.is_ascii_digit());
    is_number.then(|| member.text().parse().unwrap_or(u64::MAX))
}

/// Estimates the input tokens of a request: instructions, messages, tools with their schemas, and the
/// schema of the reply. Earlier reasoning is not counted, because other vendors do not receive it.
pub fn estimate(request: &Request) -> usize {
    let messages = request.instructions.iter().chain(&request.messages);
    let format = match &request.format {
        Some(Format::Schema(format)) => json(&format.schema),
        _ => 0,
    };
    let tools: usize = request.tools.iter().map(tool).sum();
    messages.map(message).sum::<usize>() + tools + format
}

fn message(message: &Message) -> usize {
    PER_MESSAGE + parts(&message.parts)
}

fn parts(parts: &[Part]) -> usize {
    parts.iter().map(|part| body(&part.body)).sum()
}

fn body(body: &Body) -> usize {
    match body {
        Body::Text(words) | Body::Refusal(words) => text(words),
        Body::Json(value) => json(value),
        Body::Media(own) => media(own),
        Body::Reasoning(_) => 0,
        Body::Call(call) => PER_MESSAGE + text(&call.name) + text(call.arguments.as_str()),
        Body::Outcome(outcome) => PER_MESSAGE + parts(&outcome.content),
        Body::Opaque(opaque) => json(&opaque.value),
    }
}

fn media(media: &Media) -> usize {
    match &media.source {
        MediaSource::Text(words) => text(words),
        MediaSource::Base64(data) if media.kind != MediaKind::Image => {
            (data.len() / 4 * 3).div_ceil(BYTES_PER_PAGE) * PER_IMAGE
        }
        MediaSource::Base64(_) | MediaSource::Url(_) | MediaSource::File(..) => PER_IMAGE,
    }
}

fn tool(tool: &Tool) -> usize {
    let definition = match &tool.kind {
        ToolKind::Function(schema) | ToolKind::Custom(schema) => schema.as_ref().map_or(0, json),
        ToolKind::Hosted(value) => json(value),
    };
    let description = tool.description.as_deref().map_or(0, text);
    PER_TOOL + text(&tool.name) + description + definition
}

fn json(value: &Json) -> usize {
    text(&value.compact())
}

fn text(mut text: &str) -> usize {
    let Some(encoding) = tiktoken::get_encoding("o200k_base") else { return text.len() / 4 };
    let mut count = 0;
    while text.len() > MAX_PIECE {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_PIECE));
        count += encoding.count(piece);
        text = rest;
    }
    count + encoding.count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> usize {
        estimate(&Request::new([Message::user(text)])) - PER_MESSAGE
    }

    #[test]
    fn text_is_counted_by_the_vocabulary_and_not_by_its_length() {
        assert_eq!(counted("Hello, world"), 3);
        assert_eq!(counted("中文"), 1);
        assert_eq!(counted(""), 0);
    }

    #[test]
    fn a_tool_counts_with_its_schema_and_an_image_by_the_rule() {
        let schema = Json::parse(r#"{"type":"object","properties":{"city":{"type":"string"}}}"#);
        let with = |schema| {
            let tool = Tool::function("get_weather", schema).with_description("Current weather");
            estimate(&Request::default().with_tools([tool]))
        };
        assert!(with(schema.unwrap()) > with(Json::Null) + 5);
        let media = |kind, data: usize| {
            let source = MediaSource::Base64("A".repeat(data));
            let part = Part::new(Body::Media(Media { kind, mime: None, source, name: None }));
            parts(&[part])
        };
        assert_eq!(media(MediaKind::Image, 4), PER_IMAGE);
        assert_eq!(media(MediaKind::Image, 1 << 20), PER_IMAGE);
        assert_eq!(media(MediaKind::Document, 4 << 16), 3 * PER_IMAGE);
    }

    #[test]
    fn a_long_run_without_a_word_boundary_is_counted() {
        for run in ["a", " ", "中", "\u{1f468}\u{200d}"] {
            let text = run.repeat((1 << 17) / run.len());
            assert!(counted(&text) > 1_000, "{run:?}");
        }
    }
}
