//! Results of tools of servers, as outputs for models.

use std::sync::Arc;

use toolwright_core::{Body, Json};
use toolwright_dialects::dialect::ToolCodec;
use toolwright_dialects::dialect::mcp::{Era, Mcp};
use toolwright_json::Object;

use toolwright_runtime::handle::shape;
use toolwright_runtime::handler::ToolResult;
use toolwright_runtime::output::{Content, Piece};
use toolwright_runtime::{Output, ToolError};

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
    let mut contents = read_contents(result, era)?;
    // Servers repeat a text as the only member of the structured content.
    let repeats = |content: &Content| match content.as_json() {
        Some(Json::Object(object)) if object.len() == 1 => {
            let member = object.iter().next().and_then(|(_, value)| value.as_str());
            member.is_some_and(|text| contents.iter().any(|own| own.as_text() == Some(text)))
        }
        _ => false,
    };
    if let Some(index) = contents.iter().position(repeats) {
        contents.remove(index);
    }
    let pieces = contents.into_iter().map(Piece::from).collect();
    Ok(Output { pieces, host: None }.with_host(wire))
}

/// Reads a result that models do not see: every value stays behind a handle.
pub(super) fn read_hidden(result: Object, era: Era) -> ToolResult {
    let structured = result.get("structuredContent").cloned();
    let is_repeated = |content: &Content| {
        let text = content.as_text();
        text.zip(structured.as_ref()).is_some_and(|(text, structured)| repeats(text, structured))
    };
    let contents = read_contents(result, era)?;
    let hidden = contents.into_iter().filter(|content| !is_repeated(content)).map(hidden);
    Ok(Output { pieces: hidden.collect(), host: None })
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
    let mut contents = read_contents(result, era)?;
    contents.retain(|content| structured.is_none() || content.as_json() != structured.as_ref());
    let is_binary = matches!(contents.as_slice(), [Content::Media(_)]) && pointer.is_empty();
    let whole = match structured {
        Some(structured) if !is_binary => structured,
        _ => {
            let (index, rest) = match contents.len() {
                1 => (Some(0), pointer),
                _ => block(pointer),
            };
            if let Some(index) = index {
                if index >= contents.len() {
                    let count = contents.len();
                    return Err(no_part(pointer, &format!("it has {count} blocks of content")));
                }
                return match contents.swap_remove(index) {
                    Content::Json(value) => {
                        part(&parsed(Arc::unwrap_or_clone(value)), rest, pointer)
                    }
                    content if rest.is_empty() => Ok(Output::of(hidden(content))),
                    _ => Err(no_part(pointer, "the block is not JSON")),
                };
            }
            Json::Array(contents.into_iter().map(|content| parsed(content.into_json())).collect())
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
    let missing = || {
        let what = shape(&Content::json(value.clone()));
        no_part(pointer, &format!("it is {what}"))
    };
    value.pointer(rest).map(|found| Output::json(found.clone())).ok_or_else(missing)
}

fn no_part(pointer: &str, actual: &str) -> ToolError {
    ToolError::new(format!("the result has nothing at {pointer}: {actual}")).with_kind("McpError")
}

/// Text that is a JSON document as its value.
fn parsed(value: Json) -> Json {
    match value.as_str().map(Json::parse) {
        Some(Ok(parsed @ (Json::Array(_) | Json::Object(_)))) => parsed,
        _ => value,
    }
}

/// A content behind a handle, with its description.
fn hidden(content: Content) -> Piece {
    let content = content.without_media();
    let about = format!("{}, kept outside this conversation.", shape(&content));
    match content {
        // Models read no bytes anyway.
        Content::Bytes(_) => content.into(),
        content => Piece::hidden(content, about),
    }
}

/// Reads the contents of a result; one with `isError` is the error of the tool.
fn read_contents(result: Object, era: Era) -> Result<Vec<Content>, ToolError> {
    let invalid = |reason: String| ToolError::new(reason).with_kind("McpError");
    let decoded = Mcp { era }.decode_outcome(Json::Object(result));
    let part = decoded.map_err(|error| invalid(format!("the result is invalid: {error}")))?;
    let Body::Outcome(outcome) = part.body else {
        return Err(invalid("the result is of an unknown type".to_owned()));
    };
    let contents = outcome.content.into_iter().map(|part| match part.body {
        Body::Json(value) => Content::json(value),
        Body::Media(media) => Content::from(media),
        // Links to resources, and blocks of later versions.
        Body::Opaque(opaque) => Content::json(opaque.value),
        Body::Text(text) | Body::Refusal(text) => Content::text(text),
        Body::Reasoning(_) | Body::Call(_) | Body::Outcome(_) => Content::text(""),
    });
    if outcome.error != Some(true) {
        return Ok(contents.collect());
    }
    let texts = contents.filter_map(|content| {
        let value = content.as_json()?;
        Some(value.as_str().map_or_else(|| value.compact(), str::to_owned))
    });
    let texts: Vec<String> = texts.collect();
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
        let piece = |piece: &Piece| match (&piece.content, &piece.about) {
            (Content::Json(value), Some(_)) => value.compact(),
            (Content::Bytes(blob), None) => format!("{} bytes of {}", blob.bytes.len(), blob.mime),
            shown => format!("shown: {shown:?}"),
        };
        output.pieces.iter().map(piece).collect()
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
        assert_eq!(output.pieces, [Piece::from(Content::json(expected))]);
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
