//! Results of tools of servers, as outputs for models.

use std::sync::Arc;

use toolwright_core::Json;
use toolwright_core::part::Body;
use toolwright_dialects::dialect::ToolCodec;
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_json::Object;

use toolwright_runtime::error::ToolError;
use toolwright_runtime::handle::{StoredValue, content_json, shape, stored_media};
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::{Content, Output};

/// A result as the server sent it, for hosts that pass it on.
#[derive(Debug, Clone)]
pub(super) struct WireResult {
    pub(super) result: Object,
    /// The name of the server
    pub(super) server: Option<Arc<str>>,
}

/// Changes the URIs of the resources in a list of content blocks, where the function has another one.
pub fn map_resource_uris(content: &mut Json, map: impl Fn(&str) -> Option<String>) {
    let blocks = match content {
        Json::Array(blocks) => blocks.iter_mut().collect(),
        block => vec![block],
    };
    for block in blocks {
        let Json::Object(block) = block else { continue };
        let holder = match block.get("type").and_then(Json::as_str) {
            Some("resource_link") => Some(block),
            Some("resource") => match block.get_mut("resource") {
                Some(Json::Object(resource)) => Some(resource),
                _ => None,
            },
            _ => None,
        };
        if let Some(holder) = holder
            && let Some(uri) = holder.get("uri").and_then(Json::as_str).and_then(&map)
        {
            holder.insert("uri", uri);
        }
    }
}

/// Reads a result of `tools/call`. One with `isError` is the error of the tool. A server that passes the output on
/// sends the result as it is.
pub fn read_result(result: Object, era: Era) -> ToolResult {
    read_result_of(None, result, era)
}

/// Reads a result of a server, whose name tells the URIs of its resources from those of others.
pub(super) fn read_result_of(server: Option<&str>, result: Object, era: Era) -> ToolResult {
    let wire = WireResult { result: result.clone(), server: server.map(Arc::from) };
    let mut content = read_content(result, era)?;
    // Servers repeat a text as the only member of the structured content.
    let repeats = |piece: &Content| match piece {
        Content::Json(Json::Object(object)) if object.len() == 1 => {
            let text = object.iter().next().and_then(|(_, value)| value.as_str());
            text.is_some_and(|text| content.contains(&Content::Text(text.to_owned())))
        }
        _ => false,
    };
    if let Some(index) = content.iter().position(repeats) {
        content.remove(index);
    }
    Ok(Output { content, host: None }.with_host(wire))
}

/// Reads a result that models do not see: every value stays behind a handle.
pub(super) fn read_hidden(result: Object, era: Era) -> ToolResult {
    let structured = result.get("structuredContent").cloned();
    let is_repeated = |piece: &Content| match (piece, &structured) {
        (Content::Text(text), Some(structured)) => repeats(text, structured),
        _ => false,
    };
    let content = read_content(result, era)?;
    let hidden = content.into_iter().filter(|piece| !is_repeated(piece)).map(|piece| match piece {
        Content::Text(text) => data(StoredValue::json(text)),
        Content::Json(value) => data(StoredValue::json(value)),
        Content::Media(media) => data(stored_media(media)),
        other => other,
    });
    Ok(Output { content: hidden.collect(), host: None })
}

/// Whether a text is structured content again: all of it, its only member, or an item of that.
fn repeats(text: &str, structured: &Json) -> bool {
    let parsed = Json::parse(text).ok();
    let is_same = |value: &Json| {
        value.as_str() == Some(text) || parsed.as_ref().is_some_and(|own| own.same(value))
    };
    let members = structured.as_object().filter(|object| object.len() == 1);
    let only = members.and_then(|object| object.iter().next()).map(|(_, value)| value);
    let items = only.and_then(Json::as_array).unwrap_or_default();
    is_same(structured) || only.is_some_and(is_same) || items.iter().any(is_same)
}

/// Reads the part of a result at a JSON Pointer, for a slot.
pub(super) fn read_part(result: Object, era: Era, pointer: &str) -> ToolResult {
    let structured = result.get("structuredContent").cloned();
    let mut content = read_content(result, era)?;
    content
        .retain(|piece| !matches!(piece, Content::Json(own) if Some(own) == structured.as_ref()));
    let is_binary = matches!(content.as_slice(), [Content::Media(_)]) && pointer.is_empty();
    let whole = match structured {
        Some(structured) if !is_binary => structured,
        _ => {
            let (index, rest) = match content.len() {
                1 => (Some(0), pointer),
                _ => block(pointer),
            };
            if let Some(index) = index {
                if index >= content.len() {
                    let count = content.len();
                    return Err(no_part(pointer, &format!("it has {count} blocks of content")));
                }
                return match content.swap_remove(index) {
                    Content::Media(media) if rest.is_empty() => {
                        Ok(Output::of(data(stored_media(media))))
                    }
                    Content::Text(text) => part(&parsed(text), rest, pointer),
                    Content::Json(value) => part(&value, rest, pointer),
                    _ => Err(no_part(pointer, "the block is not JSON")),
                };
            }
            let value = |piece| match piece {
                Content::Text(text) => parsed(text),
                other => content_json(other),
            };
            Json::Array(content.into_iter().map(value).collect())
        }
    };
    part(&whole, pointer, pointer)
}

/// The block that a pointer names first, and the rest of the pointer.
fn block(pointer: &str) -> (Option<usize>, &str) {
    let path = pointer.strip_prefix('/').unwrap_or_default();
    let (index, _) = path.split_once('/').unwrap_or((path, ""));
    (index.parse().ok(), &pointer[pointer.len().min(index.len() + 1)..])
}

fn part(value: &Json, rest: &str, pointer: &str) -> ToolResult {
    match value.pointer(rest) {
        Some(found) => Ok(Output::json(found.clone())),
        None => {
            Err(no_part(pointer, &format!("it is {}", shape(&StoredValue::json(value.clone())))))
        }
    }
}

fn no_part(pointer: &str, actual: &str) -> ToolError {
    ToolError::new(format!("the result has nothing at {pointer}: {actual}")).with_kind("McpError")
}

/// Text that is a JSON document as its value.
fn parsed(text: String) -> Json {
    match Json::parse(&text) {
        Ok(value @ (Json::Array(_) | Json::Object(_))) => value,
        _ => Json::from(text),
    }
}

/// A value behind a handle, with its description.
fn data(value: StoredValue) -> Content {
    let about = format!("{}, kept outside this conversation.", shape(&value));
    match value {
        StoredValue::Json(value) => {
            let value = Arc::unwrap_or_clone(value);
            Content::Data { value, about }
        }
        StoredValue::Bytes(blob) => Content::Bytes(blob),
    }
}

/// Reads the content of a result; one with `isError` is the error of the tool.
fn read_content(result: Object, era: Era) -> Result<Vec<Content>, ToolError> {
    let invalid = |reason: String| ToolError::new(reason).with_kind("McpError");
    let decoded = Mcp { era }.decode_outcome(Json::Object(result));
    let part = decoded.map_err(|error| invalid(format!("the result is invalid: {error}")))?;
    let Body::Outcome(outcome) = part.body else {
        return Err(invalid("the result is of an unknown type".to_owned()));
    };
    let content = outcome.content.into_iter().map(|part| match part.body {
        Body::Json(value) => Content::Json(value),
        Body::Media(media) => Content::Media(media),
        // Links to resources, and blocks of later versions.
        Body::Opaque(opaque) => Content::Json(opaque.value),
        Body::Text(text) | Body::Refusal(text) => Content::Text(text.into_string()),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) => Content::Text(String::new()),
    });
    if outcome.error != Some(true) {
        return Ok(content.collect());
    }
    let texts: Vec<String> = content
        .filter_map(|piece| match piece {
            Content::Text(text) => Some(text),
            Content::Json(value) => Some(value.compact()),
            _ => None,
        })
        .collect();
    let message = if texts.is_empty() { "the tool failed".to_owned() } else { texts.join("\n") };
    Err(ToolError::new(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str) -> Object {
        match Json::parse(text).unwrap() {
            Json::Object(result) => result,
            other => panic!("{other:?}"),
        }
    }

    /// The pieces of a hidden result: values as compact JSON, bytes as their number, and what a model would see.
    fn hidden(text: &str) -> Vec<String> {
        let output = read_hidden(result(text), Era::Stateless).unwrap();
        let piece = |piece: &Content| match piece {
            Content::Data { value, .. } => value.compact(),
            Content::Bytes(blob) => format!("{} bytes of {}", blob.bytes.len(), blob.mime),
            shown => format!("shown: {shown:?}"),
        };
        output.content.iter().map(piece).collect()
    }

    #[test]
    fn hidden_results_keep_all_that_structured_content_does_not_repeat() {
        let link = r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#;
        for (result, expected) in [
            (
                format!(r#"{{"content":[{{"type":"text","text":"two"}},{link}]}}"#),
                vec!["\"two\"", link],
            ),
            (
                r#"{"content":[{"type":"image","data":"/wAB","mimeType":"image/png"}],
                    "structuredContent":{"width":1}}"#
                    .to_owned(),
                vec!["3 bytes of image/png", r#"{"width":1}"#],
            ),
            (
                r#"{"content":[{"type":"text","text":"2 rows"}],"structuredContent":{"rows":[1,2]}}"#
                    .to_owned(),
                vec!["\"2 rows\"", r#"{"rows":[1,2]}"#],
            ),
            (
                r#"{"content":[{"type":"text","text":"1"},{"type":"text","text":"{ \"a\": 2 }"}],
                    "structuredContent":{"result":[1,{"a":2}]}}"#
                    .to_owned(),
                vec![r#"{"result":[1,{"a":2}]}"#],
            ),
            (
                r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"result":"x"}}"#
                    .to_owned(),
                vec![r#"{"result":"x"}"#],
            ),
        ] {
            assert_eq!(hidden(&result), expected, "{result}");
        }
    }

    #[test]
    fn a_slot_of_several_blocks_has_media_as_base64() {
        let content = r#"{"content":[{"type":"text","text":"a picture"},
            {"type":"image","data":"/wAB","mimeType":"image/png"}]}"#;
        let output = read_part(result(content), Era::Stateless, "").unwrap();
        let expected = Json::parse(r#"["a picture","/wAB"]"#).unwrap();
        assert_eq!(output.content, [Content::Json(expected)]);
    }

    #[test]
    fn media_of_hidden_results_are_hidden_whatever_their_base64() {
        for (data, expected) in [
            ("/wAB", "3 bytes of image/png"),
            ("/w\\r\\nAB\\n", "3 bytes of image/png"),
            ("/wA", "2 bytes of image/png"),
            ("_wA=", "2 bytes of image/png"),
            ("no base64!", "\"no base64!\""),
        ] {
            let image = format!(
                r#"{{"content":[{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}"#
            );
            assert_eq!(hidden(&image), [expected], "{data}");
        }
    }
}
